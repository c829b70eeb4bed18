package session_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

const invalidCode = auth.DetailInvalidCode

// pending returns a browser with a ticket for ann's second factor, and the factor's
// secret and recovery codes.
func (w *world) pending() (*browser, session.FactorSecret, []string) {
	w.t.Helper()
	secret, recovery := w.ann().enrol()
	w.clock.Advance(time.Minute)
	return w.ticket(), secret, recovery
}

// ticket returns a browser with a new ticket of ann.
func (w *world) ticket() *browser {
	w.t.Helper()
	b := w.browser()
	got := b.login("ann", annPassword)
	want(w.t, got, 403, auth.DetailSecondFactor)
	if sets(got) != "+"+ticketName || got.reason != "code" {
		w.t.Errorf("cookies %q, reason %q", sets(got), got.reason)
	}
	return b
}

func TestF06TheSecondFactorIsPending(t *testing.T) {
	w := newWorld(t)
	b, secret, _ := w.pending()
	t.Run("F06 protected routes", func(t *testing.T) {
		for _, path := range []string{"/me", "/sudo", "/reauthenticate", "/remove"} {
			want(t, b.post(path, "login", "ann", "password", annPassword, "code", w.code(secret)), 401, auth.DetailNoCredentials)
		}
	})
	t.Run("F06 public and optional routes", func(t *testing.T) {
		want(t, b.get("/status"), 200, "")
		if got := b.get("/maybe"); got.status != 200 || got.data != "" {
			t.Errorf("got %d %v", got.status, got.data)
		}
	})
	t.Run("F06 enrolment with a ticket for a code", func(t *testing.T) {
		want(t, b.post("/enrol"), 401, auth.DetailNoCredentials)
		want(t, b.post("/confirm", "code", w.code(secret)), 401, auth.DetailNoCredentials)
	})
	t.Run("F06 the ticket as a session", func(t *testing.T) {
		thief := w.browser()
		thief.jar[cookieName] = b.cookie(ticketName)
		want(t, thief.get("/me"), 401, expired)
	})
	t.Run("F06 a session as a ticket", func(t *testing.T) {
		bob := w.browser()
		want(t, bob.login("bob", "bob's password"), 200, "")
		thief := w.browser()
		thief.jar[ticketName] = bob.cookie(cookieName)
		want(t, thief.post("/verify", "code", w.code(secret)), 401, invalidCode)
	})
	t.Run("F06 a ticket of another org", func(t *testing.T) {
		foreign := w.browser()
		foreign.org, foreign.jar["__Host-ticket-globex"] = "globex", b.cookie(ticketName)
		want(t, foreign.post("/verify", "code", w.code(secret)), 401, invalidCode)
	})
	t.Run("F06 two tickets", func(t *testing.T) {
		want(t, b.do("POST", "/verify", form("code", w.code(secret)), "Cookie", ticketName+"=x"), 401, invalidCode)
	})
	t.Run("F06 login again", func(t *testing.T) {
		want(t, b.login("ann", annPassword), 403, auth.DetailSecondFactor)
		want(t, b.login("bob", "bob's password"), 200, "")
		if b.cookie(ticketName) != "" {
			t.Error("the ticket stayed beside a session")
		}
	})
	t.Run("F06 both steps in one request", func(t *testing.T) {
		w.clock.Advance(time.Minute)
		b := w.browser()
		want(t, b.login("ann", annPassword, "code", w.wrong(secret)), 401, invalidCode)
		want(t, b.login("ann", "wrong", "code", w.code(secret)), 401, auth.DetailInvalidCredentials)
		want(t, b.login("ann", annPassword, "code", w.code(secret)), 200, "")
		want(t, b.get("/me"), 200, "")
	})
	t.Run("F06 proven elsewhere", func(t *testing.T) {
		w.clock.Advance(time.Minute)
		b := w.browser()
		want(t, b.post("/start", "account", "ann"), 403, auth.DetailSecondFactor)
		want(t, b.get("/me"), 401, auth.DetailNoCredentials)
		want(t, b.post("/verify", "code", w.code(secret)), 200, "")
	})
	t.Run("F06b an expired cookie", func(t *testing.T) {
		b := w.browser()
		want(t, b.login("bob", "bob's password"), 200, "")
		w.clock.Advance(time.Hour)
		old := b.clone()
		if got := b.get("/maybe"); got.status != 200 || got.data != "" || len(got.cookies) > 0 {
			t.Errorf("F06b on an optional route: got %d %v %q", got.status, got.data, sets(got))
		}
		want(t, old.clone().login("bob", "bob's password"), 200, "")
		got := b.get("/me")
		want(t, got, 401, expired)
		if sets(got) != "-"+cookieName {
			t.Errorf("F06b on a protected route: cookies %q", sets(got))
		}
	})
}

