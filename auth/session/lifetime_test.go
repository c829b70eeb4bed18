package session_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

const time30 = 30 * time.Second

func TestF04SessionsEnd(t *testing.T) {
	const step = 90 * time.Second // idle/20
	t.Run("F04 idle", func(t *testing.T) {
		w := newWorld(t)
		b, late := w.ann(), w.ann()
		w.clock.Advance(30*time.Minute - time.Millisecond)
		want(t, b.get("/me"), 200, "")
		w.clock.Advance(time.Millisecond)
		touches := w.stores.count("Touch")
		want(t, late.get("/me"), 401, expired)
		if w.stores.count("Touch") != touches {
			t.Error("an ended session was touched")
		}
		want(t, b.get("/me"), 200, "")
	})
	t.Run("F04 at most a twentieth early", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		w.clock.Advance(10*time.Minute + 17*time.Second)
		want(t, b.get("/me"), 200, "")
		w.clock.Advance(30*time.Minute - step)
		want(t, b.get("/me"), 200, "")
	})
	t.Run("F04 idle lowered while it is open", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		w.clock.Advance(10 * time.Minute)
		w.putOrg(func(o *auth.Org) { o.Session.Idle = 10 * time.Minute })
		if n := len(w.sessions("ann")); n != 1 {
			t.Fatal("the record is gone before it was asked for")
		}
		want(t, b.get("/me"), 401, expired)
	})
	t.Run("F04 absolute end of an active session", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		for range 12*6 - 1 {
			w.clock.Advance(10 * time.Minute)
			want(t, b.get("/me"), 200, "")
		}
		w.clock.Advance(10*time.Minute - time.Millisecond)
		want(t, b.get("/me"), 200, "")
		w.clock.Advance(time.Millisecond)
		want(t, b.get("/me"), 401, expired)
	})
	t.Run("F04 a step-up does not move the absolute end", func(t *testing.T) {
		w := newWorld(t, org(func(o *auth.Org) { o.Session.Idle = 24 * time.Hour }))
		b := w.ann()
		w.clock.Advance(12*time.Hour - time.Second)
		want(t, b.post("/reauthenticate", "login", "ann", "password", annPassword), 200, "")
		w.clock.Advance(time.Second)
		want(t, b.get("/me"), 401, expired)
	})
	t.Run("F04 absolute end lowered while it is open", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		w.clock.Advance(20 * time.Minute)
		w.putOrg(func(o *auth.Org) { o.Session.Max = 20 * time.Minute })
		want(t, b.get("/me"), 401, expired)
	})
	t.Run("F04 by a store whose clock is behind", func(t *testing.T) {
		w := newWorld(t, org(func(o *auth.Org) { o.Session.Idle = 48 * time.Hour }))
		begun := w.now()
		w.memory.Now = func() time.Time { return begun }
		b := w.ann()
		w.putOrg(func(o *auth.Org) { o.Session.Idle, o.Session.Max = 48*time.Hour, 24*time.Hour })
		w.clock.Advance(12*time.Hour - time.Millisecond)
		want(t, b.get("/me"), 200, "")
		w.clock.Advance(time.Millisecond)
		want(t, b.get("/me"), 401, expired)
	})
	t.Run("F04 idle for too long once the store has answered", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		w.stores.before["Get"] = func() { w.clock.Advance(30 * time.Minute) }
		want(t, b.get("/me"), 401, expired)
	})
	t.Run("F04 its use is no later than what it was judged by", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		w.clock.Advance(10 * time.Minute)
		judged := w.now()
		w.guard.Directory = slowAccounts{w.directory, func() { w.clock.Advance(20 * time.Minute) }}
		want(t, b.get("/me"), 200, "")
		if seen := w.sessions("ann")[0].Seen; seen.After(judged) || judged.Sub(seen) >= step {
			t.Errorf("used %v after it was judged", seen.Sub(judged))
		}
	})
	t.Run("F04 touched 1 ms after its end", func(t *testing.T) {
		w := newWorld(t, org(func(o *auth.Org) { o.Session.Idle = 24 * time.Hour }))
		b := w.ann()
		w.clock.Advance(12*time.Hour - time.Millisecond)
		w.stores.before["Touch"] = func() { w.clock.Advance(2 * time.Millisecond) }
		want(t, b.get("/me"), 401, expired)
		if n := len(w.sessions("ann")); n != 0 {
			t.Error("the session came back")
		}
	})
}

