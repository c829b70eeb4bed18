package session_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

const day = 24 * time.Hour

// offers is an org that offers to remember for 30 days.
func offers(o *auth.Org) { o.Session.RememberIdle = 30 * day }

// persistent is an org with persistent cookies.
func persistent(o *auth.Org) { o.Session.Persistent = true }

// remembered returns a browser with a session of ann, who asked to be remembered, and
// the reply of the login.
func (w *world) remembered() (*browser, reply) {
	w.t.Helper()
	b := w.browser()
	got := b.login("ann", annPassword, "remember", "yes")
	want(w.t, got, 200, "")
	return b, got
}

// maxAge returns the Max-Age of a cookie in a reply.
func maxAge(t *testing.T, got reply, name string) int {
	t.Helper()
	for _, c := range got.cookies {
		if c.Name == name && c.MaxAge >= 0 {
			return c.MaxAge
		}
	}
	t.Errorf("no cookie %s", name)
	return -1
}

func TestCookiesThatPersist(t *testing.T) {
	const hour = 3600
	for _, c := range []struct {
		name    string
		org     func(*auth.Org)
		ordinal int // Max-Age of an ordinary login, in seconds
		wished  int // of one that asks to be remembered
	}{
		{"by default, none", func(*auth.Org) {}, 0, 0},
		{"all of an org", persistent, 12 * hour, 12 * hour},
		{"all of an org with another end", func(o *auth.Org) { persistent(o); o.Session.Max = day }, 24 * hour, 24 * hour},
		{"those of remembered sessions", offers, 0, 720 * hour},
		{"all, and remembered ones for longer", func(o *auth.Org) { persistent(o); offers(o) }, 12 * hour, 720 * hour},
		{"remembered ones until the longer Max", func(o *auth.Org) { offers(o); o.Session.Max = 60 * day }, 0, 1440 * hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, org(c.org))
			if got := maxAge(t, w.browser().login("ann", annPassword), cookieName); got != c.ordinal {
				t.Errorf("Max-Age %d, want %d", got, c.ordinal)
			}
			_, got := w.remembered()
			if got := maxAge(t, got, cookieName); got != c.wished {
				t.Errorf("Max-Age %d for who asked, want %d", got, c.wished)
			}
		})
	}
}

// A new token gets a cookie that lasts as long as its session, not longer.
func TestPersistentCookieOfANewToken(t *testing.T) {
	for name, verb := range map[string]func(*browser) reply{
		"step-up": func(b *browser) reply { return b.post("/reauthenticate", "login", "ann", "password", annPassword) },
		"password": func(b *browser) reply {
			return b.post("/password", "login", "ann", "password", annPassword, "next", annPassword)
		},
		"second factor": func(b *browser) reply {
			return b.post("/confirm", "code", b.w.code(decoded(t, b.post("/enrol").data)))
		},
	} {
		for wish, lasts := range map[string]time.Duration{"": 12 * time.Hour, "yes": 30 * day} {
			t.Run(name+" "+wish, func(t *testing.T) {
				w := newWorld(t, org(func(o *auth.Org) { persistent(o); offers(o) }))
				b := w.browser()
				want(t, b.login("ann", annPassword, "remember", wish), 200, "")
				w.clock.Advance(time.Minute)
				got := verb(b)
				want(t, got, 200, "")
				if age := maxAge(t, got, cookieName); age != int((lasts-time.Minute)/time.Second) {
					t.Errorf("Max-Age %d", age)
				}
			})
		}
	}
}

func TestRenewingAPersistentSession(t *testing.T) {
	t.Run("in its last second", func(t *testing.T) {
		w := newWorld(t, org(func(o *auth.Org) { persistent(o); o.Session.Idle = day }))
		b := w.ann()
		w.clock.Advance(12*time.Hour - time.Millisecond)
		got := b.post("/reauthenticate", "login", "ann", "password", annPassword)
		want(t, got, 200, "")
		if age := maxAge(t, got, cookieName); age != 1 {
			t.Errorf("Max-Age %d: 0 would be until the browser is closed", age)
		}
	})
	t.Run("in an org that offers it no longer", func(t *testing.T) {
		w := newWorld(t, org(offers))
		b, _ := w.remembered()
		w.putOrg(func(*auth.Org) {})
		got := b.post("/reauthenticate", "login", "ann", "password", annPassword)
		want(t, got, 200, "")
		if age := maxAge(t, got, cookieName); age != 0 {
			t.Errorf("Max-Age %d: its cookies end with the browser", age)
		}
	})
	t.Run("keeps the session if the store is down", func(t *testing.T) {
		w := newWorld(t, org(persistent))
		b := w.ann()
		w.stores.before["Get"] = func() { w.stores.set("Get", http.ErrServerClosed) } // the next one
		got := b.post("/reauthenticate", "login", "ann", "password", annPassword)
		w.stores.before["Get"] = nil
		w.stores.set("Get", nil)
		want(t, got, 503, auth.DetailUnavailable)
		want(t, b.get("/me"), 200, "")
	})
}

