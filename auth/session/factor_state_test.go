package session_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

// recovery registers the route for new recovery codes.
func recovery(w *world) {
	w.mux.HandleFunc("POST /recovery", auth.Authenticated, func(rw http.ResponseWriter, r *http.Request) {
		codes, err := w.manager.Factors().RenewRecovery(r, r.PostFormValue("code"))
		if err != nil {
			auth.Fail(rw, r, err)
			return
		}
		auth.Reply(rw, r, map[string]any{"data": codes})
	})
}

func texts(data any) (all []string) {
	for _, text := range data.([]any) {
		all = append(all, text.(string))
	}
	return all
}

func TestFactorState(t *testing.T) {
	w := newWorld(t)
	is := func(when string, want session.FactorState) {
		t.Helper()
		if got := must(w.manager.Factors().State(t.Context(), "acme", "ann")); got != want {
			t.Errorf("%s: %+v, want %+v", when, got, want)
		}
	}
	is("before", session.FactorState{})
	b := w.ann()
	secret := decoded(t, b.post("/enrol").data)
	is("while an enrolment waits", session.FactorState{Pending: true})
	codes := texts(b.post("/confirm", "code", w.code(secret)).data)
	is("enrolled", session.FactorState{Active: true, RecoveryLeft: 10})
	b.post("/enrol")
	is("while another enrolment waits", session.FactorState{Active: true, Pending: true, RecoveryLeft: 10})
	want(t, w.browser().login("ann", annPassword, "code", codes[0]), 200, "")
	is("after a recovery code", session.FactorState{Active: true, Pending: true, RecoveryLeft: 9})
	want(t, b.post("/remove", "code", codes[1]), 200, "")
	is("removed", session.FactorState{})
	w.stores.set("Factor", http.ErrServerClosed)
	if _, err := w.manager.Factors().State(t.Context(), "acme", "ann"); !isUnavailable(err) {
		t.Errorf("a store that is down: %v", err)
	}
}

func TestRegenerateRecovery(t *testing.T) {
	t.Run("replaces all codes and keeps the sessions", func(t *testing.T) {
		w := newWorld(t)
		recovery(w)
		b := w.ann()
		secret, former := b.enrol()
		w.clock.Advance(time.Minute)
		got := b.post("/recovery", "code", w.code(secret))
		want(t, got, 200, "")
		codes := texts(got.data)
		if len(codes) != 10 {
			t.Fatalf("%d codes", len(codes))
		}
		want(t, b.get("/me"), 200, "")
		for _, code := range former[:4] {
			want(t, w.browser().login("ann", annPassword, "code", code), 401, auth.DetailInvalidCode)
		}
		want(t, w.browser().login("ann", annPassword, "code", codes[0]), 200, "")
		w.clock.Advance(time.Minute)
		want(t, w.browser().login("ann", annPassword, "code", w.code(secret)), 200, "")
	})
	t.Run("F26 by a code that is wrong or was used", func(t *testing.T) {
		w := newWorld(t)
		recovery(w)
		b := w.ann()
		secret, former := b.enrol()
		want(t, w.browser().login("ann", annPassword, "code", former[0]), 200, "")
		for _, code := range []string{"", w.wrong(secret), w.code(secret), former[0]} {
			want(t, b.post("/recovery", "code", code), 401, auth.DetailInvalidCode)
		}
		if left := must(w.manager.Factors().State(t.Context(), "acme", "ann")).RecoveryLeft; left != 9 {
			t.Errorf("%d codes are left", left)
		}
		want(t, b.post("/recovery", "code", w.wrong(secret)), 401, auth.DetailInvalidCode)
		want(t, b.post("/recovery", "code", former[1]), 429, auth.DetailLocked)
	})
	t.Run("F26 without a factor, or with one that is not active", func(t *testing.T) {
		w := newWorld(t)
		recovery(w)
		b := w.ann()
		want(t, b.post("/recovery", "code", "000000"), 401, auth.DetailInvalidCode)
		secret := decoded(t, b.post("/enrol").data)
		want(t, b.post("/recovery", "code", w.code(secret)), 401, auth.DetailInvalidCode)
	})
	t.Run("F26 no codes beside an error", func(t *testing.T) {
		w := newWorld(t)
		recovery(w)
		b := w.ann()
		secret, _ := b.enrol()
		w.clock.Advance(time.Minute)
		w.stores.set("Save", http.ErrServerClosed)
		if got := b.post("/recovery", "code", w.code(secret)); got.status != 503 || got.data != nil {
			t.Errorf("%d %v", got.status, got.data)
		}
	})
}

