package session_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

func TestF12TheOrgRequiresAFactor(t *testing.T) {
	required := org(func(o *auth.Org) { o.Session.SecondFactor = true })
	start := func(t *testing.T) (*world, *browser, session.FactorSecret) {
		w := newWorld(t, required)
		b := w.browser()
		got := b.login("ann", annPassword)
		want(t, got, 403, auth.DetailSecondFactor)
		if got.reason != "enrol" || sets(got) != "+"+ticketName {
			t.Errorf("reason %q, cookies %q", got.reason, sets(got))
		}
		begun := b.post("/enrol")
		want(t, begun, 200, "")
		return w, b, decoded(t, begun.data)
	}
	t.Run("F12 enrolment only, and that in", func(t *testing.T) {
		w, b, secret := start(t)
		want(t, b.get("/me"), 401, auth.DetailNoCredentials)
		want(t, b.post("/verify", "code", w.code(secret)), 401, invalidCode)
		want(t, b.post("/confirm", "code", w.wrong(secret)), 401, invalidCode)
		got := b.post("/confirm", "code", w.code(secret))
		want(t, got, 200, "")
		if sets(got) != "-"+ticketName+" +"+cookieName || len(got.data.([]any)) != 10 {
			t.Errorf("cookies %q, data %v", sets(got), got.data)
		}
		want(t, b.get("/me"), 200, "")
		want(t, b.post("/sudo"), 200, "")
	})
	t.Run("F12 by single sign-on", func(t *testing.T) {
		w := newWorld(t, required)
		b := w.browser()
		want(t, b.post("/start", "account", "ann"), 403, auth.DetailSecondFactor)
		b.enrol()
		want(t, b.get("/me"), 200, "")
	})
	t.Run("F12 an enrolment ticket cannot change an active factor", func(t *testing.T) {
		w, b, secret := start(t)
		thief := w.browser()
		want(t, thief.login("ann", annPassword), 403, auth.DetailSecondFactor)
		want(t, b.post("/confirm", "code", w.code(secret)), 200, "")
		version := must(w.memory.Factors().Factor(t.Context(), "acme", "ann")).Version
		w.clock.Advance(time.Minute)
		want(t, thief.post("/enrol"), 401, invalidCode)
		want(t, thief.post("/confirm", "code", w.code(secret)), 401, invalidCode)
		if must(w.memory.Factors().Factor(t.Context(), "acme", "ann")).Version != version {
			t.Error("the factor was changed")
		}
	})
	t.Run("F12 50 confirmations at once open one session", func(t *testing.T) {
		for range 20 {
			w, b, secret := start(t)
			var passed atomic.Int64
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					if got := b.clone().post("/confirm", "code", w.code(secret)); got.status == 200 {
						passed.Add(1)
					}
				})
			}
			all.Wait()
			if passed.Load() != 1 || len(w.sessions("ann")) != 1 {
				t.Fatalf("%d passed, %d sessions", passed.Load(), len(w.sessions("ann")))
			}
		}
	})
	t.Run("F12 it can be replaced and not removed", func(t *testing.T) {
		w, b, secret := start(t)
		want(t, b.post("/confirm", "code", w.code(secret)), 200, "")
		w.clock.Advance(time.Minute)
		want(t, b.post("/remove", "code", w.code(secret)), 403, auth.DetailForbidden)
		old := b.clone()
		replaced, _ := b.enrol()
		want(t, old.get("/me"), 401, expired)
		w.clock.Advance(time.Minute)
		want(t, w.ticket().post("/verify", "code", w.code(secret)), 401, invalidCode)
		want(t, w.ticket().post("/verify", "code", w.code(replaced)), 200, "")
	})
	t.Run("F12 an enrolment ticket in another org", func(t *testing.T) {
		w, b, _ := start(t)
		w.directory.PutAccount(auth.Account{ID: "ann", Org: "globex"}) // somebody else
		thief := w.browser()
		thief.org, thief.jar["__Host-ticket-globex"] = "globex", b.cookie(ticketName)
		want(t, thief.post("/enrol"), 401, invalidCode)
	})
	t.Run("F12 required only after the login", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		required(w)
		want(t, b.get("/me"), 200, "") // the session stays until Sessions.RevokeAll
		want(t, w.browser().login("ann", annPassword), 403, auth.DetailSecondFactor)
	})
	t.Run("F12 nobody's enrolment", func(t *testing.T) {
		w := newWorld(t, required)
		want(t, w.browser().post("/enrol"), 401, auth.DetailNoCredentials)
		want(t, w.browser().post("/confirm", "code", "000000"), 401, auth.DetailNoCredentials)
		b := w.browser()
		b.jar[ticketName] = "x"
		want(t, b.post("/enrol"), 401, invalidCode)
		foreign := []string{"Sec-Fetch-Site", "cross-site"}
		want(t, w.browser().do("POST", "/enrol", "", foreign...), 403, auth.DetailCrossOrigin)
	})
}