// slowAccounts is a directory whose look-ups of accounts take time.
type slowAccounts struct {
	auth.Directory
	pass func()
}

func (s slowAccounts) Account(ctx context.Context, org auth.OrgKey, id string) (*auth.Account, error) {
	s.pass()
	return s.Directory.Account(ctx, org, id)
}

func TestF09WhatEndsSessions(t *testing.T) {
	change := func(alter func(*auth.Account, time.Time)) func(*world) {
		return func(w *world) {
			a := auth.Account{ID: "ann", Org: "acme"}
			w.clock.Advance(time.Millisecond)
			alter(&a, w.clock.Now())
			w.directory.PutAccount(a)
		}
	}
	for name, do := range map[string]func(*world){
		"F09 account disabled": change(func(a *auth.Account, _ time.Time) { a.Disabled = true }),
		"F09 password changed": change(func(a *auth.Account, now time.Time) { a.Changed = now }),
		"F09 revoked":          func(w *world) { must(w.manager.Sessions().RevokeAll(w.t.Context(), "acme", "ann", "")) },
		"F09 the org revoked":  func(w *world) { must(w.manager.Sessions().RevokeOrg(w.t.Context(), "acme")) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			one, two := w.ann(), w.ann()
			secret, _ := one.enrol()
			w.clock.Advance(time.Minute)
			pending := w.browser()
			want(t, pending.login("ann", annPassword), 403, auth.DetailSecondFactor)
			gus := w.browser()
			gus.org = "globex"
			want(t, gus.login("gus", "gus's password"), 200, "")

			do(w)
			want(t, one.get("/me"), 401, expired)
			want(t, two.get("/maybe"), 200, "")
			want(t, two.get("/me"), 401, expired)
			want(t, pending.post("/verify", "code", w.code(secret)), 401, auth.DetailInvalidCode) // tickets, too
			want(t, gus.get("/me"), 200, "")
		})
	}
	t.Run("F09 the session that changes the password stays", func(t *testing.T) {
		w := newWorld(t)
		var changing http.HandlerFunc = func(rw http.ResponseWriter, r *http.Request) {
			p := auth.From(r.Context())
			w.stores.passwords["acme/ann"] = "another password"
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Changed: w.now()})
			must(w.manager.Sessions().RevokeAll(r.Context(), p.Org, p.Account, p.SessionID))
			must(w.manager.Reauthenticate(rw, r, "ann", "another password"))
			rw.Write([]byte("{}"))
		}
		w.mux.Handle("POST /password-by-hand", auth.Authenticated.Fresh(10*time.Minute), changing)
		b, other := w.ann(), w.ann()
		w.clock.Advance(time.Minute + 300*time.Microsecond) // directories may keep more than milliseconds
		want(t, b.post("/password-by-hand"), 200, "")
		want(t, b.get("/me"), 200, "")
		want(t, other.get("/me"), 401, expired)
		want(t, w.browser().login("ann", annPassword), 401, auth.DetailInvalidCredentials)
	})
	t.Run("F09 an enrolment ticket ends with them", func(t *testing.T) {
		for _, do := range []func(*world){
			change(func(a *auth.Account, now time.Time) { a.Changed = now }),
			func(w *world) { must(w.manager.Sessions().RevokeAll(w.t.Context(), "acme", "ann", "")) },
		} {
			w := newWorld(t, org(func(o *auth.Org) { o.Session.SecondFactor = true }))
			b := w.browser()
			want(t, b.login("ann", annPassword), 403, auth.DetailSecondFactor)
			do(w)
			want(t, b.post("/enrol"), 401, auth.DetailInvalidCode)
		}
	})
	t.Run("F09 factor removed", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		secret, _ := b.enrol()
		w.clock.Advance(time.Minute)
		other := w.ticket()
		want(t, other.post("/verify", "code", w.code(secret)), 200, "")
		w.clock.Advance(time.Minute)
		want(t, b.post("/remove", "code", w.wrong(secret)), 401, auth.DetailInvalidCode)
		want(t, other.get("/me"), 200, "")
		want(t, b.post("/remove", "code", w.code(secret)), 200, "")
		want(t, other.get("/me"), 401, expired)
		want(t, b.get("/me"), 200, "")
		want(t, w.browser().login("ann", annPassword), 200, "")
	})
	t.Run("F09 one session revoked by its id", func(t *testing.T) {
		w := newWorld(t)
		b, other := w.ann(), w.ann()
		list := w.sessions("ann")
		if err := w.manager.Sessions().Revoke(t.Context(), "acme", "bob", list[0].ID); err == nil {
			t.Error("another account's session was revoked")
		}
		var first string
		for _, s := range list {
			if s.Hash == hashOf(t, b) {
				first = s.ID
			}
		}
		if err := w.manager.Sessions().Revoke(t.Context(), "acme", "ann", first); err != nil {
			t.Fatal(err)
		}
		want(t, b.get("/me"), 401, expired)
		want(t, other.get("/me"), 200, "")
	})
	t.Run("F09 all but the own", func(t *testing.T) {
		w := newWorld(t)
		b, other := w.ann(), w.ann()
		var own string
		for _, s := range w.sessions("ann") {
			if s.Hash == hashOf(t, b) {
				own = s.ID
			}
		}
		if n := must(w.manager.Sessions().RevokeAll(t.Context(), "acme", "ann", own)); n != 1 {
			t.Errorf("%d ended", n)
		}
		want(t, b.get("/me"), 200, "")
		want(t, other.get("/me"), 401, expired)
	})
}

func TestTouchesAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, realTime)
		b := w.ann()
		const requests, over = 10_000, 10 * time.Minute
		for range requests {
			time.Sleep(over / requests)
			if got := b.get("/me"); got.status != 200 || got.header.Get("Set-Cookie") != "" {
				t.Fatalf("got %d, cookies %q", got.status, sets(got))
			}
		}
		if n, most := w.stores.count("Touch"), int(over/(90*time.Second))+1; n > most || n == 0 {
			t.Errorf("%d touches, want at most %d", n, most)
		}
	})
}

// A request that its need refuses does not count as a use of the session.
func TestRefusedRequestsTouchNothing(t *testing.T) {
	w := newWorld(t, func(w *world) { w.guard.Mechanisms = append(w.guard.Mechanisms, other{}) })
	w.mux.Handle("GET /others", auth.Authenticated.By("other"), w.answerer())
	b := w.ann()
	w.clock.Advance(20 * time.Minute)
	want(t, b.get("/others"), 403, auth.DetailForbidden)
	want(t, b.post("/sudo"), 403, auth.DetailReauthenticate)
	want(t, b.get("/nowhere"), 404, auth.DetailNotFound)
	want(t, b.get("/status"), 200, "")
	want(t, b.do("POST", "/me", "", "Origin", "https://evil.example"), 403, auth.DetailCrossOrigin)
	if n := w.stores.count("Touch"); n != 0 {
		t.Errorf("%d touches", n)
	}
	w.clock.Advance(10 * time.Minute)
	want(t, b.get("/me"), 401, expired)
}

// unbound hides the Bind of a mechanism.
type unbound struct{ auth.Mechanism }

func (unbound) Bind(*auth.Settings) error { return nil }

func TestAWrappedManagerHasTheGuardsClock(t *testing.T) {
	w := newWorld(t, func(w *world) { w.guard.Mechanisms = []auth.Mechanism{unbound{w.manager}} })
	b := w.browser()
	want(t, b.login("ann", annPassword), 200, "")
	if at := w.sessions("ann")[0].Created; !at.Equal(w.clock.Now()) {
		t.Errorf("a session began at %v, and it is %v", at, w.clock.Now())
	}
	w.clock.Advance(time.Hour)
	want(t, b.get("/me"), 401, "accessDenied.sessionExpired")
}

// Two clocks of one Manager would make its sessions end at different times.
func TestAManagerOfTwoGuards(t *testing.T) {
	w := newWorld(t)
	b := w.ann()
	other := &auth.Guard{BaseURL: w.guard.BaseURL, Directory: w.directory, Roles: auth.RolesDoNotLimit, Mechanisms: []auth.Mechanism{w.manager}}
	if other.Validate() == nil {
		t.Error("a Guard with another clock is valid")
	}
	other = &auth.Guard{BaseURL: w.guard.BaseURL, Directory: w.directory, Roles: auth.RolesLimit, Mechanisms: []auth.Mechanism{w.manager}, Now: w.clock.Now}
	if other.Validate() == nil {
		t.Error("a Guard with another word about roles is valid")
	}
	w.mux = (&auth.Guard{Roles: auth.RolesDoNotLimit, BaseURL: w.guard.BaseURL, Directory: w.directory,
		Mechanisms: []auth.Mechanism{unbound{w.manager}}}).Mux()
	w.routes()
	want(t, b.get("/me"), 500, "error.unspecified")
	want(t, b.login("ann", annPassword), 500, "error.unspecified")
}
