package main

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

// tokens serves the routes of tokens.
type tokens struct {
	store     *store
	stores    *stores
	ledger    token.Ledger
	mechanism *bearer.Mechanism // set when the Guard is made
	quota     *quota
}

// mintReply is a new token. No other reply shows it.
type mintReply struct {
	Token   string `json:"token"`
	ID      string `json:"jti,omitempty"`
	Expires string `json:"expires,omitempty"`
}

func (h *tokens) create(r *http.Request) (envelope.Result[mintReply], error) {
	none := envelope.Result[mintReply]{}
	if _, err := h.store.app(r.Context(), auth.From(r.Context()).Org, r.PathValue("key")); err != nil {
		return none, err
	}
	w, err := readToken(r)
	if err != nil {
		return none, err
	}
	m, err := h.mintFor(r.Context(), auth.From(r.Context()), r.PathValue("key"), w)
	return result(m.reply(), err)
}

func (m minted) reply() mintReply {
	return mintReply{Token: string(m.Token), ID: m.id, Expires: date(m.expires)}
}

func (h *tokens) revokeAll(r *http.Request) (envelope.Result[int], error) {
	return result(h.revokeSubject(r.Context(), r.PathValue("key"), r.PathValue("sub")))
}

// revokeSubject ends the tokens of an app for a subject, and returns how many there
// were.
func (h *tokens) revokeSubject(ctx context.Context, clientKey, sub string) (int, error) {
	live, err := h.ofSubject(ctx, clientKey, sub, scope.Update)
	if err != nil {
		return 0, err
	}
	_, err = h.ledger.RevokeSubject(ctx, token.Holder{Org: auth.From(ctx).Org, ClientKey: clientKey, Subject: sub})
	return len(live), storeFailed(err)
}

func (h *tokens) revoke(r *http.Request) (envelope.Result[bool], error) {
	return done(h.revokeOne(r.Context(), r.PathValue("key"), r.PathValue("jti")))
}

// revokeOne ends one token of an app, if the principal may.
func (h *tokens) revokeOne(ctx context.Context, clientKey, jti string) error {
	p, jti := auth.From(ctx), token.Claims{ID: jti}.RecordID()
	if _, err := h.store.app(ctx, p.Org, clientKey); err != nil {
		return err
	}
	if err := h.mayRevoke(ctx, p, clientKey, jti); err != nil {
		return err
	}
	err := h.ledger.Revoke(ctx, token.Holder{Org: p.Org, ClientKey: clientKey, Subject: token.AnySubject}, jti)
	if errors.Is(err, token.ErrNotFound) || errors.Is(err, token.ErrEphemeral) {
		return auth.ErrNotFound
	}
	return storeFailed(err)
}

// mayRevoke allows the token of the request itself and the tokens of the
// principal's account. An administrator may end any token. To all others, the
// tokens of others do not exist.
func (h *tokens) mayRevoke(ctx context.Context, p auth.Principal, clientKey, jti string) error {
	if p.TokenID != "" && p.TokenID == jti && p.App == clientKey {
		return nil
	}
	if mayAdminister(p, scope.Update) == nil {
		return nil
	}
	if err := mayHandleTokensOf(p, p.Account, scope.Update); err != nil {
		return err
	}
	own, err := h.holds(ctx, token.Holder{Org: p.Org, ClientKey: clientKey, Subject: p.Account}, jti)
	if err != nil || own {
		return err
	}
	return auth.ErrNotFound
}

// holds reports whether a token is a holder's.
func (h *tokens) holds(ctx context.Context, of token.Holder, jti string) (bool, error) {
	records, err := h.held(ctx, of)
	return slices.ContainsFunc(records, func(r token.Record) bool { return r.ID == jti }), err
}
