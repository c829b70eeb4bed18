package main

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A change by one request is seen by the next one, although the Guard has a cache.
// Each case first sends a request that fills the cache.
func TestChangesHoldForTheNextRequest(t *testing.T) {
	t.Parallel()
	s := start(t)
	const password = "correct horse"
	newAccount := func(t *testing.T, name, roles string) string {
		return s.account(t, `{"email":"`+name+`@acme.example","password":"`+password+`","roles":[`+roles+`]}`)["_id"].(string)
	}
	me := call{path: "/accounts/me"}
	patch := func(t *testing.T, path, body string) { s.as(t, "", "PATCH", path, body).ok(t) }

	for name, end := range map[string]func(t *testing.T, app string){
		"an app is disabled": func(t *testing.T, app string) { patch(t, app, `{"disabled":true}`) },
		"an app is deleted":  func(t *testing.T, app string) { s.as(t, "", "DELETE", app, "").ok(t) },
	} {
		t.Run(name, func(t *testing.T) {
			by := s.signer(s.app(t, `"account":"`+s.AccountID+`"`))
			one := "/apps/" + by.ClientKey
			s.as(t, "", "POST", one+"/keypair", "").ok(t)
			token := by.mint(t, "", wish(s.AccountID, ""))["token"].(string)
			by.do(t, me).ok(t)
			s.bearing(t, token, "GET", me.path, "").ok(t)
			end(t, one)
			s.refused(t, by.do(t, me), 401, "accessDenied.invalidRequestSignature")
			s.refused(t, s.bearing(t, token, "GET", me.path, ""), 401, "accessDenied.invalidJwt")
		})
	}
	t.Run("a secret ends", func(t *testing.T) {
		by := s.signer(s.app(t, `"account":"`+s.AccountID+`"`))
		by.do(t, me).ok(t)
		s.as(t, "", "POST", "/apps/"+by.ClientKey+"/secret", `{"grace":0}`).ok(t)
		s.refused(t, by.do(t, me), 401, "accessDenied.invalidRequestSignature")
	})
	t.Run("a signing key is narrowed", func(t *testing.T) {
		by := s.signer(s.app(t, `"account":"`+s.AccountID+`"`))
		by.do(t, call{path: "/c_messages?limit=1"}).ok(t)
		patch(t, "/apps/"+by.ClientKey, `{"credential":{"scope":["object.read.connection"]}}`)
		got := by.do(t, call{path: "/c_messages?limit=1"})
		got.header.Del("WWW-Authenticate")
		s.refused(t, got, 403, "accessDenied.scope")
	})
	t.Run("a key pair is replaced", func(t *testing.T) {
		by := s.signer(s.app(t, `"account":"`+s.AccountID+`"`))
		s.as(t, "", "POST", "/apps/"+by.ClientKey+"/keypair", "").ok(t)
		token := by.mint(t, "", wish(s.AccountID, ""))["token"].(string)
		s.bearing(t, token, "GET", me.path, "").ok(t)
		s.as(t, "", "POST", "/apps/"+by.ClientKey+"/keypair", "").ok(t)
		s.refused(t, s.bearing(t, token, "GET", me.path, ""), 401, "accessDenied.invalidJwt")
	})
	for name, end := range map[string]func(t *testing.T, id string){
		"an account is deactivated": func(t *testing.T, id string) { s.as(t, "", "POST", "/admin/accounts/"+id+"/deactivate", "").ok(t) },
		"an account is disabled":    func(t *testing.T, id string) { patch(t, "/admin/accounts/"+id, `{"disabled":true}`) },
	} {
		t.Run(name, func(t *testing.T) {
			login := strings.ReplaceAll(name, " ", "")
			id := newAccount(t, login, `"member"`)
			token := s.mint(t, "", wish(id, ""))["token"].(string)
			by := s.signer(s.app(t, `"account":"`+id+`"`))
			b := s.browser(t)
			b.post(t, "/accounts/login", value{"email": login + "@acme.example", "password": password}).ok(t)
			s.bearing(t, token, "GET", me.path, "").ok(t)
			by.do(t, me).ok(t)
			b.get(t, me.path).ok(t)
			end(t, id)
			s.refused(t, s.bearing(t, token, "GET", me.path, ""), 401, "accessDenied.invalidJwt")
			s.refused(t, by.do(t, me), 401, "accessDenied.invalidRequestSignature")
			s.refused(t, b.get(t, me.path), 401, "accessDenied.sessionExpired")
		})
	}
	t.Run("the tokens of an account are ended", func(t *testing.T) {
		id := newAccount(t, "ended", `"member"`)
		token := s.mint(t, "", wish(id, ""))["token"].(string)
		s.bearing(t, token, "GET", me.path, "").ok(t)
		patch(t, "/admin/accounts/"+id, `{"tokensFrom":"`+time.Now().Add(3*time.Second).UTC().Format(dateLayout)+`"}`)
		s.refused(t, s.bearing(t, token, "GET", me.path, ""), 401, "accessDenied.invalidJwt")
	})
	t.Run("an account loses a role", func(t *testing.T) {
		id := newAccount(t, "demoted", `"administrator"`)
		token := s.mint(t, "", wish(id, ""))["token"].(string)
		s.bearing(t, token, "GET", "/apps", "").ok(t)
		patch(t, "/admin/accounts/"+id, `{"roles":["member"]}`)
		s.refused(t, s.bearing(t, token, "GET", "/apps", ""), 403, "accessDenied.unspecified")
	})
	for name, end := range map[string]func(t *testing.T, role string){
		"a role has fewer chains": func(t *testing.T, role string) { patch(t, role, `{"scope":["object.read.connection"]}`) },
		"a role is deleted":       func(t *testing.T, role string) { s.as(t, "", "DELETE", role, "").ok(t) },
	} {
		t.Run(name, func(t *testing.T) {
			role := strings.ReplaceAll(name, " ", "")
			s.as(t, "", "POST", "/admin/roles", `{"name":"`+role+`","scope":["object.read.c_message"]}`).ok(t)
			id := newAccount(t, role, `"`+role+`"`)
			token := s.mint(t, "", `{"sub":"`+id+`","scope":[]}`)["token"].(string)
			s.bearing(t, token, "GET", "/c_messages?limit=1", "").ok(t)
			end(t, "/admin/roles/"+role)
			s.scopeRefused(t, s.bearing(t, token, "GET", "/c_messages?limit=1", ""), "object.read.c_message")
		})
	}
	t.Run("a role is there that was not", func(t *testing.T) {
		got := s.as(t, "", "POST", s.tokensPath(), wish(s.AccountID, `,"roles":["later"]`))
		s.refused(t, got, 404, "notFound.unspecified")
		s.as(t, "", "POST", "/admin/roles", `{"name":"later","scope":[]}`).ok(t)
		s.mint(t, "", wish(s.AccountID, `,"roles":["later"]`))
	})
	t.Run("sessions take a second factor", func(t *testing.T) { // last, because all later logins need one
		login := value{"email": s.AccountEmail, "password": s.AccountPassword}
		s.browser(t).post(t, "/accounts/login", login).ok(t)
		patch(t, "/admin/settings", `{"requireSecondFactor":true}`)
		s.refused(t, s.browser(t).post(t, "/accounts/login", login), 403, "accessDenied.unverifiedLocation")
	})
}

