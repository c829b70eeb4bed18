package issuer_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/issuer"
	"github.com/tenantkit/tenantkit/token"
)

// Tokens that Node's crypto has made, in the shapes of Entra, Keycloak and Kubernetes.
func TestTokensOfNode(t *testing.T) {
	var made struct {
		Time   int64
		JWKS   json.RawMessage
		Tokens map[string]string
	}
	text, err := os.ReadFile("testdata/node_tokens.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &made); err != nil || len(made.Tokens) != 4 {
		t.Fatal(err, len(made.Tokens))
	}
	w, web, clock := newOther(t, func(_ *world, i *issuer.Issuer) {
		i.URL, i.Audience = "https://sts.example/tenant/", "api://notes"
		i.Map = func(_ context.Context, _ *auth.Tenant, f *issuer.Foreign) (issuer.Identity, error) {
			account := f.Text("sub")
			if oid := f.Text("oid"); oid != "" {
				account = oid
			}
			if name := f.Text("kubernetes.io", "serviceaccount", "name"); name != "" {
				account = name
			}
			g := issuer.Identity{Account: account}
			if slices.Contains(f.Texts("realm_access", "roles"), "editor") {
				g.Roles = []string{"editor"}
			}
			return g, nil
		}
	})
	clock.now = time.Unix(made.Time, 0)
	web.put(setURL, respond(200, string(made.JWKS)))
	for name, raw := range made.Tokens {
		for range 2 {
			want(t, w.me(t, raw), 200, "")
			if p := w.last.Load(); p.Account != "ann" || p.Mechanism != "issuer" || p.HasRole("editor") != strings.HasPrefix(name, "Keycloak") ||
				p.Expires.Unix() != 1790003600 || !p.Authenticated.IsZero() {
				t.Errorf("%s: %+v", name, p)
			}
		}
		flipped := []byte(raw)
		flipped[len(raw)-9] ^= 1
		want(t, w.me(t, string(flipped)), 401, auth.DetailInvalidToken)
	}
	if got := web.requests(); len(got) != 1 {
		t.Errorf("the set was fetched %d times", len(got))
	}
}

