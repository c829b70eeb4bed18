package session_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
)

// mail is what send got, or failed.
type mail struct {
	account, ticket string
	err             error
}

// postOffice is a world with routes for mailed tickets. It runs in a bubble, so that
// synctest.Wait waits for its mails.
type postOffice struct {
	*world
	mu    sync.Mutex
	mails []mail
	sent  func() // runs within send
}

func newPostOffice(t *testing.T, alter ...func(*world)) *postOffice {
	w := &postOffice{world: newWorld(t, append([]func(*world){realTime}, alter...)...)}
	m := w.manager
	verb := func(path string, n auth.Need, do func(*http.Request) (any, error)) {
		w.mux.HandleFunc("POST "+path, n, func(rw http.ResponseWriter, r *http.Request) {
			data, err := do(r)
			if err != nil {
				auth.Fail(rw, r, err)
				return
			}
			auth.Reply(rw, r, envelope.Result[any]{Data: data})
		})
	}
	verb("/forgot", auth.Public, func(r *http.Request) (any, error) {
		keep := func(m mail) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.mails = append(w.mails, m)
		}
		return "", m.Mail().SendReset(r, r.PostFormValue("login"), func(_ context.Context, account string, ticket session.MailTicket) error {
			if w.sent != nil {
				w.sent()
			}
			keep(mail{account, string(ticket), nil})
			return nil
		}, func(_ context.Context, err error) { keep(mail{err: err}) })
	})
	for path, n := range map[string]auth.Need{"/reset": auth.Public, "/reset/optional": auth.Optional} {
		verb(path, n, func(r *http.Request) (any, error) {
			return "", m.Mail().ResetPassword(r, r.PostFormValue("ticket"), r.PostFormValue("next"),
				func(_ context.Context, account, encoded string, changed time.Time) error {
					if err := w.stores.at("setPassword"); err != nil {
						return err
					}
					org := auth.TenantFrom(r.Context()).Org.Key()
					w.stores.put(string(org), account, encoded)
					w.directory.PutAccount(auth.Account{ID: account, Org: org, Changed: changed})
					return nil
				})
		})
	}
	verb("/address", auth.Public, func(r *http.Request) (any, error) {
		ticket, err := m.Mail().AddressTicket(r, r.PostFormValue("account"), r.PostFormValue("address"))
		return string(ticket), err
	})
	verb("/address/verify", auth.Public, func(r *http.Request) (any, error) {
		account, address, err := m.Mail().VerifyAddress(r, r.PostFormValue("ticket"))
		return account + " " + address, err
	})
	return w
}

// forgot asks for a reset, and returns the mail that follows. There must be one.
func (w *postOffice) forgot(login string) string {
	w.t.Helper()
	before := len(w.mails)
	want(w.t, w.browser().post("/forgot", "login", login), 200, "")
	synctest.Wait()
	if len(w.mails) != before+1 {
		w.t.Fatalf("%d mails, want one", len(w.mails)-before)
	}
	if err := w.mails[before].err; err != nil {
		w.t.Fatal(err)
	}
	time.Sleep(time.Millisecond) // tickets are ordered by their time
	return w.mails[before].ticket
}

// verify asks for a ticket for an address.
func (w *postOffice) verify(account, address string) string {
	w.t.Helper()
	got := w.browser().post("/address", "account", account, "address", address)
	want(w.t, got, 200, "")
	time.Sleep(time.Millisecond)
	return got.data.(string)
}

func (w *postOffice) reset(ticket string) reply {
	return w.browser().post("/reset", "ticket", ticket, "next", "a new password")
}

// bubble runs a test in a bubble.
func bubble(t *testing.T, name string, run func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, run) })
}