func TestF26ResetFactor(t *testing.T) {
	reset := func(w *world) {
		w.t.Helper()
		if err := w.manager.Factors().Reset(w.t.Context(), "acme", "ann"); err != nil {
			w.t.Error(err)
		}
	}
	t.Run("the password alone opens a session", func(t *testing.T) {
		w := newWorld(t)
		open := w.ann()
		secret, codes := open.enrol()
		w.clock.Advance(time.Minute)
		pending := w.browser()
		want(t, pending.login("ann", annPassword), 403, auth.DetailSecondFactor)
		reset(w)
		want(t, open.get("/me"), 401, expired) // F26: somebody else may have the device
		want(t, pending.post("/verify", "code", w.code(secret)), 401, auth.DetailInvalidCode)
		want(t, w.browser().login("ann", annPassword, "code", codes[0]), 200, "")
		if state := must(w.manager.Factors().State(t.Context(), "acme", "ann")); state != (session.FactorState{}) {
			t.Errorf("%+v is left", state)
		}
		reset(w) // there is nothing to reset
	})
	t.Run("or leads to an enrolment", func(t *testing.T) {
		w := newWorld(t, org(func(o *auth.Org) { o.Session.SecondFactor = true }))
		b := w.browser()
		want(t, b.login("ann", annPassword), 403, auth.DetailSecondFactor)
		former, _ := b.enrol()
		reset(w)
		b = w.browser()
		got := b.login("ann", annPassword)
		want(t, got, 403, auth.DetailSecondFactor)
		if got.reason != string("enrol") {
			t.Errorf("reason %q", got.reason)
		}
		want(t, b.post("/confirm", "code", w.code(former)), 401, auth.DetailInvalidCode)
		b.enrol()
		want(t, b.get("/me"), 200, "")
	})
	t.Run("F26 an enrolment in progress", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		secret := decoded(t, b.post("/enrol").data)
		w.stores.before["Save"] = func() {
			w.stores.before = map[string]func(){}
			reset(w)
		}
		want(t, b.post("/confirm", "code", w.code(secret)), 409, auth.DetailConflict)
		if state := must(w.manager.Factors().State(t.Context(), "acme", "ann")); state != (session.FactorState{}) {
			t.Errorf("%+v is left", state)
		}
	})
	t.Run("F26 a session that enrols all the time", func(t *testing.T) {
		w := newWorld(t)
		thief, busy := w.ann(), false
		w.stores.before["DeleteAll"] = func() { // Confirm calls it, too
			if busy {
				return
			}
			busy = true
			defer func() { busy = false }()
			if got := thief.post("/enrol"); got.status == 200 {
				thief.post("/confirm", "code", w.code(decoded(t, got.data)))
			}
		}
		reset(w)
		if state := must(w.manager.Factors().State(t.Context(), "acme", "ann")); state != (session.FactorState{}) {
			t.Errorf("%+v is left", state)
		}
	})
	t.Run("F26 a change meanwhile", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		b.enrol()
		saves := 0
		w.stores.before["Save"] = func() {
			if saves++; saves == 1 {
				f := must(w.memory.Factors().Factor(t.Context(), "acme", "ann"))
				if err := w.memory.Factors().Save(t.Context(), "acme", "ann", f); err != nil {
					t.Error(err)
				}
			}
		}
		reset(w)
		if state := must(w.manager.Factors().State(t.Context(), "acme", "ann")); state != (session.FactorState{}) || saves != 2 {
			t.Errorf("%+v is left after %d tries", state, saves)
		}
	})
	t.Run("F26 of nobody", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		reads := w.stores.count("Factor")
		if err := w.manager.Factors().Reset(t.Context(), "acme", ""); err == nil || isUnavailable(err) || w.stores.count("Factor") != reads {
			t.Errorf("%v", err)
		}
		want(t, b.get("/me"), 200, "")
	})
	t.Run("F26 of one account only", func(t *testing.T) {
		w := newWorld(t)
		w.ann().enrol()
		bob := w.browser()
		want(t, bob.login("bob", "bob's password"), 200, "")
		bob.enrol()
		reset(w)
		want(t, bob.get("/me"), 200, "")
		want(t, w.browser().login("bob", "bob's password"), 403, auth.DetailSecondFactor)
	})
	for _, verb := range []string{"Factor", "Save", "DeleteAll"} {
		t.Run("F26 the store fails at "+verb, func(t *testing.T) {
			w := newWorld(t)
			w.ann().enrol()
			w.stores.set(verb, http.ErrServerClosed)
			if err := w.manager.Factors().Reset(t.Context(), "acme", "ann"); !isUnavailable(err) {
				t.Errorf("%v", err)
			}
			w.stores.set(verb, nil)
			reset(w)
			want(t, w.browser().login("ann", annPassword), 200, "")
		})
	}
	t.Run("F26 a store that always has another version", func(t *testing.T) {
		w := newWorld(t)
		w.ann().enrol()
		w.stores.set("Save", auth.ErrConflict)
		if err := w.manager.Factors().Reset(t.Context(), "acme", "ann"); !errors.Is(err, auth.ErrConflict) {
			t.Errorf("%v", err)
		}
	})
}