func TestForeignTokensThatAreRefused(t *testing.T) {
	w, web, clock := newOther(t, func(w *world, i *issuer.Issuer) {
		second := *i
		second.URL, second.JWKS, second.Keys = "https://second.example.test", "", map[string]crypto.PublicKey{"ec": &ecKey().PublicKey, "rsa": &keys[2]().PublicKey}
		asApp := second
		asApp.URL = appB
		w.mechanism.Issuers = append(w.mechanism.Issuers, &second, &asApp)
	})
	want(t, w.me(t, ofOther()), 200, "")
	unsigned := func(h map[string]any) string { return b64([]byte(asJSON(h))) + "." + b64([]byte(asJSON(foreign()))) }
	hs256 := func(secret []byte) string {
		signed := unsigned(header("HS256", "rsa"))
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(signed))
		return signed + "." + b64(mac.Sum(nil))
	}
	public := &keys[3]().PublicKey
	der, _ := x509.MarshalPKIXPublicKey(public)
	evil := keys[2]()
	raw := func(payload string) string { return by(edKey, header("EdDSA", "ed"), json.RawMessage(payload)) }
	ahead := time.Now().Unix() + 3600
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	for name, token := range map[string]string{
		"O01 none":                         unsigned(header("none", "rsa")) + ".",
		"O01 none with a signature":        unsigned(header("none", "rsa")) + ".AAAA",
		"O01 None":                         unsigned(header("None", "ed")) + ".AAAA",
		"O01 no alg":                       by(edKey, header("EdDSA", "ed", "alg", nil), foreign()),
		"O01 an algorithm of another key":  by(edKey, header("RS256", "ed"), foreign()),
		"O01 RS512":                        by(keys[3](), header("RS512", "rsa"), foreign()),
		"O01 a signature of another key":   by(evil, header("RS256", "rsa"), foreign()),
		"O01 a curve that is not P-256":    by(p384, header("ES256", "ec"), foreign()),
		"O02 HS256 with the PEM":           hs256(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
		"O02 HS256 with the DER":           hs256(der),
		"O02 HS256 with the modulus":       hs256(public.N.Bytes()),
		"O02 HS256 with the JWK":           hs256([]byte(asJSON(jwk("rsa", public)))),
		"O02 HS256 with nothing":           hs256(make([]byte, 64)), // HMAC fills up an empty key to this one, which FIPS 140 allows
		"O03 jwk":                          by(evil, header("RS256", "rsa", "jwk", jwk("rsa", &evil.PublicKey)), foreign()),
		"O03 jku":                          by(evil, header("RS256", "evil", "jku", "https://evil.example/keys"), foreign()),
		"O03 x5u":                          by(evil, header("RS256", "rsa", "x5u", "https://evil.example/cert"), foreign()),
		"O03 kid with a URL":               by(evil, header("RS256", "https://evil.example/keys"), foreign()),
		"O04 keys of another issuer":       by(evil, header("RS256", "rsa"), foreign()),
		"O04 and the reverse":              by(keys[3](), header("RS256", "rsa"), foreign("iss", "https://second.example.test")),
		"O04 a kid of another issuer":      by(edKey, header("EdDSA", "ed"), foreign("iss", "https://second.example.test")),
		"O05 a Cyrillic letter":            ofOther("iss", "https://id.ex\u0430mple.test/realms/acme"),
		"O05 full-width letters":           ofOther("iss", "https://id.example.test/realms/\uff41cme"),
		"O05 another case":                 ofOther("iss", "https://ID.example.test/realms/acme"),
		"O05 a slash more":                 ofOther("iss", otherURL+"/"),
		"O05 a blank more":                 ofOther("iss", otherURL+" "),
		"O05 a default port":               ofOther("iss", "https://id.example.test:443/realms/acme"),
		"O05 escaped":                      ofOther("iss", "https://id.example.test/realms/%61cme"),
		"O05 iss is an array":              ofOther("iss", []string{otherURL}),
		"O05 no iss":                       ofOther("iss", nil),
		"O05 iss twice":                    raw(`{"iss":"x","iss":"` + otherURL + `","sub":"ann","aud":"notes","exp":` + fmt.Sprint(ahead) + `}`),
		"O06 another audience":             ofOther("aud", "other"),
		"O06 an array without ours":        ofOther("aud", []string{"a", "b"}),
		"O06 ours in another case":         ofOther("aud", []string{"Notes"}),
		"O06 ours deeper":                  ofOther("aud", []any{[]string{otherAud}}),
		"O06 ours beside a number":         ofOther("aud", []any{otherAud, 1}),
		"O06 an empty array":               ofOther("aud", []string{}),
		"O06 an object":                    ofOther("aud", map[string]string{otherAud: otherAud}),
		"O06 no aud":                       ofOther("aud", nil),
		"O07 no exp":                       ofOther("exp", nil),
		"O07 exp is 0":                     ofOther("exp", 0),
		"O07 exp is a text":                ofOther("exp", fmt.Sprint(ahead)),
		"O07 exp is null":                  raw(`{"iss":"` + otherURL + `","sub":"ann","aud":"notes","exp":null}`),
		"O07 exp is a fraction":            ofOther("exp", float64(ahead)+0.5),
		"O07 exp with an exponent":         raw(`{"iss":"` + otherURL + `","sub":"ann","aud":"notes","exp":9e11}`),
		"O07 exp is negative":              ofOther("exp", -ahead),
		"O07 exp after the year 9999":      ofOther("exp", int64(253402300800)),
		"O15 an own app's, of an issuer":   signWith(t, 1, claims("iss", appB)),
		"O15 an own key, iss of an issuer": signWith(t, 0, foreign()),
		"O17 crit":                         by(edKey, header("EdDSA", "ed", "crit", []string{"exp"}, "exp", 1), foreign()),
		"O17 b64":                          by(edKey, header("EdDSA", "ed", "b64", true), foreign()),
		"O17 alg twice":                    by(edKey, json.RawMessage(`{"alg":"none","alg":"EdDSA","kid":"ed"}`), foreign()),
		"O17 a logout token":               by(edKey, header("EdDSA", "ed", "typ", "logout+jwt"), foreign()),
		"O17 a token bound to a key":       ofOther("cnf", map[string]string{"jkt": "x"}),
		"O17 NUL in sub":                   ofOther("sub", "ann\x00"),
		"O16 an unknown account":           ofOther("sub", "nobody"),
		"O16 a disabled account":           ofOther("sub", "off"),
		"O16 an account of another org":    ofOther("sub", "gus"),
		"O16 no sub":                       ofOther("sub", nil),
	} {
		t.Run(name, func(t *testing.T) { want(t, w.me(t, token), 401, auth.DetailInvalidToken) })
	}
	for _, url := range web.requests() {
		if url != setURL {
			t.Errorf("O03: %s was asked", url)
		}
	}
	t.Run("O07 times", func(t *testing.T) {
		now := clock.Now().Unix()
		want(t, w.me(t, ofOther("exp", now-1)), 401, auth.DetailTokenExpired)
		want(t, w.me(t, ofOther("nbf", now+120)), 401, auth.DetailTokenNotActive)
		want(t, w.me(t, ofOther("iat", now+120)), 401, auth.DetailTokenNotActive)
	})
	t.Run("what is ignored", func(t *testing.T) {
		for _, token := range []string{
			by(keys[3](), header("RS256", "rsa", "x5t", "abc", "jku", "https://evil.example", "jwk", jwk("x", &evil.PublicKey), "x5c", []string{"AA"}), foreign()),
			by(ecKey(), header("ES256", "ec", "typ", nil), foreign("aud", []string{"a", otherAud})),
			by(edKey, header("EdDSA", "ed", "typ", "application/at+jwt"), foreign("iat", nil)),
			raw(`{"iss":"https:\/\/id.example.test/realms/\u0061cme","sub":"ann","aud":"notes","exp":` + fmt.Sprint(ahead) + `}`),
		} {
			want(t, w.me(t, token), 200, "")
		}
	})
	t.Run("O12 a client key beside it", func(t *testing.T) {
		got := w.ask(t, "GET", "/acme/v2/me", "Authorization", "Bearer "+ofOther(), "Service-Client-Key", appA)
		want(t, got, 401, auth.DetailKeyMismatch)
	})
}