func TestResetPassword(t *testing.T) {
	bubble(t, "the new password opens a session, the former one does not", func(t *testing.T) {
		w := newPostOffice(t)
		open := w.ann()
		ticket := w.forgot("ann")
		if w.mails[0].account != "ann" {
			t.Errorf("mailed to %q", w.mails[0].account)
		}
		b := w.browser()
		got := b.post("/reset", "ticket", ticket, "next", "a new password")
		want(t, got, 200, "")
		if len(got.cookies) > 0 {
			t.Errorf("it sets %s", sets(got))
		}
		want(t, open.get("/me"), 401, expired)
		time.Sleep(time.Second)
		want(t, w.browser().login("ann", annPassword), 401, auth.DetailInvalidCredentials)
		want(t, w.browser().login("ann", "a new password"), 200, "")
	})
	bubble(t, "the second factor stays", func(t *testing.T) {
		w := newPostOffice(t)
		factor, _ := w.ann().enrol()
		time.Sleep(time.Minute)
		want(t, w.reset(w.forgot("ann")), 200, "")
		time.Sleep(time.Second)
		b := w.browser()
		want(t, b.login("ann", "a new password"), 403, auth.DetailSecondFactor)
		want(t, b.get("/me"), 401, auth.DetailNoCredentials)
		want(t, b.post("/verify", "code", w.code(factor)), 200, "")
	})
	bubble(t, "by somebody who is still signed in", func(t *testing.T) {
		w := newPostOffice(t)
		b := w.ann()
		for _, path := range []string{"/reset", "/reset/optional"} {
			want(t, b.post(path, "ticket", w.forgot("ann"), "next", "a new password"), 200, "")
			time.Sleep(time.Second)
			want(t, b.login("ann", "a new password"), 200, "")
		}
	})
	bubble(t, "by somebody whose session of another account has ended", func(t *testing.T) {
		w := newPostOffice(t)
		b := w.browser()
		want(t, b.login("bob", "bob's password"), 200, "")
		time.Sleep(30 * time.Minute)
		want(t, b.post("/reset", "ticket", w.forgot("ann"), "next", "a new password"), 200, "")
	})
	for name, alter := range map[string]func(*auth.Account){
		"disabled": func(a *auth.Account) { a.Disabled = true },
		"changed":  func(a *auth.Account) { a.Changed = time.Now() },
	} {
		bubble(t, "by somebody whose cookie is of another account, which was "+name, func(t *testing.T) {
			w := newPostOffice(t)
			b := w.browser()
			want(t, b.login("bob", "bob's password"), 200, "")
			time.Sleep(time.Second)
			bob := auth.Account{ID: "bob", Org: "acme"}
			alter(&bob)
			w.directory.PutAccount(bob)
			want(t, b.post("/reset", "ticket", w.forgot("ann"), "next", "a new password"), 200, "")
		})
	}
	bubble(t, "a full queue and a bad password do not cost the ticket", func(t *testing.T) {
		w := newPostOffice(t)
		ticket := w.forgot("ann")
		for _, next := range []string{"", strings.Repeat("x", 1025), "1234567", "ééééééé"} {
			want(t, w.browser().post("/reset", "ticket", ticket, "next", next), 400, auth.DetailOption)
		}
		want(t, w.reset(ticket), 200, "")
	})
}

