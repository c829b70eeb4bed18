package bearer_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

// A server that takes tokens of its org's apps, and one of these tokens.
func Example() {
	ctx := context.Background()
	const app = "acmeKey000000000000001"
	directory := auth.NewMemory()
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutApp(auth.App{ClientKey: app, Org: "acme"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
	var keys token.MemoryKeys
	if _, err := keys.Generate(ctx, "acme", app); err != nil {
		log.Fatal(err)
	}

	guard := &auth.Guard{
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{&bearer.Mechanism{Verifier: &token.Verifier{Keys: &keys, Cache: &token.Cache{}}}},
	}
	mux := guard.Mux()
	mux.HandleFunc("GET /notes", auth.Some("object.read.c_note"), func(w http.ResponseWriter, r *http.Request) {})
	mux.HandleFunc("POST /notes", auth.Allow("object.create.c_note"), func(w http.ResponseWriter, r *http.Request) {})

	minter := token.Minter{Signers: &keys}
	raw, err := minter.Ephemeral(ctx, token.Claims{
		Issuer: app, Subject: "ann", Audience: "https://api.example.com/acme/v2",
		Scope: []string{"object.read.c_note"},
	}, 0)
	if err != nil {
		log.Fatal(err)
	}
	for _, method := range []string{"GET", "POST"} {
		r := httptest.NewRequest(method, "/acme/v2/notes", nil)
		r.Header.Set("Authorization", "Bearer "+string(raw))
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Printf("%s %d %q\n", method, w.Code, w.Header().Get("WWW-Authenticate"))
	}
	// Output:
	// GET 200 ""
	// POST 403 "Bearer error=\"insufficient_scope\", scope=\"object.create.c_note\""
}

// What an account asks for is held against what it has, before it is minted.
func ExampleWithin() {
	directory := auth.NewMemory()
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
	guard := &auth.Guard{
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{&bearer.Mechanism{Verifier: &token.Verifier{Keys: new(token.MemoryKeys)}}},
	}
	mux := guard.Mux()
	mux.HandleFunc("POST /tokens", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		by := auth.Principal{Org: "acme", Account: "ann", Granted: scope.Unscoped()} // auth.From, behind a need
		ask := token.Claims{Subject: "ann", Grant: 4, SkipACL: true, Expires: time.Now().Add(time.Hour)}
		fmt.Println(bearer.Within(r.Context(), by, by.HasRole("administrator"), auth.TenantFrom(r.Context()), ask))
	})
	mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/acme/v2/tokens", nil))
	// Output: bearer: the token would exceed its minter: skipAcl, grant
}

// The public keys of the apps that expose them, for others who verify.
func ExampleCerts() {
	directory := auth.NewMemory()
	directory.PutOrg(auth.Org{Code: "acme"})
	var keys token.MemoryKeys
	guard := &auth.Guard{
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{&bearer.Mechanism{Verifier: &token.Verifier{Keys: &keys}}},
	}
	mux := guard.Mux()
	jwk, pem := bearer.Certs(&keys)
	mux.Handle("GET /auth/certs/jwk", auth.Public, jwk)
	mux.Handle("GET /auth/certs/pem", auth.Public, pem)

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/acme/v2/auth/certs/jwk", nil))
	fmt.Println(w.Body)
	// Output: {"object":"list","data":[],"hasMore":false,"keys":[]}
}

// What a Minter refuses, as a client is told.
func ExampleMintFault() {
	minter := token.Minter{Signers: new(token.MemoryKeys)}
	_, err := minter.Ephemeral(context.Background(), token.Claims{
		Issuer: "acmeKey000000000000001", Subject: "ann", Audience: "https://api.example.com/acme/v2",
		Scope: []string{"deployment.create"},
	}, 0)
	var fault *auth.Error
	if errors.As(bearer.MintFault(err), &fault) {
		fmt.Println(fault.Detail, fault.Faults[0].Path)
	}
	// Output: invalidArgument.authScope scope[0]
}

// What a token would be able to do, before it is minted: to show it to whoever
// asks for it.
func ExampleEffective() {
	directory := auth.NewMemory()
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"editor"}})
	directory.PutRole("acme", auth.Role{Name: "editor", Scope: []string{"object.update.c_note"}})
	guard := &auth.Guard{
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{&bearer.Mechanism{Verifier: &token.Verifier{Keys: new(token.MemoryKeys)}}},
	}
	mux := guard.Mux()
	mux.HandleFunc("GET /preview", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		set, err := bearer.Effective(r.Context(), auth.TenantFrom(r.Context()),
			token.Claims{Subject: "ann", Scope: []string{"object.read.c_note"}})
		if err != nil {
			auth.Fail(w, r, err)
			return
		}
		for chain, source := range set.Chains() {
			fmt.Println(chain, "by the", source)
		}
	})
	mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/acme/v2/preview", nil))
	// Output:
	// object.read.c_note by the token
	// object.update.c_note by the role editor
}
