package session_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

func TestF10StoreDown(t *testing.T) {
	const unavailable = auth.DetailUnavailable
	for _, failure := range []error{http.ErrServerClosed, context.DeadlineExceeded,
		&auth.Error{Detail: auth.DetailForbidden}, errors.Join(auth.ErrUnavailable, auth.ErrNotFound), errors.Join(auth.ErrUnavailable, session.ErrEvicted)} {
		for verb, do := range map[string]func(*browser) reply{
			"F10 Get":      func(b *browser) reply { return b.get("/me") },
			"F10 Touch":    func(b *browser) reply { return b.get("/me") },
			"F10 Replace":  func(b *browser) reply { return b.post("/reauthenticate", "login", "ann", "password", annPassword) },
			"F10 Delete":   func(b *browser) reply { return b.post("/logout") },
			"F10 Create":   func(b *browser) reply { return b.w.browser().login("ann", annPassword) },
			"F10 Password": func(b *browser) reply { return b.login("ann", annPassword) },
			"F10 Try":      func(b *browser) reply { return b.login("ann", annPassword) },
			"F10 Factor":   func(b *browser) reply { return b.login("ann", annPassword) },
			"F10 Save":     func(b *browser) reply { return b.post("/enrol") },
		} {
			t.Run(verb, func(t *testing.T) {
				w := newWorld(t)
				b := w.ann()
				w.clock.Advance(5 * time.Minute)
				cookie, handled := b.cookie(cookieName), w.handled.Load()
				w.stores.set(verb[4:], failure)
				for range 20 { // failures of a store are no failed attempts
					got := do(b)
					want(t, got, 503, unavailable)
					if got.header.Get("Set-Cookie") != "" {
						t.Errorf("cookies %q", sets(got))
					}
				}
				if verb == "F10 Get" {
					want(t, b.get("/maybe"), 503, unavailable) // never anonymous
				}
				if b.cookie(cookieName) != cookie || w.handled.Load() != handled {
					t.Error("the cookie went, or the handler ran")
				}
				w.stores.set(verb[4:], nil)
				want(t, b.get("/me"), 200, "")
				want(t, w.browser().login("ann", annPassword), 200, "")
			})
		}
	}
	t.Run("F10 the second step", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		secret, _ := b.enrol()
		w.clock.Advance(time.Minute)
		want(t, b.login("ann", annPassword), 403, auth.DetailSecondFactor)
		for _, failure := range []error{http.ErrServerClosed, errors.Join(auth.ErrUnavailable, session.ErrEvicted)} {
			for _, verb := range []string{"Get", "Try", "Factor", "Save"} {
				w.stores.set(verb, failure)
				for range 10 {
					want(t, b.post("/verify", "code", w.code(secret)), 503, unavailable)
				}
				w.stores.set(verb, nil)
			}
		}
		want(t, b.post("/verify", "code", w.code(secret)), 200, "")
	})
	t.Run("F10 a store that hangs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, realTime, func(w *world) { w.guard.Timeout = 0 })
			b := w.ann()
			w.manager.Store = hanging{w.stores}
			start := time.Now()
			want(t, b.get("/me"), 503, unavailable)
			want(t, b.post("/logout"), 503, unavailable)
			if took := time.Since(start); took > 1100*time.Millisecond {
				t.Errorf("took %s", took)
			}
			w.manager.Store = w.stores
			want(t, b.get("/me"), 200, "")
			w.answer = func(rw http.ResponseWriter, r *http.Request) {
				w.manager.Store = hanging{w.stores}
				start := time.Now()
				_, listed := w.manager.Sessions().List(r.Context(), &auth.Org{Code: "acme"}, "ann")
				_, all := w.manager.Sessions().RevokeAll(r.Context(), "acme", "ann", "")
				_, org := w.manager.Sessions().RevokeOrg(r.Context(), "acme")
				for _, err := range []error{listed, all, org, w.manager.Sessions().Revoke(r.Context(), "acme", "ann", "x")} {
					if !isUnavailable(err) {
						t.Errorf("got %v", err)
					}
				}
				if took := time.Since(start); took != 2*time.Second {
					t.Errorf("the lists took %s", took)
				}
				rw.Write([]byte("{}"))
			}
			want(t, b.get("/me"), 200, "")
		})
	})
	t.Run("F10 the lists", func(t *testing.T) {
		w := newWorld(t)
		for _, verb := range []string{"List", "DeleteID", "DeleteAll", "DeleteOrg"} {
			w.stores.set(verb, http.ErrServerClosed)
		}
		_, listed := w.manager.Sessions().List(t.Context(), &auth.Org{Code: "acme"}, "ann")
		_, all := w.manager.Sessions().RevokeAll(t.Context(), "acme", "ann", "")
		_, org := w.manager.Sessions().RevokeOrg(t.Context(), "acme")
		for _, err := range []error{listed, all, org, w.manager.Sessions().Revoke(t.Context(), "acme", "ann", "x")} {
			if !isUnavailable(err) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// A caller that makes a store panic is not authenticated.
func TestF08APanicIsNoSuccess(t *testing.T) {
	for name, step := range map[string]struct {
		do    func(*browser, string) reply
		looks int // calls of Factor before the one that panics
	}{
		"F08 at a login":        {func(b *browser, code string) reply { return b.login("ann", annPassword, "code", code) }, 1},
		"F08 at a confirmation": {func(b *browser, code string) reply { return b.post("/confirm", "code", code) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.ann()
			secret, _ := b.enrol()
			want(t, b.post("/enrol"), 200, "")
			panics := func() {
				defer func() { recover() }()
				first := w.stores.count("Factor")
				w.stores.before["Factor"] = func() {
					if w.stores.count("Factor") > first+step.looks {
						panic("down")
					}
				}
				defer delete(w.stores.before, "Factor")
				step.do(b, w.wrong(secret))
				t.Error("no panic")
			}
			for range 3 {
				want(t, step.do(b, w.wrong(secret)), 401, invalidCode)
			}
			panics()
			panics()
			want(t, step.do(b, w.wrong(secret)), 429, auth.DetailLocked)
			w.clock.Advance(time.Second)
			want(t, step.do(b, w.wrong(secret)), 401, invalidCode)
			want(t, step.do(b, w.wrong(secret)), 429, auth.DetailLocked)
		})
	}
}

// A store that always returns an old version causes an error, not an endless loop.
func TestConflictsWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, realTime, func(w *world) { w.guard.Timeout = 0 })
		secret, _ := w.ann().enrol()
		time.Sleep(time.Minute)
		b := w.ticket()
		w.stores.before["Save"] = func() { time.Sleep(10 * time.Millisecond) }
		w.stores.set("Save", auth.ErrConflict)
		begun := time.Now()
		want(t, b.post("/verify", "code", w.code(secret)), 503, auth.DetailUnavailable)
		if took := time.Since(begun); took > 600*time.Millisecond {
			t.Errorf("took %s", took)
		}
		w.stores.set("Save", nil)
		want(t, b.post("/verify", "code", w.code(secret)), 200, "")
	})
}

