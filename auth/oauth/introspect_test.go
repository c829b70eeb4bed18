package oauth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

func askAbout(raw string, pairs ...string) question {
	return ask("/base/acme/v2/oauth/introspect", otherKey, otherSecret, append([]string{"token", raw}, pairs...)...)
}

func TestIntrospectionOfATokenWithUses(t *testing.T) {
	w := newWorld(t)
	w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"reader"}})
	ends := time.Now().Add(time.Hour).Truncate(time.Second)
	raw := w.record(t, acmeKey, "acme", "ann", 1, func(c *token.Claims) {
		c.Expires, c.Scope = ends, []string{"admin.read"}
	})
	for range 5 { // more than there are uses
		a := w.send(t, askAbout(raw, "token_type_hint", "access_token"))
		want(t, a, 200, "")
		var got map[string]any
		if err := json.Unmarshal([]byte(a.text), &got); err != nil {
			t.Fatal(err)
		}
		delete(got, "jti")
		delete(got, "iat")
		if diff := cmp.Diff(map[string]any{
			"active": true, "scope": "admin.read object.read.c_note", "client_id": acmeKey, "token_type": "Bearer", "exp": float64(ends.Unix()),
			"sub": "ann", "aud": "https://api.example.test/base/acme/v2", "iss": acmeKey,
		}, got); diff != "" {
			t.Fatal(diff)
		}
	}
	if status := w.me(t, "acme", raw); status != 200 {
		t.Errorf("the use is spent: %d", status)
	}
	if a := w.send(t, askAbout(raw)); a.Active || a.text != `{"active":false}` {
		t.Errorf("after the last use: %s", a.text)
	}
}

func TestIntrospectionAgreesWithTheGuard(t *testing.T) {
	w := newWorld(t)
	foreign := w.record(t, globexKey, "globex", "gus", 0)
	revoked := w.record(t, acmeKey, "acme", "ann", 0)
	want(t, w.send(t, ask("/base/acme/v2/oauth/revoke", acmeKey, acmeSecret, "token", revoked)), 200, "")
	later := w.record(t, acmeKey, "acme", "ann", 0, func(c *token.Claims) { c.NotBefore = time.Now().Add(time.Hour) })
	ofNobody := w.record(t, acmeKey, "acme", "nobody", 0)
	good := w.token(t).Token
	for _, c := range []struct {
		name, raw string
		active    bool
	}{
		{"an ephemeral token", good, true},
		{"a permanent token", w.record(t, acmeKey, "acme", "ann", 0), true},
		{"O30 a token of another org", foreign, false},
		{"O30 a token of another org's account", w.record(t, acmeKey, "acme", "gus", 0), false},
		{"a revoked token", revoked, false},
		{"a token that is not valid yet", later, false},
		{"a token of an account that does not exist", ofNobody, false},
		{"no token", "x", false},
		{"an altered token", good[:len(good)-2] + "xx", false},
		{"two tokens", good + " " + good, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := w.send(t, askAbout(c.raw))
			want(t, a, 200, "")
			if a.Active != c.active || !c.active && a.text != `{"active":false}` {
				t.Errorf("got %s", a.text)
			}
			if status := w.me(t, "acme", c.raw); (status == 200) != c.active {
				t.Errorf("the Guard answers %d", status)
			}
		})
	}
	t.Run("O30 a client of another org", func(t *testing.T) {
		q := ask("/base/acme/v2/oauth/introspect", globexKey, globexSecret, "token", foreign)
		want(t, w.send(t, q), 401, "invalid_client")
		q = ask("/base/globex/v2/oauth/introspect", globexKey, globexSecret, "token", good)
		if a := w.send(t, q); a.status != 200 || a.text != `{"active":false}` {
			t.Errorf("got %d %s", a.status, a.text)
		}
	})
	t.Run("without a token", func(t *testing.T) {
		want(t, w.send(t, askAbout("")), 400, "invalid_request")
	})
	t.Run("O27 after its app was disabled", func(t *testing.T) {
		w.directory.PutApp(auth.App{ClientKey: acmeKey, Org: "acme", Disabled: true})
		if a := w.send(t, askAbout(good)); a.status != 200 || a.Active {
			t.Errorf("got %d %s", a.status, a.text)
		}
	})
}

func TestRevocation(t *testing.T) {
	w := newWorld(t)
	askToEnd := func(raw string) question { return ask("/base/acme/v2/oauth/revoke", acmeKey, acmeSecret, "token", raw) }
	for _, c := range []struct {
		name   string
		raw    string
		org    string
		status int
		code   string
		after  int
	}{
		{"a permanent token", w.record(t, acmeKey, "acme", "ann", 0), "acme", 200, "", 401},
		{"a limited-use token", w.record(t, acmeKey, "acme", "ann", 3), "acme", 200, "", 401},
		{"O31 a token of another app", w.record(t, otherKey, "acme", "ann", 0), "acme", 200, "", 200},
		{"O31 a token of another org", w.record(t, globexKey, "globex", "gus", 0), "globex", 200, "", 200},
		{"O31 no token", "x", "acme", 200, "", 401},
		{"an ephemeral token", w.token(t).Token, "acme", 400, "unsupported_token_type", 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 2 {
				a := w.send(t, askToEnd(c.raw))
				want(t, a, c.status, c.code)
				if c.status == 200 && a.text != "{}" {
					t.Errorf("got %s", a.text)
				}
			}
			if status := w.me(t, c.org, c.raw); status != c.after {
				t.Errorf("afterwards the token is answered with %d", status)
			}
		})
	}
	t.Run("without a token", func(t *testing.T) {
		want(t, w.send(t, askToEnd("")), 400, "invalid_request")
	})
	t.Run("a token that is not valid yet", func(t *testing.T) {
		begins := time.Now().Add(62 * time.Second)
		raw := w.record(t, acmeKey, "acme", "ann", 0, func(c *token.Claims) { c.NotBefore = begins })
		want(t, w.send(t, askToEnd(raw)), 200, "")
		if live, _, err := w.ledger.List(t.Context(), token.Holder{Org: "acme", ClientKey: acmeKey, Subject: "ann"}, token.Position{}, token.MaxPage); err != nil || len(live) > 0 {
			t.Errorf("%d records, %v", len(live), err)
		}
	})
	t.Run("a token of a disabled account", func(t *testing.T) {
		raw := w.record(t, acmeKey, "acme", "bob", 0)
		w.directory.PutAccount(auth.Account{ID: "bob", Org: "acme", Disabled: true})
		want(t, w.send(t, askToEnd(raw)), 200, "")
		w.directory.PutAccount(auth.Account{ID: "bob", Org: "acme"})
		if status := w.me(t, "acme", raw); status != 401 {
			t.Errorf("afterwards the token is answered with %d", status)
		}
	})
}