// F23: what is no ticket for this purpose, account and time. A refusal writes nothing.
func TestF23WhatIsNoMailedTicket(t *testing.T) {
	const reset, verify = "/reset", "/address/verify"
	change := func(w *postOffice, alter func(*auth.Account)) {
		a := auth.Account{ID: "ann", Org: "acme"}
		alter(&a)
		w.directory.PutAccount(a)
	}
	for _, c := range []struct {
		name  string
		prove func(w *postOffice) (b *browser, path, ticket string)
	}{
		{"F23 used twice", func(w *postOffice) (*browser, string, string) {
			ticket := w.forgot("ann")
			want(w.t, w.reset(ticket), 200, "")
			return w.browser(), reset, ticket
		}},
		{"F23 used twice for an address", func(w *postOffice) (*browser, string, string) {
			ticket := w.verify("ann", "ann@example.test")
			want(w.t, w.browser().post(verify, "ticket", ticket), 200, "")
			return w.browser(), verify, ticket
		}},
		{"F23 another of the account, after a reset", func(w *postOffice) (*browser, string, string) {
			ticket := w.forgot("ann")
			want(w.t, w.reset(w.forgot("ann")), 200, "")
			return w.browser(), reset, ticket
		}},
		{"F23 by another account", func(w *postOffice) (*browser, string, string) {
			b := w.browser()
			want(w.t, b.login("bob", "bob's password"), 200, "")
			return b, reset, w.forgot("ann")
		}},
		{"F23 by another account, on a route for sessions", func(w *postOffice) (*browser, string, string) {
			b := w.browser()
			want(w.t, b.login("bob", "bob's password"), 200, "")
			return b, "/reset/optional", w.forgot("ann")
		}},
		{"F23 an address by another account", func(w *postOffice) (*browser, string, string) {
			b := w.browser()
			want(w.t, b.login("bob", "bob's password"), 200, "")
			return b, verify, w.verify("ann", "ann@example.test")
		}},
		{"F23 after a password change", func(w *postOffice) (*browser, string, string) {
			ticket := w.forgot("ann")
			want(w.t, w.ann().post("/password", "login", "ann", "password", annPassword, "next", "another one"), 200, "")
			return w.browser(), reset, ticket
		}},
		{"F23 after a change that ended no ticket", func(w *postOffice) (*browser, string, string) {
			ticket := w.forgot("ann")
			change(w, func(a *auth.Account) { a.Changed = time.Now() })
			return w.browser(), reset, ticket
		}},
		{"F23 of an account that was disabled", func(w *postOffice) (*browser, string, string) {
			ticket := w.forgot("ann")
			change(w, func(a *auth.Account) { a.Disabled = true })
			return w.browser(), reset, ticket
		}},
		{"F23 of another org", func(w *postOffice) (*browser, string, string) {
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "globex"})
			b := w.browser()
			b.org = "globex"
			return b, reset, w.forgot("ann")
		}},
		{"F23 of another purpose, an address", func(w *postOffice) (*browser, string, string) {
			return w.browser(), reset, w.verify("ann", "ann@example.test")
		}},
		{"F23 of another purpose, a reset", func(w *postOffice) (*browser, string, string) {
			return w.browser(), verify, w.forgot("ann")
		}},
		{"F23 the token of a session", func(w *postOffice) (*browser, string, string) {
			return w.browser(), reset, w.ann().cookie(cookieName)
		}},
		{"F23 the ticket of a login", func(w *postOffice) (*browser, string, string) {
			w.ann().enrol()
			b := w.browser()
			want(w.t, b.login("ann", annPassword), 403, auth.DetailSecondFactor)
			return w.browser(), reset, b.cookie(ticketName)
		}},
		{"F23 after half an hour", func(w *postOffice) (*browser, string, string) {
			ticket := w.forgot("ann")
			time.Sleep(30*time.Minute - time.Millisecond)
			return w.browser(), reset, ticket
		}},
		{"F23 after half an hour, in a store whose clock is behind", func(w *postOffice) (*browser, string, string) {
			begun := time.Now()
			w.memory.Now = func() time.Time { return begun }
			ticket := w.forgot("ann")
			time.Sleep(30*time.Minute - time.Millisecond)
			return w.browser(), reset, ticket
		}},
		{"F23 a mistyped address, after the right one was asked for", func(w *postOffice) (*browser, string, string) {
			ticket := w.verify("ann", "ann@exmaple.test")
			w.verify("ann", "ann@example.test")
			return w.browser(), verify, ticket
		}},
		{"F23 an address after a day", func(w *postOffice) (*browser, string, string) {
			ticket := w.verify("ann", "ann@example.test")
			time.Sleep(24*time.Hour - time.Millisecond)
			return w.browser(), verify, ticket
		}},
		{"F23 after three newer ones", func(w *postOffice) (*browser, string, string) {
			ticket := w.forgot("ann")
			for range 3 {
				time.Sleep(time.Minute)
				w.forgot("ann")
			}
			return w.browser(), reset, ticket
		}},
		{"F23 after its sessions were ended", func(w *postOffice) (*browser, string, string) {
			ticket := w.forgot("ann")
			must(w.manager.Sessions().RevokeAll(context.Background(), "acme", "ann", ""))
			return w.browser(), reset, ticket
		}},
		{"F23 after its factor was reset", func(w *postOffice) (*browser, string, string) {
			ticket := w.forgot("ann")
			if err := w.manager.Factors().Reset(context.Background(), "acme", "ann"); err != nil {
				w.t.Fatal(err)
			}
			return w.browser(), reset, ticket
		}},
		{"F23 empty", func(w *postOffice) (*browser, string, string) { return w.browser(), reset, "" }},
		{"F23 cut", func(w *postOffice) (*browser, string, string) { return w.browser(), reset, w.forgot("ann")[:42] }},
		{"F23 with a line break", func(w *postOffice) (*browser, string, string) { return w.browser(), reset, w.forgot("ann") + "\n" }},
		{"F23 invented", func(w *postOffice) (*browser, string, string) {
			return w.browser(), reset, strings.Repeat("A", 43)
		}},
	} {
		bubble(t, c.name, func(t *testing.T) {
			w := newPostOffice(t)
			b, path, ticket := c.prove(w)
			writes, password := w.stores.writes, w.stores.passwords["acme/ann"]
			want(t, b.post(path, "ticket", ticket, "next", "eve's password"), 401, auth.DetailInvalidCode)
			if w.stores.writes != writes || w.stores.passwords["acme/ann"] != password {
				t.Errorf("a refusal has written")
			}
		})
	}
}