// Each step of a login fails closed: no cookie and no session.
func TestF10EachStepOfALogin(t *testing.T) {
	for name, step := range map[string]struct {
		verb   string
		err    error
		do     func(b *browser, secret session.FactorSecret) reply
		status int
		fault  string
	}{
		"F10 ending what the browser had": {"Delete", http.ErrServerClosed,
			func(b *browser, _ session.FactorSecret) reply { return b.login("bob", "bob's password") }, 503, auth.DetailUnavailable},
		"F10 the ticket": {"Create", http.ErrServerClosed,
			func(b *browser, _ session.FactorSecret) reply { return b.login("ann", annPassword) }, 503, auth.DetailUnavailable},
		"F10 redeeming the ticket": {"DeleteID", errors.Join(auth.ErrUnavailable, auth.ErrNotFound),
			func(b *browser, s session.FactorSecret) reply { return b.post("/verify", "code", b.w.code(s)) }, 503, auth.DetailUnavailable},
		"F10 a ticket that somebody else redeemed": {"DeleteID", auth.ErrNotFound,
			func(b *browser, s session.FactorSecret) reply { return b.post("/verify", "code", b.w.code(s)) }, 401, invalidCode},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			pending, secret, _ := w.pending()
			b := w.browser()
			want(t, b.login("bob", "bob's password"), 200, "")
			b.jar[ticketName] = pending.cookie(ticketName)
			w.stores.set(step.verb, step.err)
			got := step.do(b, secret)
			want(t, got, step.status, step.fault)
			if len(got.cookies) > 0 || len(w.sessions("ann")) != 1 { // the one that enrolled
				t.Errorf("cookies %q, %d sessions", sets(got), len(w.sessions("ann")))
			}
			if step.verb != "Create" { // createSession ends the older session before Create
				want(t, b.get("/me"), 200, "")
			}
		})
	}
}

func TestF10TheDirectoryIsDown(t *testing.T) {
	w := newWorld(t, func(w *world) { w.guard.Directory = &w.outage })
	b := w.browser()
	want(t, b.login("bob", "bob's password"), 200, "")
	pending, secret, _ := w.pending()
	cookie := b.cookie(cookieName)
	w.outage.down = true
	for range 10 {
		want(t, b.get("/me"), 503, auth.DetailUnavailable)
		want(t, pending.post("/verify", "code", w.code(secret)), 503, auth.DetailUnavailable)
	}
	w.outage.down = false
	if b.cookie(cookieName) != cookie {
		t.Error("the cookie went")
	}
	want(t, b.get("/me"), 200, "")
	want(t, pending.post("/verify", "code", w.code(secret)), 200, "")
}

