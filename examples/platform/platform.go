package main

import (
	"log/slog"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// platform is the parts of the server.
type platform struct {
	store       *memory
	credentials *credentials
	keys        *keyPairs
	tokens      *tokens
	guard       *auth.Guard
	log         *slog.Logger
}

func newPlatform(o options, baseURL string, log *slog.Logger) (*platform, error) {
	p := &platform{
		store:       newMemory(),
		credentials: newCredentials(),
		keys:        newKeyPairs(),
		log:         log,
	}
	p.tokens = newTokens(p.store, p.keys, o.brand.Claims)
	p.guard = &auth.Guard{
		BaseURL:   baseURL,
		Directory: p.store,
		Mechanisms: []auth.Mechanism{
			&signature.Mechanism{
				Credentials: p.credentials,
				Replays:     signing.NewMemory(1_000_000),
				Policy:      o.policy,
			},
			&bearer.Mechanism{Verifier: &token.Verifier{
				Keys:   p.keys.cached,
				Ledger: p.tokens.ledger,
				Cache:  new(token.Cache),
			}},
		},
		Brand:   o.brand,
		Observe: observe,
	}
	return p, p.guard.Validate()
}

// handler is the server around its routes, from the outside in.
func (p *platform) handler(routes http.Handler) http.Handler {
	h := p.site(routes)
	h = p.recovered(h)
	h = logged(p.log, h)
	return http.MaxBytesHandler(h, maxBody)
}

// site serves what lies outside of the orgs, and leaves the rest to the Guard.
// It is no http.ServeMux: that would redirect paths which the Guard refuses,
// and a signature covers the path as it was sent.
func (p *platform) site(routes http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.EscapedPath() {
		case "/":
			p.reading(console)(w, r)
		case "/healthz":
			p.reading(healthz)(w, r)
		case "/readyz":
			p.reading(p.readyz)(w, r)
		default:
			routes.ServeHTTP(w, r)
		}
	})
}

// reading refuses methods that would write.
func (p *platform) reading(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			p.guard.Fail(w, r, &auth.Error{Detail: auth.DetailMethod})
			return
		}
		h(w, r)
	}
}
