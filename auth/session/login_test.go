package session_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/scope"
)

func TestF01EachProofGetsANewToken(t *testing.T) {
	planted := "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	t.Run("F01 a cookie set before login", func(t *testing.T) {
		w := newWorld(t)
		b := w.browser()
		b.jar[cookieName] = planted
		want(t, b.login("ann", annPassword), 200, "")
		if b.cookie(cookieName) == planted {
			t.Error("the planted token became the session's")
		}
		attacker := w.browser()
		attacker.jar[cookieName] = planted
		want(t, attacker.get("/me"), 401, expired)
	})
	t.Run("F01 the attacker's own session planted before login", func(t *testing.T) {
		w := newWorld(t)
		attacker := w.browser()
		want(t, attacker.login("bob", "bob's password"), 200, "")
		victim := attacker.clone()
		want(t, victim.login("ann", annPassword), 200, "")
		want(t, attacker.get("/me"), 401, expired)
		if got := victim.get("/me"); got.data != "ann" {
			t.Errorf("acts as %v", got.data)
		}
	})
	t.Run("F01 login while signed in ends the older session", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		old := b.clone()
		want(t, b.login("ann", annPassword), 200, "")
		want(t, old.get("/me"), 401, expired)
		want(t, b.get("/me"), 200, "")
		if n := len(w.sessions("ann")); n != 1 {
			t.Errorf("%d sessions", n)
		}
	})
	t.Run("F01 step-up", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		old, id := b.clone(), w.sessions("ann")[0].ID
		w.clock.Advance(11 * time.Minute)
		want(t, b.post("/sudo"), 403, auth.DetailReauthenticate)
		want(t, b.post("/reauthenticate", "login", "ann", "password", annPassword), 200, "")
		want(t, old.get("/me"), 401, expired)
		want(t, b.post("/sudo"), 200, "")
		if got := w.sessions("ann"); len(got) != 1 || got[0].ID != id {
			t.Errorf("the session's id did not stay: %v", got)
		}
	})
	t.Run("F01 second factor", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		secret, _ := b.enrol()
		w.clock.Advance(time.Minute)
		old := b.clone()
		want(t, b.login("ann", annPassword), 403, auth.DetailSecondFactor)
		ticket := b.cookie(ticketName)
		want(t, b.post("/verify", "code", w.code(secret)), 200, "")
		if b.cookie(ticketName) != "" || b.cookie(cookieName) == ticket || b.cookie(cookieName) == old.cookie(cookieName) {
			t.Error("a token went on after the second step")
		}
		want(t, old.get("/me"), 401, expired)
	})
}

func TestStepUpIsTheAccountsOwn(t *testing.T) {
	w := newWorld(t)
	b := w.ann()
	before := b.cookie(cookieName)
	for _, pair := range [][2]string{{"bob", "bob's password"}, {"ann", "wrong"}, {"nobody", "wrong"}} {
		want(t, b.post("/reauthenticate", "login", pair[0], "password", pair[1]), 401, auth.DetailInvalidCredentials)
	}
	if b.cookie(cookieName) != before {
		t.Error("a refused step-up gave a new token")
	}
	want(t, b.get("/me"), 200, "")
}