// F23: a token or a key of another account redeems no ticket.
func TestF23ByAnotherCredential(t *testing.T) {
	bubble(t, "F23 by a token of another account", func(t *testing.T) {
		w := newPostOffice(t)
		ticket := w.forgot("ann")
		w.as(t, auth.Principal{Org: "acme", Account: "bob", Mechanism: "bearer"}, func(_ http.ResponseWriter, r *http.Request) {
			if err := w.manager.Mail().ResetPassword(r, ticket, "the next one", nil); !errors.Is(err, session.ErrCode) {
				t.Errorf("%v", err)
			}
		})
		want(t, w.reset(ticket), 200, "")
	})
}

// F23: a ticket opens nothing, and is no ticket of a login.
func TestF23AMailedTicketIsNoCookie(t *testing.T) {
	bubble(t, "F23 as cookies", func(t *testing.T) {
		w := newPostOffice(t, func(w *world) { w.putOrg(func(o *auth.Org) { o.Session.SecondFactor = true }) })
		for _, ticket := range []string{w.forgot("ann"), w.verify("ann", "ann@example.test")} {
			b := w.browser()
			b.jar[cookieName] = ticket
			want(t, b.get("/me"), 401, expired)
			b = w.browser()
			b.jar[ticketName] = ticket
			want(t, b.post("/verify", "code", "000000"), 401, auth.DetailInvalidCode)
			want(t, b.post("/enrol"), 401, auth.DetailNoCredentials)
		}
	})
	bubble(t, "F23 from a page of another origin", func(t *testing.T) {
		w := newPostOffice(t)
		ticket := w.forgot("ann")
		for _, path := range []string{"/forgot", "/reset", "/address", "/address/verify"} {
			got := w.browser().do("POST", path, form("login", "ann", "account", "ann", "address", "a@b", "ticket", ticket, "next", "x"), "Origin", "https://evil.example")
			want(t, got, 403, auth.DetailCrossOrigin)
		}
		want(t, w.reset(ticket), 200, "")
	})
	bubble(t, "F23 in a list of sessions", func(t *testing.T) {
		w := newPostOffice(t)
		w.forgot("ann")
		w.verify("ann", "ann@example.test")
		if n := len(w.sessions("ann")); n != 0 {
			t.Errorf("%d sessions", n)
		}
	})
}

// F23: of many requests with one ticket, on two processes that share the store, one
// sets the password.
func TestF23ATicketServesOnce(t *testing.T) {
	bubble(t, "F23 at once", func(t *testing.T) {
		w := newPostOffice(t)
		other := newPostOffice(t, func(o *world) {
			o.stores, o.directory = w.stores, w.directory
			o.guard.Directory = w.directory
			o.manager.Store, o.manager.Attempts, o.manager.FactorStore, o.manager.PasswordStore = w.stores, w.stores, w.stores, w.stores
		})
		ticket, address := w.forgot("ann"), w.verify("ann", "ann@example.test")
		var all sync.WaitGroup
		var mu sync.Mutex
		passed := map[string]int{}
		redeem := func(from *postOffice, path, ticket string) {
			got := from.browser().post(path, "ticket", ticket, "next", "a new password")
			mu.Lock()
			defer mu.Unlock()
			switch got.fault {
			case "":
				passed[path]++
			case auth.DetailInvalidCode, auth.DetailThrottled, auth.DetailLocked: // the queue of hashes
			default:
				t.Errorf("%s: %d %s", path, got.status, got.fault)
			}
		}
		for i := range 40 {
			from := []*postOffice{w, other}[i%2]
			all.Go(func() { redeem(from, "/address/verify", address) })
		}
		all.Wait()
		for i := range 40 {
			from := []*postOffice{w, other}[i%2]
			all.Go(func() { redeem(from, "/reset", ticket) })
		}
		all.Wait()
		if passed["/reset"] != 1 || passed["/address/verify"] != 1 {
			t.Errorf("F23 passed: %v, want each once", passed)
		}
		if n := w.stores.count("setPassword"); n != 1 {
			t.Errorf("F23 the password was set %d times", n)
		}
	})
}