func TestO01OnlyTheAlgorithmsOfTheIssuer(t *testing.T) {
	w, _, _ := newOther(t, func(_ *world, i *issuer.Issuer) { i.Algorithms = []string{"RS256", "ES256"} })
	want(t, w.me(t, by(keys[3](), header("RS256", "rsa"), foreign())), 200, "")
	want(t, w.me(t, by(ecKey(), header("ES256", "ec"), foreign())), 200, "")
	want(t, w.me(t, ofOther()), 401, auth.DetailInvalidToken)
}

func TestO14AnIssuerIsOfOneOrg(t *testing.T) {
	w, _, _ := newOther(t, func(w *world, i *issuer.Issuer) {
		w.directory.PutAccount(auth.Account{ID: "ann", Org: "globex"})
		w.directory.PutOrg(auth.Org{Code: "third"})
		w.directory.PutAccount(auth.Account{ID: "ann", Org: "third"})
		third := *i
		third.Org, third.Audience, third.Map = "third", "third", func(context.Context, *auth.Tenant, *issuer.Foreign) (issuer.Identity, error) {
			return issuer.Identity{Account: "ann"}, nil
		}
		w.mechanism.Issuers = append(w.mechanism.Issuers, &third)
	})
	at := func(org, raw string) reply { return w.ask(t, "GET", "/"+org+"/v2/me", "Authorization", "Bearer "+raw) }
	for range 2 {
		want(t, at("acme", ofOther()), 200, "")
		want(t, at("globex", ofOther()), 401, auth.DetailInvalidToken)
		want(t, at("third", ofOther()), 401, auth.DetailInvalidToken)
		want(t, at("third", ofOther("aud", "third")), 200, "")
		want(t, at("acme", ofOther("aud", "third")), 401, auth.DetailInvalidToken)
		both := ofOther("aud", []string{"third", otherAud})
		want(t, at("third", both), 200, "")
		want(t, at("acme", both), 200, "")
		if p := w.last.Load(); p.Org != "acme" || p.App != appA {
			t.Errorf("%+v", p)
		}
	}
}

func TestO15OwnTokensStayOwn(t *testing.T) {
	w, _, _ := newOther(t)
	raw := honest(t)
	for range 3 {
		want(t, w.me(t, raw), 200, "")
		if p := w.last.Load(); p.Mechanism != "bearer" || p.App != appA {
			t.Errorf("%+v", p)
		}
	}
	signed, _, err := w.bearer.Minter(w.guard).Limited(t.Context(), token.Claims{Issuer: appA, Subject: "ann", Audience: "https://api.example.test/acme/v2", MaxUses: 2})
	if err != nil {
		t.Fatal(err)
	}
	limited := string(signed)
	want(t, w.me(t, limited), 200, "")
	want(t, w.me(t, limited), 200, "")
	want(t, w.me(t, limited), 401, auth.DetailInvalidToken)
}