func TestF08TriesAreSpacedOut(t *testing.T) {
	for _, login := range []string{"ann", "nobody"} {
		t.Run("F08 wrong passwords for "+login, func(t *testing.T) {
			w := newWorld(t)
			start, last := w.hasher.verified.Load(), time.Duration(0)
			refused, hashed := 0, 0
			for try := range 100 {
				b := w.browser()
				b.remote = "192.0.2." + strconv.Itoa(try) + ":1"
				got := b.login(login, "wrong")
				if try < 5 {
					want(t, got, 401, auth.DetailInvalidCredentials)
					continue
				}
				if got.status == 429 {
					want(t, got, 429, auth.DetailLocked)
					refused++
					seconds, _ := strconv.Atoi(got.header.Get("Retry-After"))
					wait := time.Duration(seconds) * time.Second
					if wait > 15*time.Minute {
						t.Fatalf("wait %s", wait)
					}
					// Just before its end the delay still refuses. At its end it does not.
					w.clock.Advance(wait - time.Millisecond)
					want(t, b.login(login, "wrong"), 429, auth.DetailLocked)
					w.clock.Advance(time.Millisecond)
					if wait < last {
						t.Errorf("the delay shrank from %s to %s", last, wait)
					}
					last = wait
					continue
				}
				want(t, got, 401, auth.DetailInvalidCredentials)
				hashed++
			}
			if last != 15*time.Minute || refused < 40 {
				t.Errorf("%d refused, the last for %s", refused, last)
			}
			if got := int(w.hasher.verified.Load() - start); got != hashed+5 {
				t.Errorf("%d hashes for %d tries that were heard", got, hashed+5)
			}
		})
	}
	t.Run("F08 the owner passes after the delay, and all is forgotten", func(t *testing.T) {
		w := newWorld(t)
		for range 50 {
			w.browser().login("ann", "wrong")
		}
		want(t, w.browser().login("ann", annPassword), 429, auth.DetailLocked)
		w.clock.Advance(time.Second)
		want(t, w.browser().login("ann", annPassword), 200, "")
		for range 5 {
			want(t, w.browser().login("ann", "wrong"), 401, auth.DetailInvalidCredentials)
		}
	})
	t.Run("F08 spelled otherwise", func(t *testing.T) {
		w := newWorld(t)
		spellings := []string{"ann", "ANN", " ann", "Ann ", "aNN\t", "\nann"}
		for try := range 30 {
			w.browser().login(spellings[try%len(spellings)], "wrong")
		}
		if n := w.hasher.verified.Load(); n > 5 {
			t.Errorf("%d hashed", n)
		}
	})
	t.Run("F08 the same name in another org", func(t *testing.T) {
		w := newWorld(t)
		for range 10 {
			w.browser().login("ann", "wrong")
		}
		want(t, w.browser().login("ann", annPassword), 429, auth.DetailLocked)
		other := w.browser()
		other.org = "globex"
		want(t, other.login("ann", "wrong"), 401, auth.DetailInvalidCredentials)
	})
	t.Run("F08 one address, many names", func(t *testing.T) {
		w := newWorld(t)
		for try := range 200 {
			b := w.browser()
			b.remote = "[2001:db8::" + strconv.FormatInt(int64(try+1), 16) + "]:1" // one subscriber
			b.login("user"+strconv.Itoa(try), "wrong")
		}
		if n := w.hasher.verified.Load(); n != 100 {
			t.Errorf("%d hashed", n)
		}
		other := w.browser()
		want(t, other.login("ann", annPassword), 200, "")
		w.clock.Advance(time.Hour)
		again := w.browser()
		again.remote = "[2001:db8::1]:1"
		want(t, again.login("bob", "wrong"), 401, auth.DetailInvalidCredentials)
	})
	t.Run("F08 an address that is refused costs the name nothing", func(t *testing.T) {
		w := newWorld(t)
		b := w.browser()
		b.remote = "198.51.100.9:1"
		for try := range 100 {
			b.login("user"+strconv.Itoa(try), "wrong")
		}
		for range 20 {
			want(t, b.login("ann", annPassword), 429, auth.DetailLocked)
		}
		want(t, w.browser().login("ann", annPassword), 200, "")
	})
}

func TestF08ParallelTries(t *testing.T) {
	for _, login := range []string{"ann", "nobody"} {
		t.Run("F08 100 at once for "+login, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, realTime, func(w *world) { w.hasher.hold = func() { time.Sleep(time.Second) } })
				var all sync.WaitGroup
				for range 100 {
					all.Go(func() { w.browser().login(login, "wrong") })
				}
				all.Wait()
				if n := w.hasher.verified.Load(); n > 5 {
					t.Errorf("%d of 100 were hashed", n)
				}
			})
		})
	}
}