// F25: asking for a reset tells nothing about the account.
func TestF25AskingForAReset(t *testing.T) {
	names := map[string]string{
		"known": "ann", "unknown": "nobody", "disabled": "bob", "empty": "", "longer than any name": strings.Repeat("n", 257),
	}
	for name, login := range names {
		bubble(t, "F25 "+name, func(t *testing.T) {
			w := newPostOffice(t)
			w.directory.PutAccount(auth.Account{ID: "bob", Org: "acme", Disabled: true})
			w.sent = func() { time.Sleep(time.Second) }
			slow := func() { time.Sleep(time.Second) }
			w.stores.before = map[string]func(){"Password": slow, "Create": slow}
			start := time.Now()
			got := w.browser().post("/forgot", "login", login)
			want(t, got, 200, "")
			if took := time.Since(start); took != 0 {
				t.Errorf("took %v", took)
			}
			if counted := w.stores.count("Try") > 0; counted != (login != "" && len(login) <= 256) {
				t.Errorf("counted: %t", counted)
			}
			if got.body != w.browser().post("/forgot", "login", "ann").body || len(got.cookies) > 0 {
				t.Errorf("another reply: %s", got.body)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if n, known := len(w.mails), name == "known"; known && n != 2 || !known && n != 1 {
				t.Errorf("%d mails", n)
			}
		})
	}
	bubble(t, "F25 more often than is allowed", func(t *testing.T) {
		w := newPostOffice(t)
		for i := range 3 {
			for _, name := range []string{"ann", "nobody"} {
				want(t, w.browser().post("/forgot", "login", name), 200, "")
			}
			if i == 1 {
				time.Sleep(time.Second)
			}
		}
		synctest.Wait()
		creates := w.stores.count("Create")
		for _, name := range []string{"ann", " ANN ", "nobody"} {
			got := w.browser().post("/forgot", "login", name)
			want(t, got, 429, auth.DetailLocked)
			if after := got.header.Get("Retry-After"); after != "1" {
				t.Errorf("%s: after %s s", name, after)
			}
		}
		synctest.Wait()
		if w.stores.count("Create") != creates || len(w.mails) != 3 {
			t.Errorf("%d mails", len(w.mails))
		}
		want(t, w.browser().login("ann", annPassword), 200, "") // logins are counted apart
		for range 70 {
			w.browser().post("/forgot", "login", "ann")
		}
		want(t, w.browser().post("/forgot", "login", "another"), 200, "") // what was refused sends nothing
	})
	bubble(t, "F25 for many names from one address", func(t *testing.T) {
		w := newPostOffice(t)
		for i := range 101 {
			got := w.browser().post("/forgot", "login", fmt.Sprint("name", i))
			synctest.Wait()
			if refused := got.status == 429; refused != (i == 100) {
				t.Fatalf("request %d: %d", i, got.status)
			}
		}
		b := w.browser()
		b.remote = "192.0.2.2:4711"
		want(t, b.post("/forgot", "login", "ann"), 200, "")
	})
	bubble(t, "F25 while too many mails are being sent", func(t *testing.T) {
		w := newPostOffice(t)
		release := make(chan struct{})
		w.sent = func() { <-release }
		for i := range 65 {
			name := fmt.Sprint("name", i)
			w.stores.put("acme", name, "x")
			w.directory.PutAccount(auth.Account{ID: name, Org: "acme"})
			got := w.browser().post("/forgot", "login", name)
			if refused := got.fault == auth.DetailThrottled; refused != (i == 64) {
				t.Fatalf("request %d: %d", i, got.status)
			}
		}
		tries := w.stores.count("Try")
		want(t, w.browser().post("/forgot", "login", "nobody"), 429, auth.DetailThrottled)
		if w.stores.count("Try") != tries {
			t.Error("a refused request was counted")
		}
		other := w.browser()
		other.org = "globex"
		want(t, other.post("/forgot", "login", "gus"), 200, "") // its mails are not those of acme
		close(release)
		synctest.Wait()
		want(t, w.browser().post("/forgot", "login", "name64"), 200, "")
	})
	for _, verb := range []string{"Password", "Create"} {
		bubble(t, "F25 the store of "+verb+" is down", func(t *testing.T) {
			w := newPostOffice(t)
			w.stores.set(verb, http.ErrServerClosed)
			want(t, w.browser().post("/forgot", "login", "ann"), 200, "")
			synctest.Wait()
			if len(w.mails) != 1 || !isUnavailable(w.mails[0].err) || w.mails[0].ticket != "" || w.mails[0].account != "" {
				t.Errorf("send got %+v", w.mails)
			}
		})
	}
	bubble(t, "F25 a login that names no account", func(t *testing.T) {
		w := newPostOffice(t, func(w *world) { w.manager.PasswordStore = nameless{w.stores} })
		w.directory.PutAccount(auth.Account{Org: "acme"})
		want(t, w.browser().post("/forgot", "login", "ann"), 200, "")
		synctest.Wait()
		if len(w.mails) > 0 {
			t.Errorf("send got %+v", w.mails)
		}
	})
	bubble(t, "F25 an account whose encoded password is empty", func(t *testing.T) {
		w := newPostOffice(t)
		w.stores.put("acme", "bob", "")
		want(t, w.browser().post("/forgot", "login", "bob"), 200, "")
		synctest.Wait()
		if len(w.mails) > 0 {
			t.Error("a reset would give a password to an account that signs in elsewhere")
		}
	})
	bubble(t, "F25 a panic of send", func(t *testing.T) {
		w := newPostOffice(t)
		w.sent = func() { panic("no template") }
		want(t, w.browser().post("/forgot", "login", "ann"), 200, "")
		synctest.Wait()
		if len(w.mails) != 1 || !strings.Contains(fmt.Sprint(w.mails[0].err), "no template") {
			t.Errorf("failed got %+v", w.mails)
		}
		w.sent = nil
		w.forgot("ann")
	})
}

// slowHasher is a Hasher whose Hash takes a second.
type slowHasher struct{ *counter }

func (s slowHasher) Hash(password string) (string, error) {
	time.Sleep(time.Second)
	return s.counter.Hash(password)
}

// F23: an account that is changed or disabled while the new password waits for its hash
// keeps its password.
func TestF23ChangedWhileItIsHashed(t *testing.T) {
	for name, alter := range map[string]func(*auth.Account){
		"F23 disabled": func(a *auth.Account) { a.Disabled = true },
		"F23 changed":  func(a *auth.Account) { a.Changed = time.Now() },
	} {
		bubble(t, name, func(t *testing.T) {
			w := newPostOffice(t, func(w *world) { w.manager.Hasher = slowHasher{w.hasher} })
			ticket := w.forgot("ann")
			var reset sync.WaitGroup
			reset.Go(func() { want(t, w.reset(ticket), 401, auth.DetailInvalidCode) })
			synctest.Wait()
			ann := auth.Account{ID: "ann", Org: "acme"}
			alter(&ann)
			w.directory.PutAccount(ann)
			reset.Wait()
			if w.stores.passwords["acme/ann"] != annPassword {
				t.Error("the password was replaced")
			}
		})
	}
}

// F23: one ticket, sent many times at once, takes no places of registrations.
func TestF23ATicketSentManyTimes(t *testing.T) {
	bubble(t, "F23 its account has few places in the queue of hashes", func(t *testing.T) {
		w := newPostOffice(t, func(w *world) { w.manager.Hasher = slowHasher{w.hasher} })
		w.mux.HandleFunc("POST /register", auth.Public, func(rw http.ResponseWriter, r *http.Request) {
			if _, err := w.manager.Passwords().Hash(r.Context(), "bob's password"); err != nil {
				auth.Fail(rw, r, err)
				return
			}
			auth.Reply(rw, r, envelope.Result[bool]{Data: true})
		})
		ticket := w.forgot("ann")
		var all sync.WaitGroup
		var mu sync.Mutex
		locked := 0
		for range 200 {
			all.Go(func() {
				got := w.reset(ticket)
				mu.Lock()
				defer mu.Unlock()
				if got.fault == auth.DetailLocked {
					locked++
				}
			})
		}
		synctest.Wait()
		want(t, w.browser().post("/register"), 200, "")
		all.Wait()
		if locked != 195 {
			t.Errorf("%d of 200 requests were refused, want all but 5", locked)
		}
	})
}

func TestResetPasswordThatFails(t *testing.T) {
	for verb, c := range map[string]struct {
		status int
		fault  string
		again  int // status of a second try with the ticket
	}{
		"Get":         {503, auth.DetailUnavailable, 200},
		"DeleteID":    {503, auth.DetailUnavailable, 200},
		"setPassword": {503, auth.DetailUnavailable, 401}, // used: nobody knows what was stored
		"DeleteAll":   {503, auth.DetailUnavailable, 401},
	} {
		bubble(t, verb, func(t *testing.T) {
			w := newPostOffice(t)
			ticket := w.forgot("ann")
			w.stores.set(verb, auth.Unavailable(http.ErrServerClosed))
			want(t, w.reset(ticket), c.status, c.fault)
			w.stores.set(verb, nil)
			if got := w.reset(ticket); got.status != c.again {
				t.Errorf("again: %d %s", got.status, got.fault)
			}
		})
	}
}

func TestAddressTicket(t *testing.T) {
	bubble(t, "returns what it was made for", func(t *testing.T) {
		w := newPostOffice(t)
		long := strings.Repeat("ä", 120) + "@example.test"
		for _, address := range []string{long, "ann@example.test"} {
			got := w.browser().post("/address/verify", "ticket", w.verify("ann", address))
			want(t, got, 200, "")
			if got.data != "ann "+address {
				t.Errorf("verified %q", got.data)
			}
		}
	})
	bubble(t, "of what is no address", func(t *testing.T) {
		w := newPostOffice(t)
		for _, address := range []string{"", strings.Repeat("a", 255), "a\x00b", "a\r\nBcc: c", "a\xff"} {
			want(t, w.browser().post("/address", "account", "ann", "address", address), 400, auth.DetailOption)
		}
	})
	bubble(t, "F23 of no account", func(t *testing.T) {
		w := newPostOffice(t)
		w.directory.PutAccount(auth.Account{ID: "bob", Org: "acme", Disabled: true})
		w.directory.PutAccount(auth.Account{Org: "acme"}) // the zero principal's
		for _, account := range []string{"", "nobody", "bob", "gus"} {
			want(t, w.browser().post("/address", "account", account, "address", "a@example.test"), 404, auth.DetailNotFound)
		}
		if w.stores.writes != 0 {
			t.Errorf("%d writes", w.stores.writes)
		}
	})
	bubble(t, "F23 more often than is allowed", func(t *testing.T) {
		w := newPostOffice(t)
		for i := range 3 {
			w.verify("ann", fmt.Sprint(i, "@example.test"))
		}
		want(t, w.browser().post("/address", "account", "ann", "address", "a@example.test"), 429, auth.DetailLocked)
		w.verify("bob", "bob@example.test")
	})
	bubble(t, "F23 a store that fails is no attempt", func(t *testing.T) {
		w := newPostOffice(t)
		w.stores.set("Create", http.ErrServerClosed)
		for range 4 {
			want(t, w.browser().post("/address", "account", "ann", "address", "a@example.test"), 503, auth.DetailUnavailable)
		}
	})
}

// A program that ends waits for the mails that are being sent, and no longer than it likes.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPostOffice(t)
		if err := w.manager.Wait(t.Context()); err != nil {
			t.Errorf("without mails: %v", err)
		}
		w.sent = func() { time.Sleep(20 * time.Second) }
		want(t, w.browser().post("/forgot", "login", "ann"), 200, "")
		want(t, w.browser().post("/forgot", "login", "bob"), 200, "")
		brief, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := w.manager.Wait(brief)
		w.mu.Lock()
		if !errors.Is(err, context.DeadlineExceeded) || len(w.mails) > 0 {
			t.Errorf("got %v with %d mails", err, len(w.mails))
		}
		w.mu.Unlock()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if err := w.manager.Wait(t.Context()); err != nil {
					t.Errorf("got %v", err)
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				if len(w.mails) != 2 {
					t.Errorf("%d mails are sent", len(w.mails))
				}
			})
		}
		both.Wait()
	})
}