// TestWhatIsWrittenIsForgotten checks each function that writes what the Guard
// looks up. It must go through locked, make the cache forget the org itself, or write in
// what its caller gives it: a transaction, which only locked begins on these tables.
func TestWhatIsWrittenIsForgotten(t *testing.T) {
	t.Parallel()
	// %s and at.table stand for the table of a row.
	writes := regexp.MustCompile(`(INSERT INTO|UPDATE|DELETE FROM) (platform_(orgs|apps|accounts|roles)\b|%s |"\+at\.table)`)
	givenTx := regexp.MustCompile(`^[^{]*\b(tx \*sql\.Tx|db writer)\b`)
	takesBack := map[string]bool{"takesWrites": true} // the Guard never looks up what it writes
	files, _ := filepath.Glob("*.go")                 // the pattern is well-formed
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			body := string(text[set.Position(f.Pos()).Offset:set.Position(f.End()).Offset])
			if strings.Contains(body, "inTx(ctx, s.db") && f.Name.Name != "locked" && f.Name.Name != "alone" {
				t.Errorf("%s: %s begins a transaction beside locked", name, f.Name.Name)
			}
			if !writes.MatchString(body) || takesBack[f.Name.Name] {
				continue
			}
			found++
			if !strings.Contains(body, "s.locked(") && !strings.Contains(body, "s.reported(") && !strings.Contains(body, ".together(") && !givenTx.MatchString(body) && !strings.Contains(body, "s.found.Invalidate(") {
				t.Errorf("%s: %s writes what the Guard looks up, and does not have it forgotten", name, f.Name.Name)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d functions write: have the tables been renamed?", found)
	}
}

// TestWhatTheGuardAsksTheDatabaseFor takes all of the Guard's connections away. A
// request that needs a statement then gets no answer. CAPACITY.md states which ones
// do, for -db memory:.
func TestWhatTheGuardAsksTheDatabaseFor(t *testing.T) {
	t.Parallel()
	s, p := inside(t)
	b := s.browser(t)
	b.post(t, "/accounts/login", value{"email": s.AccountEmail, "password": s.AccountPassword}).ok(t)
	request := func(prepare func(*http.Request)) *http.Request {
		r, err := http.NewRequest("GET", s.BaseURL+"/"+s.Org+"/v2/c_messages?limit=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		prepare(r)
		return r
	}
	bearer := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	answered := func(prepare func(*http.Request), within time.Duration) bool {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		reply, err := http.DefaultClient.Do(request(prepare).WithContext(ctx))
		if err != nil {
			return false
		}
		defer reply.Body.Close()
		return reply.StatusCode == http.StatusOK
	}
	for _, test := range []struct {
		name  string
		with  func(*http.Request)
		needs bool
	}{
		{"a bearer token that is ephemeral", bearer(s.EphemeralToken), false},
		{"a bearer token with a use count", bearer(s.LimitedToken), true},
		{"a signature", func(r *http.Request) { s.sign(r, "/c_messages", s.ClientKey, s.ClientSecret) }, true},
		{"a session", func(r *http.Request) {
			for _, c := range b.jar.Cookies(r.URL) {
				r.AddCookie(c)
			}
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			held := func(within time.Duration) bool {
				if !answered(test.with, patience) { // the cache is fresh
					t.Fatal("refused")
				}
				for range guardConnections {
					conn, err := p.store.guarded.Conn(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					defer conn.Close()
				}
				return answered(test.with, within)
			}
			if test.needs {
				if held(100 * time.Millisecond) {
					t.Error("answered without the database")
				}
				return
			}
			// On a busy machine the cache may have become stale.
			for range 20 {
				if held(staleness) {
					return
				}
			}
			t.Error("not answered without the database")
		})
	}
}