func TestF11OneBodyOneHash(t *testing.T) {
	w := newWorld(t)
	w.directory.PutAccount(auth.Account{ID: "off", Org: "acme", Disabled: true})
	w.stores.passwords["acme/off"] = "off's password"
	w.stores.passwords["acme/gone"] = "gone's password"
	w.browser().login("warm", "up") // makes the dummy for unknown accounts, once
	body := ""
	for name, pair := range map[string][2]string{
		"F11 unknown account":                   {"nobody", "wrong"},
		"F11 wrong password":                    {"ann", "wrong"},
		"F11 an account of another org":         {"gus", "gus's password"},
		"F11 right password, disabled account":  {"off", "off's password"},
		"F11 right password, no such account":   {"gone", "gone's password"},
		"F11 a login of another shape, unknown": {"' OR 1=1 --", "wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			hashes := w.hasher.verified.Load() + w.hasher.hashed.Load()
			got := w.browser().login(pair[0], pair[1])
			want(t, got, 401, auth.DetailInvalidCredentials)
			if body == "" {
				body = got.body
			}
			if got.body != body || sets(got) != "" {
				t.Errorf("answers differ: %s", got.body)
			}
			if n := w.hasher.verified.Load() + w.hasher.hashed.Load() - hashes; n != 1 {
				t.Errorf("%d hashes", n)
			}
		})
	}
}

// A disabled account is refused, whether it has a second factor or not.
func TestDisabledAccountsGetNoTicket(t *testing.T) {
	for name, alter := range map[string]func(*world){
		"without a factor":     func(*world) {},
		"with one":             func(w *world) { w.ann().enrol() },
		"and the org wants it": org(func(o *auth.Org) { o.Session.SecondFactor = true }),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			alter(w)
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Disabled: true})
			for _, account := range []string{"ann", "nobody"} {
				b := w.browser()
				want(t, b.post("/start", "account", account), 401, auth.DetailInvalidCredentials)
				want(t, b.login(account, annPassword), 401, auth.DetailInvalidCredentials)
				if len(b.jar) > 0 {
					t.Errorf("%s: cookies %v", account, b.jar)
				}
			}
		})
	}
}

func TestLoginBounds(t *testing.T) {
	w := newWorld(t)
	long := func(n int) string { return string(make([]byte, n)) }
	for _, pair := range [][2]string{{"", "x"}, {"ann", ""}, {long(257), "x"}, {"ann", long(1025)}} {
		want(t, w.browser().login(pair[0], pair[1]), 401, auth.DetailInvalidCredentials)
	}
	if n := w.hasher.verified.Load(); n != 0 {
		t.Errorf("%d hashed", n)
	}
}

func TestPasswordsAreTakenAsTheyAre(t *testing.T) {
	// Passwords that some normalization would make equal. They must stay different.
	passwords := map[string][]string{
		" a b ":                   {"a b", " a  b ", "a b ", " a b"},
		"a b":                     {"a\tb", "a\u00a0b", "ab", "a+b"},
		"p\u00e4ssw\u00f6rd 🙂":    {"pa\u0308sswo\u0308rd 🙂", "password 🙂", "p\u00e4ssw\u00f6rd ?", "P\u00c4SSW\u00d6RD 🙂"},
		"pa\u0308sswo\u0308rd":    {"p\u00e4ssw\u00f6rd"},
		"stra\u00dfe":             {"strasse", "STRASSE"},
		"\uff50assword":           {"password"},
		"PASSWORD":                {"password", "Password", "PASSWORd"},
		"password":                {"PASSWORD", "Password"},
		"a\x00b":                  {"a", "a\x00", "a\x00c", "ab"},
		"\xff\xfe":                {"\ufffd\ufffd", "\xff\xff", "\ufffd", "\u00ff\u00fe"},
		strings.Repeat("é", 64):   {strings.Repeat("é", 36), strings.Repeat("é", 65)},
		strings.Repeat("a", 72):   {strings.Repeat("a", 73)},
		strings.Repeat("a", 128):  {strings.Repeat("a", 127) + "b", strings.Repeat("a", 129)},
		strings.Repeat("a", 1024): {strings.Repeat("a", 1025), strings.Repeat("a", 1023) + "b"},
		"%41&=+":                  {"A&=+", "%41&= ", "%2541&=+"},
		"a\r\nb":                  {"a\nb", "a\rb"},
		"0123":                    {"123", "0123.0"},
	}
	for password, others := range passwords {
		w := newWorld(t, func(w *world) { w.manager.Hasher, w.manager.MinPassword = session.PBKDF2{Iterations: 1}, 1 })
		w.stores.passwords["acme/ann"] = must(w.manager.Passwords().Hash(t.Context(), password))
		want(t, w.browser().login("ann", password), 200, "")
		for _, other := range append(others, password+" ", " "+password, password+"\n", password[:len(password)-1]) {
			if reply := w.browser().login("ann", other); reply.status != 401 {
				t.Errorf("V6.2.8 %+q passes for %+q", other, password)
			}
			w.clock.Advance(time.Hour)
		}
	}
}

