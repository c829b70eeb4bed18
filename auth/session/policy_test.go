package session_test

import (
	"sync"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

func TestSessionsPerAccount(t *testing.T) {
	t.Run("one: the older learns that another took its place", func(t *testing.T) {
		w := newWorld(t, org(func(o *auth.Org) { o.Session.PerAccount = 1 }))
		older := w.ann()
		w.clock.Advance(time.Second)
		newer := w.ann()
		got := older.get("/me")
		want(t, got, 401, auth.DetailLoggedInElsewhere)
		if sets(got) != "-"+cookieName {
			t.Errorf("cookies %q", sets(got))
		}
		want(t, newer.get("/me"), 200, "")
		want(t, w.browser().login("bob", "bob's password"), 200, "")
		want(t, newer.get("/me"), 200, "")
	})
	for _, unset := range []int{0, -1} {
		t.Run("unset: the oldest of 100 goes", func(t *testing.T) {
			w := newWorld(t, org(func(o *auth.Org) { o.Session.PerAccount = unset }))
			oldest := w.ann()
			w.clock.Advance(time.Second)
			second := w.ann()
			for range 98 {
				w.ann()
			}
			want(t, oldest.get("/me"), 200, "")
			w.clock.Advance(time.Second)
			w.ann()
			want(t, oldest.get("/me"), 401, expired)
			want(t, second.get("/me"), 200, "")
			if n := len(w.sessions("ann")); n != 100 {
				t.Errorf("%d sessions", n)
			}
		})
	}
	t.Run("two: the oldest goes", func(t *testing.T) {
		w := newWorld(t, org(func(o *auth.Org) { o.Session.PerAccount = 2 }))
		var all []*browser
		for range 3 {
			all = append(all, w.ann())
			w.clock.Advance(time.Second)
		}
		want(t, all[0].get("/me"), 401, expired)
		want(t, all[1].get("/me"), 200, "")
		want(t, all[2].get("/me"), 200, "")
	})
	t.Run("two: one that was left alone for too long takes no place", func(t *testing.T) {
		w := newWorld(t, org(func(o *auth.Org) { o.Session.PerAccount = 2 }))
		used := w.ann()
		w.clock.Advance(time.Second)
		w.ann()
		for range 3 {
			w.clock.Advance(10 * time.Minute)
			want(t, used.get("/me"), 200, "")
		}
		newer := w.ann()
		want(t, used.get("/me"), 200, "")
		want(t, newer.get("/me"), 200, "")
		if n := len(w.sessions("ann")); n != 2 {
			t.Errorf("%d sessions", n)
		}
	})
	t.Run("two: one that is older than the account's latest change takes no place", func(t *testing.T) {
		w := newWorld(t, org(func(o *auth.Org) { o.Session.PerAccount = 2 }))
		renewed := w.ann()
		w.clock.Advance(time.Second)
		older := w.ann()
		w.clock.Advance(time.Second)
		want(t, renewed.post("/reauthenticate", "login", "ann", "password", annPassword), 200, "")
		w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Changed: w.clock.Now()})
		w.clock.Advance(time.Second)
		newer := w.ann()
		want(t, older.get("/me"), 401, expired)
		want(t, renewed.get("/me"), 200, "")
		want(t, newer.get("/me"), 200, "")
	})
	t.Run("two: tickets take no place, and keep theirs", func(t *testing.T) {
		w := newWorld(t, org(func(o *auth.Org) { o.Session.PerAccount = 2 }))
		b, secret, _ := w.pending()
		w.clock.Advance(time.Minute)
		want(t, w.browser().login("ann", annPassword, "code", w.code(secret)), 200, "")
		w.clock.Advance(time.Minute)
		want(t, b.post("/verify", "code", w.code(secret)), 200, "")
	})
	t.Run("one, of 20 logins at once", func(t *testing.T) {
		w := newWorld(t, org(func(o *auth.Org) { o.Session.PerAccount = 1 }))
		all := make([]*browser, 20)
		var done sync.WaitGroup
		for i := range all {
			all[i] = w.browser()
			done.Go(func() { want(t, all[i].post("/start", "account", "ann"), 200, "") })
		}
		done.Wait()
		in := 0
		for _, b := range all {
			if got := b.get("/me"); got.status == 200 {
				in++
			} else {
				want(t, got, 401, auth.DetailLoggedInElsewhere)
			}
		}
		if in != 1 || len(w.sessions("ann")) != 1 {
			t.Errorf("%d sessions are open", in)
		}
	})
}

// How a change of the policy affects existing sessions.
func TestThePolicyChangesMeanwhile(t *testing.T) {
	t.Run("a second factor becomes required", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		w.putOrg(func(o *auth.Org) { o.Session.SecondFactor = true })
		want(t, b.get("/me"), 200, "")
		want(t, w.browser().login("ann", annPassword), 403, auth.DetailSecondFactor)
		if n := must(w.manager.Sessions().RevokeOrg(t.Context(), "acme")); n != 1 {
			t.Errorf("ended %d sessions", n)
		}
		want(t, b.get("/me"), 401, expired)
	})
	t.Run("fewer sessions per account", func(t *testing.T) {
		w := newWorld(t)
		first, second := w.ann(), w.ann()
		w.putOrg(func(o *auth.Org) { o.Session.PerAccount = 1 })
		want(t, first.get("/me"), 200, "")
		want(t, second.get("/me"), 200, "")
		third := w.ann()
		want(t, first.get("/me"), 401, auth.DetailLoggedInElsewhere)
		want(t, second.get("/me"), 401, auth.DetailLoggedInElsewhere)
		want(t, third.get("/me"), 200, "")
	})
	t.Run("a longer end", func(t *testing.T) {
		w := newWorld(t, org(func(o *auth.Org) { o.Session.Max = 10 * time.Minute }))
		b := w.ann()
		w.putOrg(func(o *auth.Org) { o.Session.Max = time.Hour })
		w.clock.Advance(10 * time.Minute)
		want(t, b.get("/me"), 401, expired)
	})
}
