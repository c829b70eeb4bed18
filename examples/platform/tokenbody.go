package main

import (
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/token"
)

// tokenBody is what a token can be asked to hold, by the names that scripts
// use (section 5.4 of the interface).
var tokenBody = form{
	{Path: "sub", Type: typeString},
	{Path: "scope", Type: typeStrings},
	{Path: "roles", Type: typeStrings},
	{Path: "skipAcl", Type: typeBoolean},
	{Path: "bypassCreateAcl", Type: typeBoolean},
	{Path: "grant", Type: typeLevel},
	{Path: "maxUses", Type: typeInteger},
	{Path: "permanent", Type: typeBoolean},
	{Path: "expiresIn", Type: typeInteger}, // seconds
	{Path: "notBefore", Type: typeInteger}, // Unix seconds
	{Path: "claims", Type: typeJSON},
}

// tokenWish is a token that somebody asks for.
type tokenWish struct {
	claims    token.Claims  // without what the app and the org add
	permanent bool          // until it is revoked
	limited   bool          // to a number of uses
	lasts     time.Duration // 0: not said
}

const (
	// briefly is how long a token may last that a session mints without a recent
	// proof: it may end after the session, by so much.
	briefly = 15 * time.Minute

	maxLife = 100 * 365 * 24 * 60 * 60 // seconds; more is a slip
)

// readToken reads a body of tokenBody.
func readToken(r *http.Request) (tokenWish, error) {
	values, err := readValues(r, tokenBody)
	if err != nil {
		return tokenWish{}, err
	}
	return wishOf(values)
}

// wishOf reads values of tokenBody: a body's, or the options of a script.
func wishOf(values map[string]any) (w tokenWish, err error) {
	if err := required(values, "sub", "scope"); err != nil {
		return w, err
	}
	c := &w.claims
	setIfGiven(&c.Subject, values, "sub")
	setIfGiven(&c.Scope, values, "scope")
	setIfGiven(&c.Roles, values, "roles")
	setIfGiven(&c.SkipACL, values, "skipAcl")
	setIfGiven(&c.SkipCreateACL, values, "bypassCreateAcl")
	setIfGiven(&c.Grant, values, "grant")
	setIfGiven(&c.Extra, values, "claims")
	setIfGiven(&c.MaxUses, values, "maxUses")
	setIfGiven(&w.permanent, values, "permanent")
	return w, w.readOptions(values)
}

// readOptions reads what has a range, or excludes something else.
func (w *tokenWish) readOptions(values map[string]any) error {
	wrong := invalid{detail: auth.DetailOption}
	_, w.limited = values["maxUses"]
	if w.limited && w.claims.MaxUses < 1 {
		wrong.add("maxUses", "must be 1 or more")
	}
	if w.limited && w.permanent {
		wrong.add("maxUses", "a permanent token has no use count")
	}
	if seconds, given := values["expiresIn"].(int64); given {
		if seconds < 1 || seconds > maxLife {
			wrong.add("expiresIn", "is out of range")
		} else {
			w.lasts = time.Duration(seconds) * time.Second
		}
	}
	if seconds, given := values["notBefore"].(int64); given {
		if seconds < 1 || seconds > lastSecond {
			wrong.add("notBefore", "is out of range")
		} else {
			w.claims.NotBefore = time.Unix(seconds, 0)
		}
	}
	return wrong.orNil()
}

// outlivesSession reports whether the token is good for longer than a session can
// be counted on.
func (w *tokenWish) outlivesSession() bool { return w.permanent || w.limited || w.lasts > briefly }

// of is the wish for a token of an app, as of a time.
func (w *tokenWish) of(clientKey string, now time.Time) bearer.Wish {
	wish := bearer.Wish{Claims: w.claims, Permanent: w.permanent}
	wish.Issuer = clientKey
	if w.lasts > 0 {
		wish.Expires = now.Add(w.lasts)
	}
	return wish
}
