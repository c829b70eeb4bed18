package bearer_test

import (
	"context"
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
func ExampleMechanism_Minter() {
	ctx := context.Background()
	directory, keys := new(auth.Memory), new(token.MemoryKeys)
	tokens := &bearer.Mechanism{Keys: keys, Signers: keys}
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Brand:      auth.Brand{Claims: "acme/"},
		Directory:  directory,
		Mechanisms: []auth.Mechanism{tokens},
	}
	if _, err := keys.Generate(ctx, "acme", "nightlyJob000000000001"); err != nil {
		fmt.Println(err)
		return
	}
	_, claims, err := tokens.Minter(guard).Ephemeral(ctx, token.Claims{
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
	mux.HandleFunc("GET /notes", auth.Allow("object.read.c_note"), func(w http.ResponseWriter, r *http.Request) {})
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

// A route that mints: one call decides and signs.
func ExampleMechanism_Mint() {
	const app = "acmeKey000000000000001"
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutApp(auth.App{ClientKey: app, Org: "acme"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
	var keys token.MemoryKeys
	if _, err := keys.Generate(context.Background(), "acme", app); err != nil {
		log.Fatal(err)
	}
	tokens := &bearer.Mechanism{Keys: &keys, Signers: &keys, Ledger: token.NewMemoryLedger(nil)}
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{tokens},
	}
	mux := guard.Mux()
	mux.HandleFunc("POST /tokens", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		by := auth.Principal{Org: "acme", App: app, Account: "ann", Granted: scope.Unscoped(), Authenticated: time.Now()} // auth.From, behind a need
		wish := bearer.Wish{Claims: token.Claims{Subject: "ann", Scope: []string{"object.read.c_note"}}}
		signed, claims, err := tokens.Mint(r.Context(), by.AsAdministrator(by.HasRole("administrator")), auth.TenantFrom(r.Context()), wish)
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

// A list of tokens leaves out those whose maker is gone.
func ExampleCheckMakers() {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  auth.Cached(directory, 0), // many tokens have the same makers
		Mechanisms: []auth.Mechanism{&bearer.Mechanism{Keys: new(token.MemoryKeys)}},
	}
	mux := guard.Mux()
	mux.HandleFunc("GET /tokens", auth.Public, func(_ http.ResponseWriter, r *http.Request) {
		for _, maker := range []string{"ann", "gone"} { // records of a ledger
			record := token.Record{Subject: "ann", Lineage: token.Lineage{Maker: maker}}
			fmt.Println(maker, auth.IsNotFound(bearer.CheckMakers(r.Context(), auth.TenantFrom(r.Context()), record)))
		}
	})
	mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/acme/v2/tokens", nil))
	// Output:
	// ann false
	// gone true
}

// An account ends one of its tokens, and then all of them.
func ExampleMechanism_Revoke() {
	const app = "acmeKey000000000000001"
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	ledger, keys := token.NewMemoryLedger(nil), new(token.MemoryKeys)
	tokens := &bearer.Mechanism{Keys: keys, Signers: keys, Ledger: ledger}
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{tokens},
		Observe: func(_ context.Context, e auth.Event) {
			if e.Verb != "" {
				fmt.Println(e.Verb, e.Account, e.Token, e.Count)
			}
		},
	}
	for _, jti := range []string{"phone", "laptop", "desk"} {
		record := token.Record{ID: jti, Org: "acme", ClientKey: app, Subject: "ann", Issued: time.Now()}
		if err := ledger.Issue(context.Background(), record, nil, 10); err != nil {
			log.Fatal(err)
		}
	}
	of := token.Holder{Org: "acme", ClientKey: app, Subject: "ann"}
	mux := guard.Mux()
	mux.HandleFunc("DELETE /tokens", auth.Public, func(_ http.ResponseWriter, r *http.Request) { // for tokens of ann's own
		fmt.Println(auth.IsNotFound(tokens.Revoke(r.Context(), of, "another")), tokens.Revoke(r.Context(), of, "phone"))
		fmt.Println(tokens.RevokeSubject(r.Context(), of))
	})
	mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("DELETE", "/acme/v2/tokens", nil))
	// Output:
	// token.revoked ann phone 0
	// true <nil>
	// token.revoked ann  2
	// 2 <nil>
}

// A phone exchanges its token for the next one. The server keeps the clock here to show what a copy
// of the former token does after a minute.
func ExampleMechanism_Renew() {
	const app = "acmeKey000000000000001"
	ctx, now := context.Background(), time.Now()
	clock := func() time.Time { return now }
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutApp(auth.App{ClientKey: app, Org: "acme"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
	keys := token.MemoryKeys{Now: clock}
	if _, err := keys.Generate(ctx, "acme", app); err != nil {
		log.Fatal(err)
	}
	tokens := &bearer.Mechanism{Keys: &keys, Signers: &keys, Ledger: token.NewMemoryLedger(clock)}
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{tokens},
		Now:        clock,
	}
	mux := guard.Mux()
	mux.HandleFunc("POST /renew", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		next, _, err := tokens.Renew(r, bearer.Less{})
		if err != nil {
			auth.Fail(w, r, err)
			return
		}
		fmt.Fprint(w, string(next))
	})
	renew := func(raw string) (int, string) {
		r := httptest.NewRequest("POST", "/acme/v2/renew", nil)
		r.Header.Set("Authorization", "Bearer "+raw)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}

	first, _, err := tokens.Minter(guard).Permanent(ctx, token.Claims{Issuer: app, Subject: "ann", Audience: "https://api.example.com/acme/v2"})
	if err != nil {
		log.Fatal(err)
	}
	status, second := renew(string(first))
	fmt.Println("renewed:", status)
	now = now.Add(token.Grace)
	status, _ = renew(string(first))
	fmt.Println("the former one, later:", status)
	status, _ = renew(second)
	fmt.Println("its successor, then:", status)
	// Output:
	// renewed: 200
	// the former one, later: 401
	// its successor, then: 401
}