func TestO16AccountAndAppAsTheyAreNow(t *testing.T) {
	w, _, clock := newOther(t)
	raw := ofOther()
	want(t, w.me(t, raw), 200, "")
	for name, c := range map[string]struct{ change, undo func() }{
		"disabled": {
			func() { w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Disabled: true}) },
			func() { w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme"}) },
		},
		"tokens from later on": {
			func() {
				w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", TokensFrom: clock.Now().Add(time.Minute)})
			},
			func() { w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme"}) },
		},
		"the app": {
			func() { w.directory.PutApp(auth.App{ClientKey: appA, Org: "acme", Disabled: true}) },
			func() { w.directory.PutApp(auth.App{ClientKey: appA, Org: "acme"}) },
		},
	} {
		t.Run("O16 "+name, func(t *testing.T) {
			c.change()
			want(t, w.me(t, raw), 401, auth.DetailInvalidToken)
			c.undo()
			want(t, w.me(t, raw), 200, "")
		})
	}
	t.Run("O16 without iat", func(t *testing.T) {
		without := ofOther("iat", nil)
		want(t, w.me(t, without), 200, "")
		w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", TokensFrom: clock.Now().Add(-time.Hour)})
		want(t, w.me(t, without), 401, auth.DetailInvalidToken)
		want(t, w.me(t, raw), 200, "")
	})
	clock.advance(time.Hour + time.Minute) // the token was made after the clock
	want(t, w.me(t, raw), 401, auth.DetailTokenExpired)
}

func TestO20WhatMapAnswers(t *testing.T) {
	var grant issuer.Identity
	var answer error
	w, _, _ := newOther(t, func(_ *world, i *issuer.Issuer) {
		i.Map = func(context.Context, *auth.Tenant, *issuer.Foreign) (issuer.Identity, error) { return grant, answer }
	})
	for _, c := range []struct {
		name   string
		grant  issuer.Identity
		err    error
		status int
		fault  string
	}{
		{"nobody", issuer.Identity{}, nil, 401, auth.DetailInvalidToken},
		{"an unknown role", issuer.Identity{Account: "ann", Roles: []string{"no such role"}}, nil, 401, auth.DetailInvalidToken},
		{"an app of another org", issuer.Identity{Account: "ann", App: appG}, nil, 401, auth.DetailInvalidToken},
		{"not found", issuer.Identity{Account: "ann"}, fmt.Errorf("a link: %w", auth.ErrNotFound), 401, auth.DetailInvalidToken},
		{"forbidden", issuer.Identity{Account: "ann"}, auth.ErrForbidden, 401, auth.DetailInvalidToken},
		{"a refusal of its own", issuer.Identity{Account: "ann"}, &auth.Error{Detail: auth.DetailForbidden, Err: auth.ErrForbidden}, 403, auth.DetailForbidden},
		{"an outage", issuer.Identity{Account: "ann"}, auth.Unavailable(auth.ErrForbidden), 503, auth.DetailUnavailable},
		{"any other error", issuer.Identity{Account: "ann"}, http.ErrServerClosed, 503, auth.DetailUnavailable},
		{"an account", issuer.Identity{Account: "ann"}, nil, 200, ""},
	} {
		t.Run("O20 "+c.name, func(t *testing.T) {
			grant, answer = c.grant, c.err
			want(t, w.me(t, ofOther()), c.status, c.fault)
		})
	}
	t.Run("O20 the scope", func(t *testing.T) {
		grant, answer = issuer.Identity{Account: "ann", Scope: []string{"object.read.c_note", "object.raed"}, Roles: []string{"editor"}}, nil
		want(t, w.ask(t, "GET", "/acme/v2/notes", "Authorization", "Bearer "+ofOther()), 200, "")
		want(t, w.ask(t, "DELETE", "/acme/v2/notes/"+note, "Authorization", "Bearer "+ofOther()), 403, auth.DetailScope)
		grant.Scope = nil
		want(t, w.ask(t, "GET", "/acme/v2/notes", "Authorization", "Bearer "+ofOther()), 403, auth.DetailScope)
	})
}

// With a ceiling, a scope limits the chains of roles, as the claim of an own token does.
func TestCeilingOfAGrant(t *testing.T) {
	var grant issuer.Identity
	w, _, _ := newOther(t, func(w *world, i *issuer.Issuer) {
		w.guard.Ceiling = true
		w.directory.PutRole("acme", auth.Role{Name: "reader", Scope: []string{"object.read.c_note"}})
		i.Map = func(context.Context, *auth.Tenant, *issuer.Foreign) (issuer.Identity, error) { return grant, nil }
	})
	for _, c := range []struct {
		scope  []string
		status int
	}{{nil, 200}, {[]string{}, 403}, {[]string{"admin.read"}, 403}, {[]string{"object.read"}, 200}} {
		grant = issuer.Identity{Account: "ann", Scope: c.scope, Roles: []string{"reader"}, Access: auth.Access{Grant: 3, SkipACL: true}}
		if got := w.ask(t, "GET", "/acme/v2/notes", "Authorization", "Bearer "+ofOther()); got.status != c.status {
			t.Errorf("%v: %d", c.scope, got.status)
		}
	}
	if p := w.last.Load(); p.Grant != 3 || !p.SkipACL || p.SkipCreateACL {
		t.Errorf("%+v", p.Access)
	}
}

