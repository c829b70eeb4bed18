package issuer_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/issuer"
)

// An org accepts the tokens of its identity provider. Map decides whom they stand for.
func ExampleIssuer() {
	provider, sign := exampleProvider()
	defer provider.Close()
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
	directory.PutRole("acme", auth.Role{Name: "editor", Scope: []string{"object.update.c_note"}})

	guard := &auth.Guard{
		Roles:     auth.RolesLimit,
		BaseURL:   "https://api.example.com",
		Timeout:   time.Minute, // only here: a busy machine is no outage
		Directory: directory,
		Mechanisms: []auth.Mechanism{&issuer.Mechanism{
			Issuers: []*issuer.Issuer{{
				Org:      "acme",
				URL:      "https://id.example.com/realms/acme",
				Audience: "notes",
				JWKS:     provider.URL,
				Base:     provider.Client().Transport, // only here: the provider's certificate is one for tests
				Map: func(_ context.Context, _ *auth.Tenant, f *issuer.Foreign) (issuer.Identity, error) {
					grant := issuer.Identity{Account: f.Text("sub"), Scope: []string{"object.read.c_note"}}
					if slices.Contains(f.Texts("realm_access", "roles"), "notes-editor") {
						grant.Roles = []string{"editor"}
					}
					return grant, nil
				},
			}},
		}},
	}
	mux := guard.Mux()
	mux.HandleFunc("GET /me", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) {
		p := auth.From(r.Context())
		fmt.Println(p.Mechanism, p.Account, p.Roles)
	})
	for _, audience := range []string{"notes", "another service"} {
		r := httptest.NewRequest("GET", "/acme/v2/me", nil)
		r.Header.Set("Authorization", "Bearer "+sign(audience))
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// issuer ann [editor]
	// 200
	// 401
}

// exampleProvider stands for an identity provider: its key set, and a function that signs.
func exampleProvider() (*httptest.Server, func(audience string) string) {
	public, private, _ := ed25519.GenerateKey(rand.Reader)
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: "2026", Algorithm: "EdDSA", Use: "sig"}}}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { json.NewEncoder(w).Encode(set) }))
	return server, func(audience string) string {
		t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
			"iss": "https://id.example.com/realms/acme", "aud": []string{audience}, "sub": "ann", "exp": time.Now().Add(time.Minute).Unix(),
			"realm_access": map[string]any{"roles": []string{"notes-editor", "offline_access"}},
		})
		t.Header["kid"] = "2026"
		signed, _ := t.SignedString(private)
		return signed
	}
}
