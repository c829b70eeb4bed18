// Package minting lets accounts mint tokens for themselves, and administrators for
// others: POST /tokens.
//
// bearer.Mechanism.Mint checks whether the caller may pass on what is asked for, and signs
// the token. The handler decides which kinds of tokens there are, how long they
// last, and who is an administrator.
//
// There is no quota here, but an RSA signature costs the server more than the rest
// of the request. See examples/platform/limits.go for a quota.
package minting

import (
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/token"
)

// Register adds the route to a server. tokens is the mechanism of its Guard, with Signers.
// The caller's own app issues the token. A session has no app, so it cannot mint.
func Register(mux *auth.Mux, tokens *bearer.Mechanism) {
	mux.Handle("POST /tokens", auth.Authenticated, body.Handle(func(_ http.ResponseWriter, r *http.Request, ask newToken) (envelope.Result[string], error) {
		if ask.Scope == nil {
			ask.Scope = []string{} // a token without scope grants nothing
		}
		by, tenant := auth.From(r.Context()), auth.TenantFrom(r.Context())
		wish := bearer.Wish{Claims: token.Claims{Subject: ask.Subject, Scope: ask.Scope}} // ephemeral
		minted, _, err := tokens.Mint(r.Context(), by.AsAdministrator(by.HasRole("administrator")), tenant, wish)
		return envelope.Result[string]{Data: string(minted)}, err // a Token prints REDACTED
	}))
}

type newToken struct {
	Subject string   `json:"subject,omitempty"`
	Scope   []string `json:"scope,omitempty"`
}
