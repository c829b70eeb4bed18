package session_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/scope"
)

// starting is a world with routes that call Start, also in another org.
func starting(t testing.TB) *world {
	w := newWorld(t)
	start := func(rw http.ResponseWriter, r *http.Request) {
		p, err := w.manager.Start(rw, r, r.PostFormValue("account"), w.proof(r))
		if err != nil {
			auth.Fail(rw, r, err)
			return
		}
		auth.Reply(rw, r, envelope.Result[string]{Data: p.Account})
	}
	w.mux.HandleFunc("POST /continue", auth.Authenticated, start)
	elsewhere := w.guard.Mount(http.HandlerFunc(start))
	w.mux.HandleFunc("POST /switch", auth.Authenticated, func(rw http.ResponseWriter, r *http.Request) {
		clone := r.Clone(r.Context())
		clone.URL = &url.URL{Path: "/globex/v2/start"}
		elsewhere.ServeHTTP(rw, clone)
	})
	return w
}

// Start makes a session as fresh as the proof that it gets.
func TestF31StartIsNoFresherThanItsEvidence(t *testing.T) {
	for _, c := range []struct {
		name, path, account, org, age string
		fresh                         bool
	}{
		{"F31 on a public route", "/start", "ann", "acme", "11m", false},
		{"F31 on a route of sessions", "/continue", "ann", "acme", "11m", false},
		{"F31 for another account, by a session", "/continue", "bob", "acme", "11m", false},
		{"F31 in another org, by a session", "/switch", "gus", "globex", "11m", false},
		{"F31 a proof of the future, 11 minutes later", "/start", "ann", "acme", "-1h", false},
		{"a new proof, within a session that is old", "/continue", "ann", "acme", "1m", true},
		{"a new proof of another account", "/start", "bob", "acme", "1m", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := starting(t)
			b := w.ann()
			want(t, b.post(c.path, "account", c.account, "age", c.age), 200, "")
			b.org = c.org
			if c.age == "-1h" {
				want(t, b.post("/sudo"), 200, "")
				w.clock.Advance(11 * time.Minute)
			}
			want(t, b.get("/me"), 200, "")
			if c.fresh {
				want(t, b.post("/sudo"), 200, "")
			} else {
				want(t, b.post("/sudo"), 403, auth.DetailReauthenticate)
			}
		})
	}
	t.Run("F31 in another org, by a token", func(t *testing.T) {
		w := starting(t)
		inner := w.guard.Mount(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if _, err := w.manager.Start(httptest.NewRecorder(), r, "gus", w.proof(r)); !isBeyond(err) {
				t.Errorf("got %v", err)
			}
		}))
		r := httptest.NewRequest("POST", "/globex/v2/start", nil)
		token := auth.Principal{Org: "acme", Account: "ann", Mechanism: "bearer", Granted: scope.Unscoped(), Scope: scope.Unscoped()}
		w.mux.HandleFunc("POST /by-token", auth.Public, func(rw http.ResponseWriter, outer *http.Request) {
			inner.ServeHTTP(rw, r.WithContext(auth.With(outer.Context(), token)))
			rw.Write([]byte("{}"))
		})
		want(t, w.browser().post("/by-token"), 200, "")
	})
	t.Run("F31 a proof without a time", func(t *testing.T) {
		w := newWorld(t)
		w.as(t, auth.Principal{}, func(rw http.ResponseWriter, r *http.Request) {
			if _, err := w.manager.Start(rw, r, "ann", session.Proof{Methods: []string{session.MethodPassword}}); err == nil {
				t.Error("accepted")
			}
		})
	})
	t.Run("F31 an account that was changed since", func(t *testing.T) {
		w := starting(t)
		b := w.ann()
		w.clock.Advance(time.Minute)
		w.directory.PutAccount(auth.Account{ID: "bob", Org: "acme", Changed: w.clock.Now()})
		want(t, b.post("/continue", "account", "bob", "age", "30s"), 401, auth.DetailInvalidCredentials)
		want(t, b.get("/me"), 200, "") // the open session stands
	})
}

// A handler of one org that passes its request on to another one does not lose what the open
// browser lacks.
func TestAddressTicketBehindAnotherOrg(t *testing.T) {
	w := starting(t)
	var got error
	inner := w.guard.Mount(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, got = w.manager.Mail().AddressTicket(r, "gus", "gus@example.test")
	}))
	w.mux.HandleFunc("POST /passed-on", auth.Authenticated, func(rw http.ResponseWriter, outer *http.Request) {
		r := httptest.NewRequest("POST", "/globex/v2/address", nil)
		inner.ServeHTTP(httptest.NewRecorder(), r.WithContext(outer.Context()))
		rw.Write([]byte("{}"))
	})
	b := w.ann()
	want(t, b.post("/passed-on"), 200, "")
	if got != nil {
		t.Errorf("a fresh session: %v", got)
	}
	w.clock.Advance(11 * time.Minute)
	want(t, b.post("/passed-on"), 200, "")
	if e, ok := errors.AsType[*auth.Error](got); !ok || e.Detail != auth.DetailReauthenticate {
		t.Errorf("an old session: %v", got)
	}
}

