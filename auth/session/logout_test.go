package session_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

func TestF03LogoutWins(t *testing.T) {
	const rounds = 1000
	t.Run("F03 requests racing a logout", func(t *testing.T) {
		w := newWorld(t)
		for range rounds {
			b := w.ann()
			w.clock.Advance(2 * time.Minute) // so that the next request calls Touch
			old := b.clone()
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() { old.clone().get("/me") })
			}
			all.Go(func() {
				want(t, b.post("/logout"), 200, "")
				want(t, old.clone().get("/me"), 401, expired)
			})
			all.Wait()
			want(t, old.get("/me"), 401, expired)
			if n := len(w.sessions("ann")); n != 0 {
				t.Fatalf("%d sessions after the logout", n)
			}
		}
	})
	t.Run("F03 a step-up racing a logout", func(t *testing.T) {
		w := newWorld(t)
		for range rounds {
			b := w.ann()
			stepping := b.clone()
			var all sync.WaitGroup
			all.Go(func() { stepping.post("/reauthenticate", "login", "ann", "password", annPassword) })
			all.Go(func() { want(t, b.post("/logout"), 200, "") })
			all.Wait()
			if got := stepping.get("/me"); got.status != 401 {
				t.Fatalf("got %d after the logout", got.status)
			}
			if n := len(w.sessions("ann")); n != 0 {
				t.Fatalf("%d sessions after the logout", n)
			}
		}
	})
	// Both orders of that race.
	t.Run("F03 a logout while a step-up is hashed", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		stepping := b.clone()
		w.hasher.hold = sync.OnceFunc(func() { want(t, b.post("/logout"), 200, "") })
		want(t, stepping.post("/reauthenticate", "login", "ann", "password", annPassword), 401, expired)
		if n := len(w.sessions("ann")); n != 0 {
			t.Errorf("%d sessions", n)
		}
	})
	t.Run("F03 a logout with the token from before the step-up", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		old := b.clone()
		want(t, b.post("/reauthenticate", "login", "ann", "password", annPassword), 200, "")
		want(t, old.post("/logout"), 200, "")
		want(t, b.get("/me"), 401, expired)
	})
	t.Run("F03 a logout between check and touch", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		slow := b.clone()
		w.clock.Advance(2 * time.Minute)
		w.stores.before["Touch"] = sync.OnceFunc(func() { want(t, b.post("/logout"), 200, "") })
		handled := w.handled.Load()
		want(t, slow.get("/me"), 401, expired)
		if w.handled.Load() != handled {
			t.Error("the handler ran")
		}
		want(t, slow.get("/me"), 401, auth.DetailNoCredentials) // the cookie was cleared
	})
	t.Run("F03 the same on a route that is open", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		slow := b.clone()
		w.clock.Advance(2 * time.Minute)
		w.stores.before["Touch"] = sync.OnceFunc(func() { want(t, b.post("/logout"), 200, "") })
		got := slow.get("/maybe")
		want(t, got, 200, "")
		if got.data != "" {
			t.Errorf("acts as %v", got.data)
		}
	})
	t.Run("F03 logout ends both of two cookies", func(t *testing.T) {
		w := newWorld(t)
		first, second := w.ann(), w.ann()
		want(t, first.do("POST", "/logout", "", "Cookie", cookieName+"="+second.cookie(cookieName)), 200, "")
		if n := len(w.sessions("ann")); n != 0 {
			t.Errorf("%d sessions", n)
		}
	})
	t.Run("F03 logout without a session, and twice", func(t *testing.T) {
		w := newWorld(t)
		b := w.browser()
		want(t, b.post("/logout"), 200, "")
		b = w.ann()
		again := b.clone()
		want(t, b.post("/logout"), 200, "")
		want(t, again.post("/logout"), 200, "")
	})
}

func TestLogoutOfWhatIsNoToken(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	b.jar[cookieName], b.jar[ticketName] = "x", ""
	got := b.post("/logout")
	want(t, got, 200, "")
	if len(b.jar) > 0 || w.stores.count("Delete") != 0 {
		t.Errorf("cookies %q, %d writes", sets(got), w.stores.count("Delete"))
	}
}

// Each cookie that logout ends costs a write, and needs no authentication.
func TestLogoutOfManyCookies(t *testing.T) {
	for _, name := range []string{cookieName, ticketName} {
		for n, status := range map[int]int{16: 200, 17: 400, 1000: 400} {
			w := newWorld(t)
			planted := make([]string, n)
			for i := range planted {
				sum := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
				planted[i] = name + "=" + base64.RawURLEncoding.EncodeToString(sum[:])
			}
			fault, writes := "", n
			if status == 400 {
				fault, writes = auth.DetailAmbiguous, 0
			}
			want(t, w.browser().do("POST", "/logout", "", "Cookie", strings.Join(planted, "; ")), status, fault)
			if got := w.stores.count("Delete"); got != writes {
				t.Errorf("%d cookies: %d writes", n, got)
			}
		}
	}
}

// keeping is a store that returns a list which it keeps.
type keeping struct {
	*stores
	list []session.Session
}

func (s *keeping) List(ctx context.Context, org auth.OrgKey, account string) (_ []session.Session, err error) {
	if s.list == nil {
		s.list, err = s.stores.List(ctx, org, account)
	}
	return s.list, err
}

func TestListsAreTheStores(t *testing.T) {
	w := newWorld(t, func(w *world) { w.manager.Store = &keeping{stores: w.stores} })
	for _, ticket := range []string{"code", ""} {
		s := session.Session{Hash: sha256.Sum256([]byte(ticket)), ID: "of " + ticket, Org: "acme", Account: "ann", Ticket: ticket,
			Created: w.now(), Authenticated: w.now(), Seen: w.now(), Expires: w.now().Add(time.Hour)}
		if err := w.stores.Create(t.Context(), s, 0); err != nil {
			t.Fatal(err)
		}
	}
	ids := func() (all []string) {
		for _, s := range must(w.manager.Store.List(t.Context(), "acme", "ann")) {
			all = append(all, s.ID)
		}
		return all
	}
	before := ids()
	for range 2 {
		if n := len(must(w.manager.Sessions().List(t.Context(), &auth.Org{Code: "acme"}, "ann"))); n != 1 {
			t.Errorf("%d sessions, want the one that is no ticket", n)
		}
	}
	if after := ids(); len(before) != 2 || !slices.Equal(before, after) {
		t.Errorf("the store had %q, and now has %q", before, after)
	}
}