// If the password changes while a login verifies it, no session by the old password
// remains. The same holds for a step-up and for the second step of a login.
func TestProofsAreAsOldAsTheirPassword(t *testing.T) {
	change := func(w *world) func() {
		return sync.OnceFunc(func() {
			w.clock.Advance(time.Second)
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Changed: w.clock.Now()})
			w.clock.Advance(time.Second)
		})
	}
	t.Run("login", func(t *testing.T) {
		w := newWorld(t)
		w.hasher.hold = change(w)
		b := w.browser()
		want(t, b.login("ann", annPassword), 401, auth.DetailInvalidCredentials)
		want(t, b.get("/me"), 401, auth.DetailNoCredentials)
	})
	t.Run("step-up", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		w.hasher.hold = change(w)
		b.post("/reauthenticate", "login", "ann", "password", annPassword)
		want(t, b.get("/me"), 401, expired)
	})
	t.Run("second step", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		secret, _ := b.enrol()
		w.clock.Advance(time.Minute)
		want(t, b.login("ann", annPassword), 403, auth.DetailSecondFactor)
		w.stores.before["Save"] = change(w)
		b.post("/verify", "code", w.code(secret))
		want(t, b.get("/me"), 401, expired)
	})
}

func TestRehash(t *testing.T) {
	w := newWorld(t)
	w.hasher.rehash = true
	want(t, w.browser().login("ann", annPassword), 200, "") // of a Passwords without Rehash
	r := &rehasher{stores: w.stores}
	w.manager.PasswordStore = r
	for _, err := range []error{nil, errors.New("read-only")} {
		r.err = err
		want(t, w.browser().login("ann", annPassword), 200, "")
	}
	want(t, w.browser().login("ann", "wrong"), 401, auth.DetailInvalidCredentials)
	if len(r.calls) != 2 || r.calls[0] != "acme ann "+annPassword+" "+annPassword {
		t.Errorf("calls %q", r.calls)
	}
}

type rehasher struct {
	*stores
	calls []string
	err   error
}

func (r *rehasher) Rehash(ctx context.Context, org auth.OrgKey, account, old, encoded string) error {
	r.calls = append(r.calls, string(org)+" "+account+" "+old+" "+encoded)
	return r.err
}

// A password that is returned beside an error is ignored, and costs a hash all the same.
func TestF11WhatIsNotFoundHasNoPassword(t *testing.T) {
	w := newWorld(t)
	w.browser().login("warm", "up")
	w.manager.PasswordStore = careless{}
	hashes := w.hasher.verified.Load()
	want(t, w.browser().login("ann", annPassword), 401, auth.DetailInvalidCredentials)
	if n := w.hasher.verified.Load() - hashes; n != 1 {
		t.Errorf("%d hashes", n)
	}
}

// careless is a Passwords that returns values beside an error.
type careless struct{}

func (careless) Password(context.Context, auth.OrgKey, string) (account, encoded string, err error) {
	return "ann", annPassword, auth.ErrNotFound
}