// Logins are on Public routes. The Guard's observer learns from the Manager who they are, and never
// what was typed as the name of an account that does not exist.
func TestEventsOfLoginsNameTheAccount(t *testing.T) {
	w := newWorld(t)
	secret, _ := w.ann().enrol()
	w.clock.Advance(time.Minute)
	half := w.ticket()
	for _, c := range []struct {
		name string
		do   func() reply
		want []string
	}{
		{"a login", func() reply { return w.browser().login("bob", "bob's password") }, []string{"bob ok", "login.accepted bob", "session.opened bob"}},
		{"a wrong password", func() reply { return w.browser().login("ann", "wrong") }, []string{"login.wrong ann", "claimed ann " + auth.DetailInvalidCredentials}},
		{"an unknown name", func() reply { return w.browser().login("my password", "x") }, []string{"login.wrong ", "claimed  " + auth.DetailInvalidCredentials}},
		{"the first step", func() reply { return w.browser().login("ann", annPassword) }, []string{"login.pending ann", "claimed ann " + auth.DetailSecondFactor}},
		{"a wrong code", func() reply { return half.post("/verify", "code", w.wrong(secret)) }, []string{"code.refused ann", "claimed ann " + invalidCode}},
		{"the second step", func() reply { return half.post("/verify", "code", w.code(secret)) }, []string{"code.accepted ann", "ann ok", "login.accepted ann", "session.opened ann"}},
		{"a session made elsewhere", func() reply { return w.browser().post("/start", "account", "bob") }, []string{"bob ok", "login.accepted bob", "session.opened bob"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.events = nil
			c.do()
			var got []string
			for _, e := range w.events[1:] { // the first says that a Public route admits everybody
				switch {
				case e.Verb != "":
					got = append(got, e.Verb+" "+e.Account)
				case e.Detail != "":
					got = append(got, "claimed "+e.Claimed.Account+" "+e.Detail)
				case e.Mechanism == session.Name:
					got = append(got, e.Account+" ok")
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// So are mailed tickets. Events name the account that a ticket was for, also if it is refused.
func TestEventsOfMailedTicketsNameTheAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPostOffice(t)
		bob := w.browser()
		bob.login("bob", "bob's password")
		reset, late, address := w.forgot("ann"), w.forgot("ann"), w.verify("bob", "bob@b.example")
		for _, c := range []struct {
			name string
			do   func() reply
			want []string
		}{
			{"no ticket", func() reply { return w.reset("x") }, []string{"claimed  " + invalidCode}},
			{"another's, by somebody who is signed in", func() reply { return bob.post("/reset", "ticket", reset, "next", "a new password") },
				[]string{"claimed ann " + invalidCode}},
			{"a verified address", func() reply { return w.browser().post("/address/verify", "ticket", address) }, []string{"bob ok"}},
			{"a short password", func() reply { return w.browser().post("/reset", "ticket", reset, "next", "x") }, []string{"claimed  " + auth.DetailOption}},
			{"a reset", func() reply { return w.reset(reset) }, []string{"ann ok", "password.reset ann"}},
			{"a ticket of before the reset", func() reply { return w.reset(late) }, []string{"claimed  " + invalidCode}},
		} {
			w.events = nil
			c.do()
			var got []string
			for _, e := range w.events[1:] {
				switch {
				case e.Verb != "":
					got = append(got, e.Verb+" "+e.Account)
				case e.Detail != "":
					got = append(got, "claimed "+e.Claimed.Account+" "+e.Detail)
				default:
					got = append(got, e.Account+" ok")
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: %s", c.name, diff)
			}
		}
	})
}

// The life of a session begins with its proof, also through a ticket of a second factor.
func TestStartIsNoLongerThanItsEvidence(t *testing.T) {
	for name, factor := range map[string]bool{"at once": false, "with a second factor": true} {
		t.Run(name, func(t *testing.T) {
			w := starting(t)
			w.putOrg(func(o *auth.Org) { o.Session.Idle = 12 * time.Hour })
			b := w.browser()
			if factor {
				b = w.ann()
				secret, _ := b.enrol()
				w.clock.Advance(time.Minute)
				want(t, b.post("/start", "account", "ann", "age", "11h"), 403, auth.DetailSecondFactor)
				want(t, b.post("/verify", "code", w.code(secret)), 200, "")
			} else {
				want(t, b.post("/start", "account", "ann", "age", "11h"), 200, "")
			}
			w.clock.Advance(59 * time.Minute)
			want(t, b.get("/me"), 200, "")
			w.clock.Advance(2 * time.Minute)
			want(t, b.get("/me"), 401, expired)
		})
	}
}