func TestO21WhatAForeignTokenMints(t *testing.T) {
	grant := issuer.Identity{Account: "ann", App: appA, Scope: []string{"object.read.c_note", "admin.update"}}
	w, _, clock := newOther(t, func(w *world, i *issuer.Issuer) {
		i.Until = w.guard.Now().Add(10 * time.Minute)
		i.Map = func(context.Context, *auth.Tenant, *issuer.Foreign) (issuer.Identity, error) { return grant, nil }
	})
	var tenant *auth.Tenant
	w.mux.HandleFunc("GET /tenant", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) {
		p := auth.From(r.Context())
		tenant = auth.TenantFrom(r.Context())
		w.last.Store(&p)
	})
	principal := func() auth.Principal {
		want(t, w.ask(t, "GET", "/acme/v2/tenant", "Authorization", "Bearer "+ofOther()), 200, "")
		return *w.last.Load()
	}
	wish := func(change func(*bearer.Wish)) bearer.Wish {
		v := bearer.Wish{Claims: token.Claims{Subject: "ann", Scope: []string{"object.read.c_note"}}}
		change(&v)
		return v
	}
	nothing := func(*bearer.Wish) {}
	for _, c := range []struct {
		name   string
		app    string
		wish   bearer.Wish
		admin  bool
		excess []string
	}{
		{"what it may do itself", appA, wish(nothing), false, nil},
		{"for another app", appA, wish(func(v *bearer.Wish) { v.Issuer = appB }), true, []string{"app"}},
		{"without an app", "", wish(nothing), false, []string{"app"}},
		{"without an app, for any", "", wish(func(v *bearer.Wish) { v.Issuer = appA }), true, []string{"app"}},
		{"more", appA, wish(func(v *bearer.Wish) { v.Scope = []string{"object"} }), false, []string{"scope"}},
		{"for longer", appA, wish(func(v *bearer.Wish) { v.Expires = clock.Now().Add(11 * time.Minute) }), false, []string{"expires"}},
		{"for ever", appA, wish(func(v *bearer.Wish) { v.Permanent = true }), false, []string{"expires"}},
		{"with a record, which the issuer cannot revoke", appA, wish(func(v *bearer.Wish) { v.Permanent, v.Expires = true, clock.Now().Add(time.Minute) }), false, []string{"expires"}},
		{"with a role", appA, wish(func(v *bearer.Wish) { v.Roles = []string{"editor"} }), true, []string{"roles"}},
		{"with a flag", appA, wish(func(v *bearer.Wish) { v.SkipACL = true }), true, []string{"skipAcl"}},
		{"for another account", appA, wish(func(v *bearer.Wish) { v.Subject = "root" }), false, []string{"sub"}},
	} {
		t.Run("O21 "+c.name, func(t *testing.T) {
			grant.App = c.app
			_, _, err := w.bearer.Mint(t.Context(), principal().AsAdministrator(c.admin), tenant, c.wish)
			var got []string
			if beyond, ok := errors.AsType[*auth.Error](err); ok && beyond.Detail == auth.DetailDelegation {
				for _, e := range beyond.Faults {
					got = append(got, e.Path)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, c.excess) {
				t.Errorf("excess %v, want %v", got, c.excess)
			}
		})
	}
	// Nobody learns here when the issuer withdraws its key.
	t.Run("O21 for longer than 15 minutes, by a token that lasts longer", func(t *testing.T) {
		grant.App = appA
		p := principal()
		p.Expires = clock.Now().Add(time.Hour)
		for lasts, within := range map[time.Duration]bool{15 * time.Minute: true, 16 * time.Minute: false} {
			_, _, err := w.bearer.Mint(t.Context(), p, tenant, wish(func(v *bearer.Wish) { v.Expires = clock.Now().Add(lasts) }))
			if (err == nil) != within {
				t.Errorf("%v: %v", lasts, err)
			}
		}
	})
	t.Run("O22 Until", func(t *testing.T) {
		clock.advance(10 * time.Minute)
		want(t, w.me(t, ofOther()), 401, auth.DetailTokenExpired)
	})
}

