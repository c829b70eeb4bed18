package main

import (
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/token"
)

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
}

// tokenWish is a request for a token.
type tokenWish struct {
	claims    token.Claims  // without what the app and the org add
	permanent bool          // valid until it is revoked
	limited   bool          // to a number of uses
	lasts     time.Duration // 0 if the request does not say
}

const (
	// shortLife is the longest life of a token that a session mints while it is not
	// fresh. Such a token may outlive the session by this time.
	shortLife = 15 * time.Minute

	maxLife = 100 * 365 * 24 * 60 * 60 // seconds; more is taken for a mistake
)

// readToken reads a body of tokenBody.
func readToken(r *http.Request) (tokenWish, error) {
	values, err := readValues(r, tokenBody)
	if err != nil {
		return tokenWish{}, err
	}
	return wishOf(values["sub"].(string), values, "")
}

// wishOf reads values of tokenOptions from a body or from a script's arguments.
// Their paths begin with at.
func wishOf(subject string, values map[string]any, at string) (tokenWish, error) {
	w := tokenWish{claims: token.Claims{Subject: subject}}
	c := &w.claims
	setIfGiven(&c.Scope, values, at+"scope")
	setIfGiven(&c.Roles, values, at+"roles")
	setIfGiven(&c.SkipACL, values, at+"skipAcl")
	setIfGiven(&c.SkipCreateACL, values, at+"bypassCreateAcl")
	setIfGiven(&c.Grant, values, at+"grant")
	setIfGiven(&c.Extra, values, at+"claims")
	setIfGiven(&c.MaxUses, values, at+"maxUses")
	setIfGiven(&w.permanent, values, at+"permanent")
	return w, w.readOptions(values, at)
}

// readOptions reads the options that have a range or exclude another option.
func (w *tokenWish) readOptions(values map[string]any, at string) error {
	wrong := invalid{detail: auth.DetailOption}
	_, w.limited = values[at+"maxUses"]
	if w.limited && w.claims.MaxUses < 1 {
		wrong.add(at+"maxUses", "must be 1 or more")
	}
	if w.limited && w.permanent {
		wrong.add(at+"maxUses", "a permanent token has no use count")
	}
	if seconds, given := values[at+"expiresIn"].(int64); given {
		if seconds < 1 || seconds > maxLife {
			wrong.add(at+"expiresIn", "is out of range")
		} else {
			w.lasts = time.Duration(seconds) * time.Second
		}
	}
	if seconds, given := values[at+"notBefore"].(int64); given {
		if seconds < 1 || seconds > lastSecond {
			wrong.add(at+"notBefore", "is out of range")
		} else {
			w.claims.NotBefore = time.Unix(seconds, 0)
		}
	}
	return wrong.orNil()
}

// outlivesSession reports whether the token may be valid longer than the session.
func (w *tokenWish) outlivesSession() bool { return w.permanent || w.limited || w.lasts > shortLife }

// of returns the bearer.Wish for a token of an app. now is the time of the request.
func (w *tokenWish) of(clientKey string, now time.Time) bearer.Wish {
	wish := bearer.Wish{Claims: w.claims, Permanent: w.permanent}
	wish.Issuer = clientKey
	if w.lasts > 0 {
		wish.Expires = now.Add(w.lasts)
	}
	return wish
}