// The factor is enrolled for the account that has just logged in. A session that somebody
// else left in the browser, fresh or old, must not decide that.
func TestATicketEndsTheSession(t *testing.T) {
	for name, age := range map[string]time.Duration{"fresh": 0, "old": 20 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.browser()
			want(t, b.login("bob", "bob's password"), 200, "")
			w.putOrg(func(o *auth.Org) { o.Session.SecondFactor = true })
			w.clock.Advance(age)
			old := b.clone()
			got := b.login("ann", annPassword)
			want(t, got, 403, auth.DetailSecondFactor)
			if sets(got) != "-"+cookieName+" +"+ticketName {
				t.Errorf("cookies %q", sets(got))
			}
			want(t, b.get("/me"), 401, auth.DetailNoCredentials)
			want(t, old.get("/me"), 401, expired)
			b.enrol()
			if got := b.get("/me"); got.data != "ann" {
				t.Errorf("signed in as %v", got.data)
			}
			if f := must(w.memory.Factors().Factor(t.Context(), "acme", "bob")); f.Version != 0 {
				t.Error("the other account's factor was changed")
			}
		})
	}
	t.Run("and the ticket before it", func(t *testing.T) {
		w := newWorld(t)
		b, secret, _ := w.pending()
		old := b.clone()
		want(t, b.login("ann", annPassword), 403, auth.DetailSecondFactor)
		want(t, old.post("/verify", "code", w.code(secret)), 401, invalidCode)
		want(t, b.post("/verify", "code", w.code(secret)), 200, "")
	})
	t.Run("not where the store is down", func(t *testing.T) {
		w := newWorld(t)
		w.ann().enrol()
		b := w.browser()
		want(t, b.login("bob", "bob's password"), 200, "")
		w.stores.set("Delete", errors.New("down"))
		want(t, b.login("ann", annPassword), 503, auth.DetailUnavailable)
		want(t, b.get("/me"), 200, "")
	})
	t.Run("not for a wrong password or code", func(t *testing.T) {
		w := newWorld(t)
		secret, _ := w.ann().enrol()
		b := w.browser()
		want(t, b.login("bob", "bob's password"), 200, "")
		want(t, b.login("ann", "wrong"), 401, auth.DetailInvalidCredentials)
		want(t, b.login("ann", annPassword, "code", w.wrong(secret)), 401, invalidCode)
		want(t, b.get("/me"), 200, "")
	})
}

// A new device needs a fresh session, and does not make a session fresh.
func TestEnrolmentDoesNotRefresh(t *testing.T) {
	w := newWorld(t)
	b := w.ann()
	begun := b.post("/enrol")
	secret := decoded(t, begun.data)
	w.clock.Advance(9 * time.Minute)
	old := b.clone()
	want(t, b.post("/confirm", "code", w.code(secret)), 200, "")
	want(t, old.get("/me"), 401, expired)
	w.clock.Advance(2 * time.Minute)
	want(t, b.get("/me"), 200, "")
	want(t, b.post("/sudo"), 403, auth.DetailReauthenticate)
}