func TestAPasswordThatChangesWhileItIsHashed(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(w *world)
		status    int
		detail    string
	}{
		"to another one":      {func(w *world) { w.stores.passwords["acme/ann"] = "another" }, 429, auth.DetailThrottled},
		"to none":             {func(w *world) { delete(w.stores.passwords, "acme/ann") }, 429, auth.DetailThrottled},
		"and its store fails": {func(w *world) { w.stores.set("Password", errors.New("no disk")) }, 503, auth.DetailUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.hasher.hold = sync.OnceFunc(func() { c.meanwhile(w) })
			want(t, w.browser().login("ann", annPassword), c.status, c.detail)
			if n := len(w.sessions("ann")); n != 0 {
				t.Errorf("%d sessions", n)
			}
		})
	}
}

// M06: a credential that can do less than a session does not create one, nor a ticket.
func TestM06NoSessionFromAnotherCredential(t *testing.T) {
	w := newWorld(t)
	by := auth.Principal{Org: "acme", Account: "ann", Mechanism: "bearer", Granted: scope.Unscoped(), Scope: scope.Unscoped()}
	for name, alter := range map[string]func(*auth.Principal){
		"a token":                       func(p *auth.Principal) { p.App, p.Expires = "app", time.Now().Add(time.Hour) },
		"a permanent token":             func(p *auth.Principal) { p.App, p.TokenID = "app", "jti" },
		"a limited-use token":           func(p *auth.Principal) { p.App, p.TokenID, p.Limited = "app", "jti", true },
		"a token while a view runs":     func(p *auth.Principal) { p.App, p.Granted = "app", scope.Set{} },
		"a signature":                   func(p *auth.Principal) { p.App, p.Authenticated = "app", time.Now() },
		"somebody else, proven without": func(p *auth.Principal) { p.Account, p.Authenticated = "bob", time.Now() },
	} {
		t.Run(name, func(t *testing.T) {
			p := by
			alter(&p)
			w.manager.Store.DeleteOrg(t.Context(), "acme")
			reply := w.as(t, p, func(rw http.ResponseWriter, r *http.Request) {
				_, err := w.manager.Start(rw, r, "ann", w.proof(r))
				if e, ok := errors.AsType[*auth.Error](err); !ok || e.Detail != auth.DetailDelegation {
					t.Errorf("Start: %v", err)
				}
				// A verified address could become the account's password.
				_, err = w.manager.Mail().AddressTicket(r, "ann", "ann@example.test")
				if e, ok := errors.AsType[*auth.Error](err); !ok || e.Detail != auth.DetailDelegation {
					t.Errorf("AddressTicket: %v", err)
				}
			})
			if cookies := reply.Header()["Set-Cookie"]; len(cookies) > 0 {
				t.Errorf("cookies %q", cookies)
			}
			if open, err := w.manager.Store.List(t.Context(), "acme", "ann"); len(open) > 0 || err != nil {
				t.Errorf("%d records, %v", len(open), err)
			}
		})
	}
	t.Run("nobody yet, and a session", func(t *testing.T) {
		for _, p := range []auth.Principal{{}, {Org: "acme", Account: "ann", SessionID: "x", Mechanism: session.Name, Authenticated: w.now()}} {
			w.as(t, p, func(rw http.ResponseWriter, r *http.Request) {
				if _, err := w.manager.Start(rw, r, "ann", w.proof(r)); err != nil {
					t.Errorf("Start: %v", err)
				}
				if _, err := w.manager.Mail().AddressTicket(r, "ann", "ann@example.test"); err != nil {
					t.Errorf("AddressTicket: %v", err)
				}
			})
		}
	})
}

// as calls a handler as the Guard does for a request of this principal.
func (w *world) as(t *testing.T, p auth.Principal, handler http.HandlerFunc) *httptest.ResponseRecorder {
	t.Helper()
	reply := httptest.NewRecorder()
	w.guard.Mount(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		handler(rw, r.WithContext(auth.With(r.Context(), p)))
	})).ServeHTTP(reply, httptest.NewRequest("POST", "/acme/v2/", nil))
	return reply
}
