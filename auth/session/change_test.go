package session_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

const nextPassword = "another horse"

// change requests another password for ann.
func (b *browser) change(password, next string) reply {
	return b.post("/password", "login", "ann", "password", password, "next", next)
}

func TestChangePassword(t *testing.T) {
	t.Run("F09 it ends all other sessions and tickets, and the former token of its own", func(t *testing.T) {
		w := newWorld(t)
		b, other := w.ann(), w.ann()
		secret, _ := b.enrol()
		w.clock.Advance(time.Minute)
		pending := w.browser()
		want(t, pending.login("ann", annPassword), 403, auth.DetailSecondFactor)
		stolen := b.clone()
		want(t, b.change(annPassword, nextPassword), 200, "")
		want(t, b.get("/me"), 200, "")
		want(t, b.post("/sudo"), 200, "")
		want(t, stolen.get("/me"), 401, expired)
		want(t, other.get("/me"), 401, expired)
		want(t, pending.post("/verify", "code", w.code(secret)), 401, auth.DetailInvalidCode)
		want(t, w.browser().login("ann", annPassword), 401, auth.DetailInvalidCredentials)
		w.clock.Advance(time.Minute)
		want(t, w.browser().login("ann", nextPassword, "code", w.code(secret)), 200, "")
		want(t, b.change(nextPassword, annPassword), 200, "")
	})
	t.Run("F09 a login that is under way with the former password opens nothing", func(t *testing.T) {
		w := newWorld(t)
		b, late := w.ann(), w.browser()
		var changing atomic.Bool
		w.hasher.hold = func() {
			if changing.CompareAndSwap(false, true) { // the change itself calls Verify, too
				want(t, b.change(annPassword, nextPassword), 200, "")
			}
		}
		want(t, late.login("ann", annPassword), 429, auth.DetailThrottled) // its password was looked up before the change
		want(t, late.login("ann", annPassword), 401, auth.DetailInvalidCredentials)
		want(t, b.get("/me"), 200, "")
	})
	t.Run("F09 a login that begins while the new password is stored does not outlive it", func(t *testing.T) {
		w := newWorld(t)
		b, late := w.ann(), w.browser()
		verified, stored, done := make(chan bool), make(chan bool), make(chan bool)
		w.stores.before["Create"] = sync.OnceFunc(func() {
			close(verified)
			<-stored
		})
		w.stores.before["setPassword"] = sync.OnceFunc(func() {
			w.clock.Advance(10 * time.Millisecond) // as a lock or a disk may take
			go func() {
				want(t, late.login("ann", annPassword), 200, "")
				close(done)
			}()
			<-verified
		})
		want(t, b.change(annPassword, nextPassword), 200, "")
		close(stored)
		<-done
		want(t, late.get("/me"), 401, expired)
		want(t, b.get("/me"), 200, "")
	})
	t.Run("F09 whoever holds the session and not the password changes nothing", func(t *testing.T) {
		w := newWorld(t)
		b, other := w.ann(), w.ann()
		for range 4 {
			want(t, b.change("wrong", nextPassword), 401, auth.DetailInvalidCredentials)
		}
		want(t, b.post("/password", "login", "bob", "password", "bob's password", "next", nextPassword), 401, auth.DetailInvalidCredentials)
		want(t, b.change("wrong", nextPassword), 401, auth.DetailInvalidCredentials)
		want(t, b.change(annPassword, nextPassword), 429, auth.DetailLocked)
		if n := w.stores.count("setPassword"); n != 0 {
			t.Errorf("set %d times", n)
		}
		for _, b := range []*browser{b, other} {
			want(t, b.get("/me"), 200, "")
		}
	})
	t.Run("a password that no login takes", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		hashes := w.hasher.verified.Load()
		for _, next := range []string{"", strings.Repeat("x", 1025)} {
			want(t, b.change(annPassword, next), 400, auth.DetailOption)
		}
		if n := w.hasher.verified.Load() - hashes; n != 0 {
			t.Errorf("%d were hashed", n)
		}
		want(t, b.change(annPassword, strings.Repeat("x", 1024)), 200, "")
	})
	t.Run("what cannot be kept changes nothing", func(t *testing.T) {
		w := newWorld(t)
		b, other := w.ann(), w.ann()
		w.stores.set("setPassword", auth.ErrUnavailable)
		want(t, b.change(annPassword, nextPassword), 503, auth.DetailUnavailable)
		for _, b := range []*browser{b, other} {
			want(t, b.get("/me"), 200, "")
		}
	})
	t.Run("other sessions that cannot be ended are over by the date of the change", func(t *testing.T) {
		w := newWorld(t)
		b, other := w.ann(), w.ann()
		w.stores.set("DeleteAll", errors.New("down"))
		want(t, b.change(annPassword, nextPassword), 503, auth.DetailUnavailable)
		want(t, other.get("/me"), 401, expired)
	})
	t.Run("only in a session", func(t *testing.T) {
		w := newWorld(t)
		want(t, w.browser().change(annPassword, nextPassword), 401, auth.DetailNoCredentials)
	})
}

// The application asks nowhere how long a new password is. Old ones still log in.
func TestF32ShortNewPasswords(t *testing.T) {
	for name, c := range map[string]struct {
		least int
		next  string
		fault string
	}{
		"F32 7 characters":                        {0, "1234567", auth.DetailOption},
		"F32 7 characters of 14 bytes":            {0, "ééééééé", auth.DetailOption},
		"F32 none, though none are asked for":     {-1, "", auth.DetailOption},
		"F32 fewer than the server asks for":      {15, "12345678901234", auth.DetailOption},
		"8 characters":                            {0, "12345678", ""},
		"one character, which the server permits": {1, "x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(w *world) { w.manager.MinPassword = c.least })
			status := 200
			if c.fault != "" {
				status = 400
			}
			want(t, w.ann().change(annPassword, c.next), status, c.fault)
			var refused *auth.Error
			if _, err := w.manager.Passwords().Hash(t.Context(), c.next); (c.fault == "") != (err == nil) || err != nil && !errors.As(err, &refused) {
				t.Errorf("Hash: %v", err)
			}
		})
	}
	w := newWorld(t)
	w.stores.passwords["acme/bob"] = "bob"
	want(t, w.browser().login("bob", "bob"), 200, "")
}