// lost is a ledger that does not answer.
type lost struct{ token.Ledger }

func (lost) Get(context.Context, token.Holder, string) (token.Record, error) {
	return token.Record{}, http.ErrServerClosed
}

func (lost) Revoke(context.Context, token.Holder, string) error { return http.ErrServerClosed }

func TestLedgers(t *testing.T) {
	end := func(raw string) question { return ask("/base/acme/v2/oauth/revoke", acmeKey, acmeSecret, "token", raw) }
	w := newWorld(t, func(w *world) { w.bearer.Ledger = lost{w.ledger} })
	raw := w.record(t, acmeKey, "acme", "ann", 0)
	want(t, w.send(t, askAbout(raw)), 503, "temporarily_unavailable")
	want(t, w.send(t, end(raw)), 503, "temporarily_unavailable")
	w = newWorld(t, func(w *world) { w.bearer.Ledger = nil })
	raw = w.record(t, acmeKey, "acme", "ann", 0)
	if a := w.send(t, askAbout(raw)); a.Active {
		t.Error("without a ledger a token with a jti is active")
	}
	want(t, w.send(t, end(raw)), 400, "unsupported_token_type")
}

func TestWhatEndsEndsIntrospection(t *testing.T) {
	for name, end := range map[string]func(*world){
		"its subject is disabled": func(w *world) { w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Disabled: true}) },
		"the tokens of its subject end": func(w *world) {
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", TokensFrom: time.Now().Add(time.Minute)})
		},
		"its key pair is replaced": func(w *world) {
			if _, err := w.keys.Generate(t.Context(), "acme", acmeKey); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.change(otherKey, func(c *signature.Credential) { c.Account = "bob" })
			w.directory.PutAccount(auth.Account{ID: "bob", Org: "acme"})
			for _, raw := range []string{w.token(t).Token, w.record(t, acmeKey, "acme", "ann", 0), w.record(t, acmeKey, "acme", "ann", 2)} {
				if a := w.send(t, askAbout(raw)); !a.Active {
					t.Fatalf("before: %d %s", a.status, a.text)
				}
				defer func() {
					if a := w.send(t, askAbout(raw)); a.status != 200 || a.text != `{"active":false}` {
						t.Errorf("got %d %s", a.status, a.text)
					}
				}()
			}
			end(w)
		})
	}
}

// TestNoMoreThanTheClient checks by many clients and wishes that a token never does more than its
// client could do by itself.
func TestNoMoreThanTheClient(t *testing.T) {
	w := newWorld(t)
	sets := []string{"*", "object.read", "object.read.c_note", "object.*.c_note", "admin.read", "script.runner", "object.read.c_note admin.read"}
	for _, own := range sets {
		for _, wish := range append(sets, "") {
			w.change(acmeKey, func(c *signature.Credential) { c.Scope = fields(own) })
			a := w.send(t, askToken("scope", wish))
			client, err := scope.Compile("client", fields(own)...)
			if err != nil {
				t.Fatal(err)
			}
			if a.Token == "" {
				wished, _ := scope.Compile("wish", fields(wish)...)
				if a.Error != "invalid_scope" || client.Missing(wished) == nil {
					t.Errorf("%s for a client of %s: %s", wish, own, a.text)
				}
				continue
			}
			if status := w.me(t, "acme", a.Token); status != 200 || client.Missing(w.last.Scope) != nil {
				t.Errorf("%s for a client of %s: %d, beyond by %v", wish, own, status, client.Missing(w.last.Scope))
			}
		}
	}
}

// The chains of roles have no bound of their own, and anybody in the org may ask.
func TestO46TheReplyAboutATokenIsBounded(t *testing.T) {
	w := newWorld(t)
	var roles []string
	for i := range 4 {
		role := auth.Role{Name: fmt.Sprint("r", i), Scope: distinct(1000, 40+i)}
		w.directory.PutRole("acme", role)
		roles = append(roles, role.Name)
	}
	w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: roles})
	a := w.send(t, askAbout(w.record(t, acmeKey, "acme", "ann", 0, func(c *token.Claims) { c.Scope = []string{"admin.read"} })))
	t.Logf("%d bytes about a scope of %d", len(a.text), 4*1000*41)
	if !a.Active || len(a.text) > 65<<10 || !strings.HasPrefix(a.Scope, "admin.read object.read.c_0xxx") || strings.HasSuffix(a.Scope, " ") {
		t.Errorf("%d bytes: %.80s", len(a.text), a.text)
	}
}