func TestIssuersThatAreWrong(t *testing.T) {
	good := issuer.Issuer{Org: "acme", URL: otherURL, Audience: otherAud, JWKS: setURL, Map: subject}
	for name, change := range map[string]func(*issuer.Issuer){
		"no org":            func(i *issuer.Issuer) { i.Org = "" },
		"no iss":            func(i *issuer.Issuer) { i.URL = "" },
		"no audience":       func(i *issuer.Issuer) { i.Audience = "" },
		"no Map":            func(i *issuer.Issuer) { i.Map = nil },
		"no keys":           func(i *issuer.Issuer) { i.JWKS = "" },
		"keys twice":        func(i *issuer.Issuer) { i.Discover = true },
		"O13 http":          func(i *issuer.Issuer) { i.JWKS = "http://id.example.test/keys" },
		"O13 http, unsafe":  func(i *issuer.Issuer) { i.JWKS, i.UnsafePlaintext = "http://id.example.test/keys", true },
		"O13 loopback":      func(i *issuer.Issuer) { i.JWKS = "http://127.0.0.1/keys" },
		"O13 a file":        func(i *issuer.Issuer) { i.JWKS = "file:///etc/keys" },
		"O13 discover":      func(i *issuer.Issuer) { i.JWKS, i.Discover, i.URL = "", true, "http://id.example.test" },
		"HS256":             func(i *issuer.Issuer) { i.Algorithms = []string{"HS256"} },
		"no algorithm":      func(i *issuer.Issuer) { i.Algorithms = []string{} },
		"O02 an HMAC key":   func(i *issuer.Issuer) { i.JWKS, i.Keys = "", map[string]crypto.PublicKey{"": []byte("secret")} },
		"a private key":     func(i *issuer.Issuer) { i.JWKS, i.Keys = "", map[string]crypto.PublicKey{"": keys[0]()} },
		"a key that is nil": func(i *issuer.Issuer) { i.JWKS, i.Keys = "", map[string]crypto.PublicKey{"": (*ecdsa.PublicKey)(nil)} },
	} {
		i := good
		change(&i)
		m := issuer.Mechanism{Issuers: []*issuer.Issuer{&i}}
		if m.Bind(new(auth.Settings)) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	m := issuer.Mechanism{Issuers: []*issuer.Issuer{&good}}
	if err := m.Bind(new(auth.Settings)); err != nil {
		t.Error(err)
	}
	for name, all := range map[string][]*issuer.Issuer{"twice": {&good, &good}, "nil": {nil}, "none": {}} {
		if m := (&issuer.Mechanism{Issuers: all}); m.Bind(new(auth.Settings)) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestClaimsOfAForeignToken(t *testing.T) {
	var got *issuer.Foreign
	w, _, _ := newOther(t, func(_ *world, i *issuer.Issuer) {
		i.Map = func(ctx context.Context, t *auth.Tenant, f *issuer.Foreign) (issuer.Identity, error) {
			got = f
			return subject(ctx, t, f)
		}
	})
	want(t, w.me(t, ofOther("a", map[string]any{"b.c": map[string]any{"d": []string{"x", "y"}, "e": "z"}}, "EXP", "no", "n", 7)), 200, "")
	for _, c := range []struct{ got, want any }{
		{got.Text("sub"), "ann"}, {got.Text("SUB"), ""}, {got.Text("n"), ""}, {got.Text("a", "b.c", "e"), "z"}, {got.Text("a", "b", "c"), ""},
		{got.Text(), ""}, {strings.Join(got.Texts("a", "b.c", "d"), " "), "x y"}, {len(got.Texts("sub")), 0},
		{string(got.Claim("n")), "7"}, {string(got.Claim("a", "b.c", "d")), `["x","y"]`}, {got.Claim("none") == nil, true}, {string(got.Claim("EXP")), `"no"`},
	} {
		if c.got != c.want {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
	got.Claim("sub")[1] = 'X' // a copy
	if got.Text("sub") != "ann" {
		t.Error("a caller has changed the token")
	}
}

// The keys of an old service that uses golang-jwt, without a kid, until a date.
func TestO22AnOldServiceUntilADate(t *testing.T) {
	w, web, clock := newOther(t, func(_ *world, i *issuer.Issuer) {
		i.URL, i.JWKS, i.Keys = "old-service", "", map[string]crypto.PublicKey{"": &keys[3]().PublicKey}
		i.Algorithms = []string{"RS256"}
		i.Until = time.Now().Add(time.Hour)
	})
	old, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims(foreign("iss", "old-service", "exp", time.Now().Unix()+7200))).SignedString(keys[3]())
	if err != nil {
		t.Fatal(err)
	}
	want(t, w.me(t, old), 200, "")
	clock.advance(time.Hour + time.Minute)
	want(t, w.me(t, old), 401, auth.DetailTokenExpired)
	if len(web.requests()) != 0 {
		t.Error("the web was asked")
	}
}

// An issuer that hangs costs its own requests the Guard's Timeout, and nobody else anything.
func TestO12ADeadIssuerFailsNobodyElse(t *testing.T) {
	w, web, _ := newOther(t, func(w *world, i *issuer.Issuer) {
		dead := *i
		dead.URL, dead.JWKS = "https://dead.example.test", "https://dead.example.test/keys"
		w.mechanism.Issuers = append(w.mechanism.Issuers, &dead)
		w.guard.Timeout = time.Second
	})
	let := make(chan struct{})
	t.Cleanup(func() { close(let) })
	web.put("https://dead.example.test/keys", func(*http.Request) (*http.Response, error) {
		<-let
		return nil, http.ErrServerClosed
	})
	ofDead, ofOther, own := ofOther("iss", "https://dead.example.test"), ofOther(), honest(t)
	waiting := make(chan reply)
	go func() { waiting <- w.me(t, ofDead) }()
	for range 3 {
		want(t, w.me(t, ofOther), 200, "")
		want(t, w.me(t, own), 200, "")
	}
	want(t, <-waiting, 503, auth.DetailUnavailable)
	want(t, w.me(t, ofDead), 503, auth.DetailUnavailable)
	want(t, w.me(t, ofOther), 200, "")
}

// A thousand forged tokens cost one fetch, and none is remembered.
func TestBudgetOfRefusedForeignTokens(t *testing.T) {
	w, web, clock := newOther(t)
	for n := range 1000 {
		want(t, w.me(t, by(edKey, header("EdDSA", fmt.Sprint("kid", n)), foreign())), 401, auth.DetailInvalidToken)
	}
	want(t, w.me(t, by(edKey, header("EdDSA", "rsa"), foreign())), 401, auth.DetailInvalidToken)
	want(t, w.me(t, ofOther()), 200, "")
	if n := len(web.requests()); n != 1 {
		t.Errorf("%d fetches", n)
	}
	clock.advance(10 * time.Second)
	want(t, w.me(t, by(edKey, header("EdDSA", "again"), foreign())), 401, auth.DetailInvalidToken)
	if n := len(web.requests()); n != 2 {
		t.Errorf("%d fetches", n)
	}
}

// A key that the issuer withdraws, or replaces under its kid, ends the tokens that were seen before.
func TestO19AKeyThatIsGone(t *testing.T) {
	// Within the time that a token is remembered, another token's kid makes the server ask.
	t.Run("O19 replaced a moment ago", func(t *testing.T) {
		w, web, clock := newOther(t)
		raw, own := ofOther(), honest(t)
		want(t, w.me(t, raw), 200, "")
		want(t, w.me(t, own), 200, "")
		web.put(setURL, respond(200, keySet(jwk("ed", keys[2]().Public(), "alg", "RS256"))))
		clock.advance(10 * time.Second)
		want(t, w.me(t, by(edKey, header("EdDSA", "other"), foreign())), 401, auth.DetailInvalidToken)
		want(t, w.me(t, raw), 401, auth.DetailInvalidToken)
		want(t, w.me(t, own), 200, "")
		want(t, w.me(t, by(keys[2](), header("RS256", "ed"), foreign())), 200, "")
	})
	for name, set := range map[string]string{
		"withdrawn": keySet(jwk("rsa", &keys[3]().PublicKey)),
		"replaced":  keySet(jwk("ed", &ecKey().PublicKey)),
	} {
		t.Run("O19 "+name, func(t *testing.T) {
			w, web, clock := newOther(t)
			raw := ofOther()
			want(t, w.me(t, raw), 200, "")
			web.put(setURL, respond(200, set))
			clock.advance(10 * time.Minute)
			want(t, w.me(t, raw), 401, auth.DetailInvalidToken)
			web.put(setURL, respond(200, otherSet()))
			clock.advance(10 * time.Second)
			if name == "withdrawn" {
				want(t, w.me(t, raw), 200, "")
			}
		})
	}
}

// hidden hides all but the methods of auth.Mechanism.
type hidden struct{ auth.Mechanism }

func TestWhoseTokenItIs(t *testing.T) {
	t.Run("a wrapper that hides Owns is not valid", func(t *testing.T) {
		w, _, _ := newOther(t)
		g := &auth.Guard{Roles: auth.RolesLimit, BaseURL: w.guard.BaseURL, Directory: w.directory, Now: w.guard.Now,
			Mechanisms: []auth.Mechanism{w.bearer, hidden{w.mechanism}}}
		if err := g.Validate(); err == nil || !strings.Contains(err.Error(), "Owns") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the order of mechanisms is no matter", func(t *testing.T) {
		w, _, _ := newOther(t, func(w *world, _ *issuer.Issuer) { slices.Reverse(w.guard.Mechanisms) })
		want(t, w.me(t, ofOther()), 200, "")
		want(t, w.me(t, honest(t)), 200, "")
		want(t, w.ask(t, "GET", "/acme/v2/me", "Authorization", "Bearer "+ofOther(), "Authorization", "Bearer "+honest(t)), 400, auth.DetailAmbiguous)
	})
	t.Run("without own tokens, a token of nobody is refused, also where a credential is optional", func(t *testing.T) {
		w, _, _ := newOther(t, func(w *world, _ *issuer.Issuer) { w.guard.Mechanisms = []auth.Mechanism{w.mechanism} })
		want(t, w.me(t, ofOther()), 200, "")
		for _, raw := range []string{honest(t), "x", ofOther("iss", "https://nobody.example.test")} {
			want(t, w.ask(t, "GET", "/acme/v2/open", "Authorization", "Bearer "+raw), 401, auth.DetailInvalidToken)
		}
	})
	t.Run("events name the claimed issuer and account", func(t *testing.T) {
		var event auth.Event
		w, _, _ := newOther(t, func(w *world, _ *issuer.Issuer) {
			w.guard.Observe = func(_ context.Context, e auth.Event) { event = e }
		})
		want(t, w.me(t, by(keys[2](), header("RS256", "rsa"), foreign())), 401, auth.DetailInvalidToken)
		if (event.Claimed != auth.Claimed{Mechanism: issuer.Name, App: otherURL, Account: "ann"}) {
			t.Errorf("%+v", event.Claimed)
		}
	})
	t.Run("O15 an own app's, of an issuer, with NUL in another claim", func(t *testing.T) {
		w, _, _ := newOther(t, func(w *world, i *issuer.Issuer) {
			asApp := *i
			asApp.URL = appB
			w.mechanism.Issuers = append(w.mechanism.Issuers, &asApp)
		})
		var tenant *auth.Tenant
		w.mux.HandleFunc("GET /tenant", auth.Public, func(_ http.ResponseWriter, r *http.Request) { tenant = auth.TenantFrom(r.Context()) })
		w.ask(t, "GET", "/acme/v2/tenant")
		raw := signWith(t, 1, claims("iss", appB, "note", "\x00"))
		want(t, w.me(t, raw), 401, auth.DetailInvalidToken)
		if _, _, err := w.bearer.Inspect(t.Context(), raw, tenant); err == nil {
			t.Error("active")
		}
	})
	t.Run("introspection has own tokens only", func(t *testing.T) {
		w, _, _ := newOther(t)
		var tenant *auth.Tenant
		w.mux.HandleFunc("GET /tenant", auth.Public, func(_ http.ResponseWriter, r *http.Request) { tenant = auth.TenantFrom(r.Context()) })
		w.ask(t, "GET", "/acme/v2/tenant")
		if _, _, err := w.bearer.Inspect(t.Context(), honest(t), tenant); err != nil {
			t.Error(err)
		}
		if _, _, err := w.bearer.Inspect(t.Context(), ofOther(), tenant); err == nil {
			t.Error("a token of another issuer is active")
		}
	})
}

// A Mechanism that serves Guards of two brands reads the client key of each.
func TestGuardsOfTwoBrands(t *testing.T) {
	w, _, _ := newOther(t)
	branded := new(world)
	guard := auth.Guard{Roles: auth.RolesLimit, BaseURL: "https://acme.example.test", Directory: w.directory,
		Brand: auth.Brand{Header: "X-acme-"}, Mechanisms: []auth.Mechanism{w.mechanism}, Now: w.guard.Now}
	branded.mux = guard.Mux()
	branded.mux.HandleFunc("GET /me", auth.Authenticated, branded.answer)
	for _, one := range []*world{w, branded} {
		for _, key := range []string{"Service-Client-Key", "X-Acme-Client-Key"} {
			want := 200
			if (key == "Service-Client-Key") == (one == w) {
				want = 401
			}
			if got := one.ask(t, "GET", "/acme/v2/me", "Authorization", "Bearer "+ofOther(), key, appA); got.status != want {
				t.Errorf("the first Guard: %t, %s: %d %s", one == w, key, got.status, got.body)
			}
		}
	}
}