// No route of this test asks for a fresh session: the verbs do.
func TestVerbsNeedAFreshSession(t *testing.T) {
	w := newWorld(t)
	m := w.manager
	for path, verb := range map[string]func(http.ResponseWriter, *http.Request) error{
		"/stale/enrol": func(_ http.ResponseWriter, r *http.Request) error { _, err := m.Factors().Enrol(r); return err },
		"/stale/confirm": func(rw http.ResponseWriter, r *http.Request) error {
			_, err := m.Factors().Confirm(rw, r, "1")
			return err
		},
		"/stale/remove": func(_ http.ResponseWriter, r *http.Request) error { return m.Factors().Remove(r, "1") },
		"/stale/renew": func(_ http.ResponseWriter, r *http.Request) error {
			_, err := m.Factors().RenewRecovery(r, "1")
			return err
		},
		"/stale/address": func(_ http.ResponseWriter, r *http.Request) error {
			_, err := m.Mail().AddressTicket(r, "ann", "ann@example.test")
			return err
		},
	} {
		w.mux.HandleFunc("POST "+path, auth.Authenticated, func(rw http.ResponseWriter, r *http.Request) { auth.Fail(rw, r, verb(rw, r)) })
		b := w.ann()
		w.clock.Advance(10 * time.Minute)
		if got := b.post(path); got.fault == auth.DetailReauthenticate {
			t.Errorf("%s: refused after ten minutes", path)
		}
		w.clock.Advance(time.Millisecond)
		before := w.spent()
		want(t, b.post(path), 403, auth.DetailReauthenticate)
		if after := w.spent(); after != before {
			t.Errorf("%s: %+v, then %+v", path, before, after)
		}
	}
}

func TestBeginningAgainVoidsWhatWasBegun(t *testing.T) {
	w := newWorld(t)
	b := w.ann()
	first := decoded(t, b.post("/enrol").data)
	second := decoded(t, b.post("/enrol").data)
	want(t, b.post("/confirm", "code", w.code(first)), 401, invalidCode)
	want(t, b.post("/confirm", "code", w.code(second)), 200, "")
	want(t, b.post("/confirm", "code", w.code(second)), 401, invalidCode)
}

// Concurrent changes of the factor are neither lost nor undone.
func TestFactorChangesAtOnce(t *testing.T) {
	for round := range 50 {
		w := newWorld(t)
		b := w.ann()
		secret, recovery := b.enrol()
		w.clock.Advance(time.Minute)
		verifying := w.ticket()
		var all sync.WaitGroup
		var removed, verified reply
		all.Go(func() { removed = b.post("/remove", "code", w.code(secret)) })
		all.Go(func() { verified = verifying.post("/verify", "code", recovery[0]) })
		all.Wait()
		f := must(w.memory.Factors().Factor(t.Context(), "acme", "ann"))
		if removed.status != 200 || f.Secret != "" || f.Recovery != nil {
			t.Fatalf("round %d: removal got %d, factor %s", round, removed.status, fmt.Sprint(f.Version))
		}
		if verified.status != 200 && verified.status != 401 {
			t.Fatalf("round %d: verification got %d", round, verified.status)
		}
	}
}

func TestANewFactorEndsTheOtherSessions(t *testing.T) {
	w := newWorld(t)
	b, other := w.ann(), w.ann()
	secret := decoded(t, b.post("/enrol").data)
	want(t, b.post("/confirm", "code", w.wrong(secret)), 401, invalidCode)
	want(t, other.get("/me"), 200, "")
	want(t, b.post("/confirm", "code", w.code(secret)), 200, "")
	want(t, other.get("/me"), 401, expired)
	want(t, b.get("/me"), 200, "")
}