func TestF07CodesServeOnce(t *testing.T) {
	t.Run("F07 one code twice", func(t *testing.T) {
		w := newWorld(t)
		b, secret, _ := w.pending()
		other := w.ticket()
		want(t, b.post("/verify", "code", w.code(secret)), 200, "")
		want(t, other.post("/verify", "code", w.code(secret)), 401, invalidCode)
		w.clock.Advance(30 * time.Second) // the clock still allows the code, but it was used
		want(t, other.post("/verify", "code", w.manager.Code(secret, w.clock.Now().Unix()/30-1)), 401, invalidCode)
		want(t, other.post("/verify", "code", w.code(secret)), 200, "")
	})
	t.Run("F07 the code that confirmed the enrolment", func(t *testing.T) {
		w := newWorld(t)
		secret, _ := w.ann().enrol()
		want(t, w.ticket().post("/verify", "code", w.code(secret)), 401, invalidCode)
	})
	for name, tickets := range map[string]int{"F07 one code at once, one ticket": 1, "F07 one code at once, five tickets": 5} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				w := newWorld(t)
				b, secret, _ := w.pending()
				browsers := []*browser{b}
				for len(browsers) < tickets {
					browsers = append(browsers, w.ticket())
				}
				var passed atomic.Int64
				var all sync.WaitGroup
				for i := range 50 {
					all.Go(func() {
						if browsers[i%tickets].clone().post("/verify", "code", w.code(secret)).status == 200 {
							passed.Add(1)
						}
					})
				}
				all.Wait()
				if passed.Load() != 1 || len(w.sessions("ann")) != 2 { // the one that enrolled, and this
					t.Fatalf("%d passed, %d sessions", passed.Load(), len(w.sessions("ann")))
				}
			}
		})
	}
	t.Run("F07 a recovery code twice, also at once", func(t *testing.T) {
		w := newWorld(t)
		b, _, recovery := w.pending()
		other := w.ticket()
		var passed atomic.Int64
		var all sync.WaitGroup
		for _, b := range []*browser{b, other, b.clone(), other.clone()} {
			all.Go(func() {
				if b.post("/verify", "code", strings.ToLower(recovery[3])).status == 200 {
					passed.Add(1)
				}
			})
		}
		all.Wait()
		if passed.Load() != 1 {
			t.Errorf("%d passed", passed.Load())
		}
		want(t, w.ticket().post("/verify", "code", recovery[3]), 401, invalidCode)
		want(t, w.ticket().post("/verify", "code", recovery[4]), 200, "")
	})
	t.Run("F07 several right codes at once, one ticket", func(t *testing.T) {
		for range 20 {
			w := newWorld(t)
			b, _, recovery := w.pending()
			var passed atomic.Int64
			var all sync.WaitGroup
			for _, code := range recovery[:5] {
				all.Go(func() {
					if b.clone().post("/verify", "code", code).status == 200 {
						passed.Add(1)
					}
				})
			}
			all.Wait()
			if passed.Load() != 1 || len(w.sessions("ann")) != 2 { // the one that enrolled, and this
				t.Fatalf("%d passed, %d sessions", passed.Load(), len(w.sessions("ann")))
			}
		}
	})
	t.Run("F07 the code of another account", func(t *testing.T) {
		w := newWorld(t)
		bob := w.browser()
		want(t, bob.login("bob", "bob's password"), 200, "")
		foreign, codes := bob.enrol()
		b, _, _ := w.pending()
		want(t, b.post("/verify", "code", w.code(foreign)), 401, invalidCode)
		want(t, b.post("/verify", "code", codes[0]), 401, invalidCode)
	})
	t.Run("F07 no code at all", func(t *testing.T) {
		w := newWorld(t)
		b, _, _ := w.pending()
		for _, code := range []string{"", " ", "000000\n", "٠٠٠٠٠٠", strings.Repeat("0", 1<<16)} {
			want(t, b.post("/verify", "code", code), 401, invalidCode)
		}
	})
	t.Run("F07 the ticket after five minutes", func(t *testing.T) {
		w := newWorld(t)
		b, secret, _ := w.pending()
		late := w.ticket()
		w.clock.Advance(5*time.Minute - time.Millisecond)
		want(t, b.post("/verify", "code", w.code(secret)), 200, "")
		w.clock.Advance(time.Millisecond)
		want(t, late.post("/verify", "code", w.manager.Code(secret, w.clock.Now().Unix()/30+1)), 401, invalidCode)
	})
	t.Run("F07 the ticket after five minutes, by a store whose clock is behind", func(t *testing.T) {
		w := newWorld(t)
		b, secret, _ := w.pending()
		begun := w.now()
		w.memory.Now = func() time.Time { return begun }
		w.clock.Advance(5 * time.Minute)
		want(t, b.post("/verify", "code", w.code(secret)), 401, invalidCode)
	})
	t.Run("F07 the sixth try of a ticket", func(t *testing.T) {
		w := newWorld(t)
		b, secret, _ := w.pending()
		for range 5 {
			want(t, b.post("/verify", "code", w.wrong(secret)), 401, invalidCode)
		}
		w.clock.Advance(time.Minute) // after the account's delay
		// The next ones are inside a delay of the ticket, and are answered alike.
		for range 3 {
			want(t, b.post("/verify", "code", w.code(secret)), 401, invalidCode)
		}
		want(t, w.ticket().post("/verify", "code", w.code(secret)), 200, "")
	})
	t.Run("F08 codes over fresh logins", func(t *testing.T) {
		w := newWorld(t)
		b, secret, _ := w.pending()
		looked := w.stores.count("Factor")
		for range 100 {
			b.login("ann", annPassword)
			b.post("/verify", "code", w.wrong(secret))
		}
		// Each login reads the factor once. Each code that is checked reads it once more.
		if heard := w.stores.count("Factor") - looked - 100; heard != 5 {
			t.Errorf("F08 %d codes were heard", heard)
		}
		want(t, b.login("ann", annPassword, "code", w.code(secret)), 429, auth.DetailLocked)
		// A refusal inside the delay costs the ticket no attempt.
		for range 10 {
			want(t, b.post("/verify", "code", w.code(secret)), 429, auth.DetailLocked)
		}
		w.clock.Advance(time.Second)
		want(t, b.post("/verify", "code", w.code(secret)), 200, "")
	})
	t.Run("F07 the factor is gone since the first step", func(t *testing.T) {
		w := newWorld(t)
		b, secret, recovery := w.pending()
		f := must(w.memory.Factors().Factor(t.Context(), "acme", "ann"))
		if err := w.memory.Factors().Save(t.Context(), "acme", "ann", session.Factor{Version: f.Version}); err != nil {
			t.Fatal(err)
		}
		for _, code := range []string{w.code(secret), recovery[0], "", w.manager.Code("", w.now().Unix()/30)} {
			want(t, b.post("/verify", "code", code), 401, invalidCode)
		}
	})
	t.Run("F07 the sixth ticket ends the first", func(t *testing.T) {
		w := newWorld(t)
		b, secret, _ := w.pending()
		for range 5 {
			w.clock.Advance(time.Second)
			w.ticket()
		}
		want(t, b.post("/verify", "code", w.code(secret)), 401, invalidCode)
	})
	t.Run("F07 a ticket serves once", func(t *testing.T) {
		w := newWorld(t)
		b, secret, _ := w.pending()
		again := b.clone()
		want(t, b.post("/verify", "code", w.code(secret)), 200, "")
		w.clock.Advance(time.Minute)
		want(t, again.post("/verify", "code", w.code(secret)), 401, invalidCode)
	})
}