// Handlers answer with an error or with codes. So a factor whose codes nobody has seen must not be
// active, whatever fails after its activation.
func TestF30NoFactorIsActiveWithoutItsRecoveryCodes(t *testing.T) {
	for verb, required := range map[string]bool{"Replace": false, "DeleteAll": false, "DeleteID": true, "Create": true} {
		t.Run("F30 "+verb, func(t *testing.T) {
			w := newWorld(t)
			var codes []string
			w.mux.HandleFunc("POST /confirm-all-the-same", auth.Optional, func(rw http.ResponseWriter, r *http.Request) {
				var err error
				codes, err = w.manager.Factors().Confirm(rw, r, r.PostFormValue("code"))
				auth.Fail(rw, r, err)
			})
			b := w.browser()
			if required { // the ticket's enrolment; otherwise a session's
				w.putOrg(func(o *auth.Org) { o.Session.SecondFactor = true })
			}
			b.login("ann", annPassword)
			secret := decoded(t, b.post("/enrol").data)
			w.stores.set(verb, http.ErrServerClosed)
			got := b.post("/confirm-all-the-same", "code", w.code(secret))
			w.stores.set(verb, nil)
			if state := must(w.manager.Factors().State(t.Context(), "acme", "ann")); got.status != 503 || codes != nil || state.Active {
				t.Fatalf("got %d, codes %q, %+v", got.status, codes, state)
			}
			b.login("ann", annPassword)
			_, recovery := b.enrol()
			w.clock.Advance(time.Minute)
			want(t, w.browser().login("ann", annPassword, "code", recovery[9]), 200, "")
		})
	}
	t.Run("F30 a reset meanwhile stays", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		secret := decoded(t, b.post("/enrol").data)
		w.stores.before["Replace"] = func() {
			w.stores.before = map[string]func(){}
			if err := w.manager.Factors().Reset(t.Context(), "acme", "ann"); err != nil {
				t.Error(err)
			}
		}
		if got := b.post("/confirm", "code", w.code(secret)); got.status == 200 {
			t.Error("confirmed")
		}
		if state := must(w.manager.Factors().State(t.Context(), "acme", "ann")); state != (session.FactorState{}) {
			t.Errorf("%+v is left", state)
		}
	})
	t.Run("and none before", func(t *testing.T) {
		w := newWorld(t, org(func(o *auth.Org) { o.Session.SecondFactor = true }))
		b := w.browser()
		want(t, b.login("ann", annPassword), 403, auth.DetailSecondFactor)
		secret := decoded(t, b.post("/enrol").data)
		for _, verb := range []string{"Get", "Try", "Factor", "Save"} {
			w.stores.set(verb, http.ErrServerClosed)
			for range 10 {
				want(t, b.post("/confirm", "code", w.code(secret)), 503, auth.DetailUnavailable)
			}
			w.stores.set(verb, nil)
		}
		want(t, b.post("/confirm", "code", w.code(secret)), 200, "")
	})
}

// A password that gets no place in the queue is no failed attempt.
func TestTheQueueOfHashesIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, realTime)
		w.mux.HandleFunc("POST /hash", auth.Public, func(rw http.ResponseWriter, r *http.Request) {
			_, err := w.manager.Passwords().Hash(r.Context(), "a password")
			auth.Fail(rw, r, err)
		})
		w.browser().login("warm", "up")
		w.hasher.hold = func() { time.Sleep(time.Second) }
		full := runtime.GOMAXPROCS(0) * (32 + 32)
		var all sync.WaitGroup
		for n := range full {
			b := w.browser()
			b.remote = "192.0.2." + strconv.Itoa(n/2) + ":1" // its first place, and another
			all.Go(func() { b.login("user"+strconv.Itoa(n), "wrong") })
		}
		synctest.Wait()
		for range 10 {
			want(t, w.browser().login("ann", annPassword), 429, auth.DetailThrottled)
		}
		want(t, w.browser().post("/hash"), 429, auth.DetailThrottled)
		all.Wait()
		want(t, w.browser().login("ann", annPassword), 200, "")
	})
}

// If a client disconnects while its password waits, that is no failed attempt.
func TestAClientThatDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, realTime)
		w.browser().login("warm", "up")
		w.hasher.hold = func() { time.Sleep(time.Minute) }
		var all sync.WaitGroup
		for n := range runtime.GOMAXPROCS(0) {
			all.Go(func() { w.browser().login("user"+strconv.Itoa(n), "wrong") })
		}
		synctest.Wait()
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			r := httptest.NewRequestWithContext(ctx, "POST", "/acme/v2/login", strings.NewReader(form("login", "ann", "password", annPassword)))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			rec := httptest.NewRecorder()
			w.mux.ServeHTTP(rec, r)
			cancel()
			if rec.Code != 503 {
				t.Errorf("got %d %s", rec.Code, rec.Body)
			}
		}
		all.Wait()
		w.hasher.hold = nil
		want(t, w.browser().login("ann", annPassword), 200, "")
	})
}
