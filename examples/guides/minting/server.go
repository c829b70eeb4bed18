// Package minting lets accounts mint tokens for themselves, and administrators
// for others: POST /tokens.
//
// Three parts share the work. bearer.Within decides whether the caller may pass
// on what is asked for, token.Minter signs it, and the handler says which kinds
// of tokens there are, how long they last, and who is an administrator.
//
// There is no quota here, though an RSA signature costs the server more than all
// the rest of a request: examples/platform/quota.go has one.
package minting

import (
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/token"
)

// lifetime is that of a token, unless the one that mints it ends earlier.
const lifetime = 15 * time.Minute

// Register adds the route to a server whose apps have the signers' pairs. The
// caller's own app issues the token: a session, which has none, mints nothing.
func Register(mux *auth.Mux, signers token.Signers) {
	mux.HandleFunc("POST /tokens", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) {
		ask := struct {
			Subject string   `json:"subject"`
			Scope   []string `json:"scope"`
		}{Scope: []string{}} // a token without scope grants nothing
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<10))
		if err != nil {
			auth.Fail(w, r, err) // 413 for one that is too large
			return
		}
		if err := json.Unmarshal(body, &ask); err != nil {
			auth.Fail(w, r, &auth.Error{Detail: auth.DetailBody, Err: err})
			return
		}
		by, tenant := auth.From(r.Context()), auth.TenantFrom(r.Context())
		now, ttl := time.Now(), lifetime
		if !by.Expires.IsZero() {
			ttl = min(ttl, by.Expires.Sub(now)) // no token outlives the one that minted it
		}
		claims := token.Claims{
			Issuer:   by.App,
			Subject:  ask.Subject,
			Audience: tenant.URL(),
			Scope:    ask.Scope,
		}
		decided := claims
		decided.Expires = now.Add(ttl)
		if err := bearer.Within(r.Context(), by, by.HasRole("administrator"), tenant, decided); err != nil {
			auth.Fail(w, r, err)
			return
		}
		// One time for both, so that what is signed is what was decided about.
		minter := token.Minter{Signers: signers, Now: func() time.Time { return now }}
		minted, err := minter.Ephemeral(r.Context(), claims, ttl)
		if err != nil {
			auth.Fail(w, r, bearer.MintFault(err))
			return
		}
		envelope.Write(w, envelope.Result[string]{Data: string(minted)}) // a Token prints REDACTED
	})
}
