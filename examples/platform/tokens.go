package main

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

type tokens struct {
	*platform
	mechanism *bearer.Mechanism
	quota     *quota
}

type mintReply struct {
	Token   string `json:"token"`
	ID      string `json:"jti,omitempty"`
	Expires string `json:"expires,omitempty"`
}

func (h *tokens) create(r *http.Request, values map[string]any) (envelope.Result[mintReply], error) {
	w, err := wishOf(values["sub"].(string), values, "")
	if err != nil {
		return envelope.Result[mintReply]{}, err
	}
	return result(h.mintFor(r.Context(), auth.From(r.Context()), r.PathValue("key"), w))
}

func (h *tokens) revokeAll(r *http.Request) (envelope.Result[int], error) {
	return result(h.revokeSubject(r.Context(), r.PathValue("key"), r.PathValue("sub")))
}

// revokeSubject ends the tokens of an app for a subject, and returns how many there were.
func (h *tokens) revokeSubject(ctx context.Context, clientKey, sub string) (int, error) {
	live, err := h.ofSubject(ctx, clientKey, sub, scope.Update)
	if err != nil {
		return 0, err
	}
	_, err = h.mechanism.RevokeSubject(ctx, token.Holder{Org: auth.From(ctx).Org, ClientKey: clientKey, Subject: sub})
	return len(live), err
}

func (h *tokens) revoke(r *http.Request) (envelope.Result[bool], error) {
	return done(h.revokeOne(r.Context(), r.PathValue("key"), r.PathValue("jti")))
}

// revokeOne ends one token of an app: that of the request itself, or one of the principal's account. An
// administrator may end any token. To all others, the tokens of others do not exist.
func (h *tokens) revokeOne(ctx context.Context, clientKey, jti string) error {
	p, of := auth.From(ctx), anyOf(ctx, clientKey)
	if _, err := h.store.app(ctx, clientKey); err != nil {
		return err
	}
	if p.TokenID == "" || p.TokenID != (token.Claims{ID: jti}).RecordID() || p.App != clientKey {
		account, err := mayHandleOwn(p, scope.Update)
		if err != nil {
			return err
		}
		of.Subject = cmp.Or(account, of.Subject)
	}
	return h.mechanism.Revoke(ctx, of, jti)
}

// anyOf is the holder of all tokens of an app.
func anyOf(ctx context.Context, clientKey string) token.Holder {
	return token.Holder{Org: auth.From(ctx).Org, ClientKey: clientKey, Subject: token.Any}
}

// mintFor mints a token of an app if the principal may pass on what it holds, and has not minted
// too often lately. All tokens for clients, scripts and views are minted here. Administrators are
// those of the access rules: a wide scope makes nobody an administrator.
func (h *tokens) mintFor(ctx context.Context, p auth.Principal, clientKey string, w bearer.Wish) (mintReply, error) {
	tenant := auth.TenantFrom(ctx)
	app, err := tenant.App(ctx, clientKey)
	if err != nil {
		return mintReply{}, unknownApp(err)
	}
	if err := h.quota.take(callerOf(p)); err != nil {
		return mintReply{}, err // first, because a refusal costs work, too
	}
	if w.Permanent || w.MaxUses > 0 || time.Until(w.Expires) > shortLife {
		if err := mustBeFresh(p); err != nil {
			return mintReply{}, err
		}
	}
	w.Issuer = app.ClientKey
	t, claims, err := h.mechanism.Mint(ctx, p.AsAdministrator(p.HasRole(administrator)), tenant, w)
	if err != nil {
		return mintReply{}, inFields(err, map[string]string{"expires": "expiresIn"})
	}
	if err := h.remember(ctx, app.Org, claims); err != nil { // the token is valid, and nobody else has it
		h.log.WarnContext(ctx, "lists will not have the scope of a token", "jti", claims.ID, "cause", err)
	}
	return mintReply{string(t), claims.ID, date(claims.Expires)}, nil
}

// tokenBody is the body of a request for a token. The scope is required: a missing
// one could mean everything or nothing.
var tokenBody = append(body.Form{
	{Path: "sub", Kind: body.String, Required: true},
	{Path: "scope", Kind: body.Strings, Required: true},
}, tokenOptions...)

// tokenOptions are the other options of a token, by the names that scripts use
// (section 5.4 of the interface).
var tokenOptions = body.Form{
	{Path: "roles", Kind: body.Strings},
	{Path: "skipAcl", Kind: body.Boolean},
	{Path: "bypassCreateAcl", Kind: body.Boolean},
	{Path: "grant", Kind: level},
	{Path: "maxUses", Kind: body.Integer},
	{Path: "permanent", Kind: body.Boolean},
	{Path: "expiresIn", Kind: body.Integer}, // seconds
	{Path: "notBefore", Kind: body.Integer}, // Unix seconds
	{Path: "claims", Kind: body.Object},
	{Path: "name", Kind: line(maxKeyName)}, // of one with an id, for lists
}

const (
	// shortLife is the longest life of a token that a session mints while it is not
	// fresh. Such a token may outlive the session by this time.
	shortLife = 15 * time.Minute

	maxLife = 100 * year // more is taken for a mistake
)

// wishOf reads values of tokenOptions from a body or from a script's arguments.
// Their paths begin with at.
func wishOf(subject string, values map[string]any, at string) (w bearer.Wish, err error) {
	w.Subject = subject
	setIfGiven(&w.Scope, values, at+"scope")
	setIfGiven(&w.Roles, values, at+"roles")
	setIfGiven(&w.SkipACL, values, at+"skipAcl")
	setIfGiven(&w.SkipCreateACL, values, at+"bypassCreateAcl")
	setIfGiven(&w.Grant, values, at+"grant")
	setIfGiven(&w.Extra, values, at+"claims")
	setIfGiven(&w.MaxUses, values, at+"maxUses")
	setIfGiven(&w.Permanent, values, at+"permanent")
	setIfGiven(&w.Name, values, at+"name")
	wrong := invalid{detail: auth.DetailOption}
	_, limited := values[at+"maxUses"]
	if limited && w.MaxUses < 1 {
		wrong.add(at+"maxUses", "must be 1 or more")
	}
	if limited && w.Permanent {
		wrong.add(at+"maxUses", "a permanent token has no use count")
	}
	if seconds, given := values[at+"expiresIn"].(int64); given {
		if seconds < 1 || seconds > maxLife {
			wrong.add(at+"expiresIn", "is out of range")
		} else {
			w.Expires = time.Now().Add(time.Duration(seconds) * time.Second)
		}
	}
	if seconds, given := values[at+"notBefore"].(int64); given {
		if seconds < 1 || seconds > lastSecond {
			wrong.add(at+"notBefore", "is out of range")
		} else {
			w.NotBefore = time.Unix(seconds, 0)
		}
	}
	return w, wrong.orNil()
}