func TestF24Remember(t *testing.T) {
	t.Run("a longer idle time", func(t *testing.T) {
		w := newWorld(t, org(offers))
		ordinary := w.ann()
		b, _ := w.remembered()
		w.clock.Advance(29 * day)
		want(t, ordinary.get("/me"), 401, expired)
		want(t, b.get("/me"), 200, "")
		w.clock.Advance(day)
		want(t, b.get("/me"), 401, expired)
	})
	t.Run("it ends by itself if it is in use", func(t *testing.T) {
		w := newWorld(t, org(offers))
		b, _ := w.remembered()
		for range 29 {
			w.clock.Advance(day)
			want(t, b.get("/me"), 200, "")
		}
		w.clock.Advance(day - time.Millisecond)
		want(t, b.get("/me"), 200, "")
		w.clock.Advance(time.Millisecond)
		want(t, b.get("/me"), 401, expired)
	})
	t.Run("or after a longer Max", func(t *testing.T) {
		w := newWorld(t, org(func(o *auth.Org) { offers(o); o.Session.Max = 60 * day }))
		b, _ := w.remembered()
		for range 3 {
			w.clock.Advance(20*day - time.Hour)
			if got := b.get("/me"); got.status != 200 {
				t.Fatal(got.status)
			}
		}
		w.clock.Advance(3 * time.Hour)
		want(t, b.get("/me"), 401, expired)
	})
	t.Run("a longer Idle applies instead", func(t *testing.T) {
		w := newWorld(t, org(func(o *auth.Org) { o.Session.RememberIdle, o.Session.Idle = time.Minute, time.Hour }))
		b, _ := w.remembered()
		w.clock.Advance(50 * time.Minute)
		want(t, b.get("/me"), 200, "")
	})
	for name, policy := range map[string]auth.SessionPolicy{
		"F24 in an org that does not offer it": {},
		"F24 in an org with a negative time":   {RememberIdle: -day},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, org(func(o *auth.Org) { o.Session = policy }))
			b, got := w.remembered()
			if age := maxAge(t, got, cookieName); age != 0 {
				t.Errorf("Max-Age %d", age)
			}
			w.putOrg(offers) // it was no remembered session when it began
			w.clock.Advance(30 * time.Minute)
			want(t, b.get("/me"), 401, expired)
		})
	}
	t.Run("F24 in an org that offers it no longer", func(t *testing.T) {
		w := newWorld(t, org(offers))
		b, _ := w.remembered()
		used, _ := w.remembered()
		w.clock.Advance(10 * time.Minute)
		want(t, used.get("/me"), 200, "")
		w.clock.Advance(25 * time.Minute)
		w.putOrg(func(*auth.Org) {})
		want(t, b.get("/me"), 401, expired)
		want(t, used.get("/me"), 200, "") // used as lately as an ordinary session must be
		w.clock.Advance(12 * time.Hour)
		want(t, used.get("/me"), 401, expired)
	})
	t.Run("F24 in an org that offers it for a shorter time", func(t *testing.T) {
		w := newWorld(t, org(offers))
		b, _ := w.remembered()
		w.putOrg(func(o *auth.Org) { o.Session.RememberIdle = day })
		w.clock.Advance(day)
		want(t, b.get("/me"), 401, expired)
	})
	t.Run("F24 by a session that was not asked for so", func(t *testing.T) {
		w := newWorld(t, org(offers))
		b := w.browser()
		want(t, b.post("/start", "account", "ann", "remember", "yes"), 200, "")
		w.clock.Advance(30 * time.Minute)
		want(t, b.get("/me"), 401, expired)
	})
	t.Run("the wish passes the second factor", func(t *testing.T) {
		w := newWorld(t, org(offers))
		factor, _ := w.ann().enrol()
		w.clock.Advance(time.Minute)
		b := w.browser()
		got := b.login("ann", annPassword, "remember", "yes")
		want(t, got, 403, auth.DetailSecondFactor)
		if age := maxAge(t, got, ticketName); age != 0 {
			t.Errorf("a ticket with Max-Age %d", age)
		}
		got = b.post("/verify", "code", w.code(factor))
		want(t, got, 200, "")
		if age := maxAge(t, got, cookieName); age != 30*24*3600 {
			t.Errorf("Max-Age %d", age)
		}
		w.clock.Advance(29 * day)
		want(t, b.get("/me"), 200, "")
	})
	t.Run("the wish passes an enrolment", func(t *testing.T) {
		w := newWorld(t, org(func(o *auth.Org) { offers(o); o.Session.SecondFactor = true }))
		b := w.browser()
		want(t, b.login("ann", annPassword, "remember", "yes"), 403, auth.DetailSecondFactor)
		b.enrol()
		w.clock.Advance(29 * day)
		want(t, b.get("/me"), 200, "")
	})
	t.Run("F24 the ticket lives no longer", func(t *testing.T) {
		w := newWorld(t, org(offers))
		factor, _ := w.ann().enrol()
		b := w.browser()
		want(t, b.login("ann", annPassword, "remember", "yes"), 403, auth.DetailSecondFactor)
		w.clock.Advance(5 * time.Minute)
		want(t, b.post("/verify", "code", w.code(factor)), 401, auth.DetailInvalidCode)
	})
	t.Run("F24 what ends every session ends it", func(t *testing.T) {
		w := newWorld(t, org(offers))
		for name, end := range map[string]func(*browser){
			"logout":  func(b *browser) { want(t, b.post("/logout"), 200, "") },
			"account": func(*browser) { must(w.manager.Sessions().RevokeAll(context.Background(), "acme", "ann", "")) },
			"org":     func(*browser) { must(w.manager.Sessions().RevokeOrg(context.Background(), "acme")) },
			"change": func(*browser) {
				w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Changed: w.now().Add(time.Millisecond)})
			},
		} {
			b, _ := w.remembered()
			before := b.clone()
			end(b)
			if got := before.get("/me"); got.status != 401 {
				t.Errorf("%s: %d", name, got.status)
			}
			w.clock.Advance(time.Second)
		}
	})
}
