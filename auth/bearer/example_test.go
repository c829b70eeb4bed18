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

// A job mints for accounts outside of requests.
func ExampleMinter() {
	ctx := context.Background()
	directory, keys := new(auth.Memory), new(token.MemoryKeys)
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Brand:      auth.Brand{Claims: "acme/"},
		Directory:  directory,
		Mechanisms: []auth.Mechanism{&bearer.Mechanism{Keys: keys}},
	}
	if _, err := keys.Generate(ctx, "acme", "nightlyJob000000000001"); err != nil {
		fmt.Println(err)
		return
	}
	minter := bearer.Minter(guard, keys, nil)
	_, claims, err := minter.Ephemeral(ctx, token.Claims{
		Issuer: "nightlyJob000000000001", Subject: "ann", Audience: "https://api.example.com/acme/v2", Scope: []string{"object.read"},
	}, 5*time.Minute)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(claims.Expires.Sub(claims.IssuedAt))
	// Output: 5m0s
}

// A server that accepts tokens of its org's apps, and one of these tokens.
func Example() {
	ctx := context.Background()
	const app = "acmeKey000000000000001"
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutApp(auth.App{ClientKey: app, Org: "acme"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
	var keys token.MemoryKeys
	if _, err := keys.Generate(ctx, "acme", app); err != nil {
		log.Fatal(err)
	}

	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{&bearer.Mechanism{Keys: &keys, Cache: &token.Cache{}}},
	}
	mux := guard.Mux()
	mux.HandleFunc("GET /notes", auth.Some("object.read.c_note"), func(w http.ResponseWriter, r *http.Request) {})
	mux.HandleFunc("POST /notes", auth.Allow("object.create.c_note"), func(w http.ResponseWriter, r *http.Request) {})

	minter := token.Minter{Signers: &keys}
	raw, _, err := minter.Ephemeral(ctx, token.Claims{
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

// Within compares a requested token with what the account has, before it is minted.
func ExampleWithin() {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{&bearer.Mechanism{Keys: new(token.MemoryKeys)}},
	}
	mux := guard.Mux()
	mux.HandleFunc("POST /tokens", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		by := auth.Principal{Org: "acme", Account: "ann", Granted: scope.Unscoped(), Authenticated: time.Now()} // auth.From, behind a need
		ask := bearer.Wish{Claims: token.Claims{Subject: "ann", Grant: 4, SkipACL: true}}
		fmt.Println(bearer.Within(r.Context(), by, by.HasRole("administrator"), auth.TenantFrom(r.Context()), ask))
	})
	mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/acme/v2/tokens", nil))
	// Output: auth: it would exceed its maker: skipAcl, grant
}

// A route that mints: one call decides and signs.
func ExampleMint() {
	const app = "acmeKey000000000000001"
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutApp(auth.App{ClientKey: app, Org: "acme"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
	var keys token.MemoryKeys
	if _, err := keys.Generate(context.Background(), "acme", app); err != nil {
		log.Fatal(err)
	}
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{&bearer.Mechanism{Keys: &keys}},
	}
	minter := &token.Minter{Signers: &keys, Ledger: new(token.MemoryLedger)}
	mux := guard.Mux()
	mux.HandleFunc("POST /tokens", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		by := auth.Principal{Org: "acme", App: app, Account: "ann", Granted: scope.Unscoped(), Authenticated: time.Now()} // auth.From, behind a need
		wish := bearer.Wish{Claims: token.Claims{Subject: "ann", Scope: []string{"object.read.c_note"}}}
		signed, claims, err := bearer.Mint(r.Context(), by, by.HasRole("administrator"), auth.TenantFrom(r.Context()), minter, wish)
		if err != nil {
			auth.Fail(w, r, err)
			return
		}
		fmt.Println(signed, claims.Issuer == app, claims.Scope, claims.Expires.Sub(claims.IssuedAt))
	})
	mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/acme/v2/tokens", nil))
	// Output: REDACTED true [object.read.c_note] 15m0s
}

// The public keys of the apps that expose them, for others that verify tokens.
func ExampleCerts() {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	var keys token.MemoryKeys
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{&bearer.Mechanism{Keys: &keys}},
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

// Show what a token could do, before it is minted.
func ExampleEffective() {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"editor"}})
	directory.PutRole("acme", auth.Role{Name: "editor", Scope: []string{"object.update.c_note"}})
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{&bearer.Mechanism{Keys: new(token.MemoryKeys)}},
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

// A list of tokens omits those whose maker is gone, because they are refused.
func ExampleMakers() {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutAccount(auth.Account{ID: "ada", Org: "acme"})
	directory.PutAccount(auth.Account{ID: "bob", Org: "acme", Disabled: true})
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{&bearer.Mechanism{Keys: new(token.MemoryKeys)}},
	}
	mux := guard.Mux()
	mux.HandleFunc("GET /tokens", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		makers := bearer.Makers{Tenant: auth.TenantFrom(r.Context())}
		for _, record := range []token.Record{ // from token.Records
			{ID: "first", Subject: "ann", Lineage: token.Lineage{Maker: "ada"}},
			{ID: "second", Subject: "ann", Lineage: token.Lineage{Maker: "bob"}},
		} {
			err := makers.Made(r.Context(), record)
			fmt.Println(record.ID, err == nil, errors.Is(err, auth.ErrNotFound))
		}
	})
	mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/acme/v2/tokens", nil))
	// Output:
	// first true false
	// second false true
}
