// Package partners lets partners use a server with any OAuth library.
package partners

import (
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/oauth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// Stores are where a server keeps what OAuth uses. Several instances share them.
type Stores struct {
	Directory   auth.Directory
	Credentials signature.Credentials
	Replays     signing.Replays
	Ledger      token.Ledger
	Keys        interface {
		token.Keys
		token.Signers
		token.Exposed
	}
}

// Handler returns a server with one route, GET /notes.
func Handler(baseURL string, s Stores, notes http.HandlerFunc) http.Handler {
	tokens := &bearer.Mechanism{
		Keys:             s.Keys,
		Signers:          s.Keys,
		Ledger:           s.Ledger,
		Cache:            new(token.Cache),
		ResourceMetadata: true, // a client that knows only this server's URL finds the rest
	}
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    baseURL,
		Directory:  s.Directory,
		Mechanisms: []auth.Mechanism{&signature.Mechanism{Credentials: s.Credentials, Replays: s.Replays}, tokens},
	}
	server := new(oauth.Server)
	mux := guard.Mux()
	server.Register(mux)
	jwk, pem := bearer.Certs(s.Keys)
	mux.Handle("GET /auth/certs/jwk", auth.Public, jwk)
	mux.Handle("GET /auth/certs/pem", auth.Public, pem)
	mux.HandleFunc("GET /notes", auth.Allow("object.read.c_note"), notes)

	site := http.NewServeMux()
	site.Handle("/.well-known/", server.Metadata(guard)) // outside of the orgs
	site.Handle("/", mux)
	return site
}
