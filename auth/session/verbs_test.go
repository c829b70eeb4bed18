package session_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/internal/testing/heard"
)

const agent = "Mozilla/5.0 (test)"

// hears makes an observer hear what do does, and compares the verbs.
func (w *world) hears(name string, do func(), want ...string) {
	w.t.Helper()
	w.events = nil
	do()
	if diff := cmp.Diff(want, heard.Verbs(w.t, w.events, agent)); diff != "" {
		w.t.Errorf("%s: %s", name, diff)
	}
}

func told(w *world) { w.guard.RequestID, w.agent = heard.RequestID, agent }

func TestVerbsOfLogins(t *testing.T) {
	w := newWorld(t, told, knowsDevices)
	b := w.browser()
	w.hears("a login", func() { b.login("ann", annPassword) },
		"login.accepted (pwd) acme/ann by ann with session:#1, session #1",
		"session.opened (pwd) acme/ann by ann with session:#1, session #1")
	w.hears("an unknown name", func() { w.browser().login("my password", "x") }, "login.wrong acme/")
	w.hears("a wrong password", func() { w.browser().login("ann", "x") }, "login.wrong acme/ann")
	w.hears("a step-up", func() { b.post("/reauthenticate", "login", "ann", "password", annPassword) },
		"session.renewed acme/ann by ann with session:#1, session #1")
	w.hears("a wrong step-up", func() { b.post("/reauthenticate", "login", "ann", "password", "x") },
		"login.wrong acme/ann by ann with session:#1")
	w.hears("another login in the same browser", func() { b.login("bob", "bob's password") },
		"session.ended (replaced) acme/ann, session #1",
		"login.accepted (pwd) acme/bob by bob with session:#2, session #2",
		"session.opened (pwd) acme/bob by bob with session:#2, session #2")
	w.hears("a logout", func() { b.post("/logout") }, "session.ended (logout) acme/bob, session #1")
	w.hears("a cookie that was never one", func() {
		b.jar[cookieName] = spare('A')
		b.post("/logout")
	})
	for range 10 {
		w.browser().login("bob", "x")
	}
	w.hears("a delay", func() { w.browser().login("bob", "bob's password") }, "login.delayed (pwd) acme/")
}

func TestVerbsOfSecondFactors(t *testing.T) {
	w := newWorld(t, told, knowsDevices)
	b, other := w.ann(), w.ann()
	want(t, other.get("/me"), 200, "")
	var secret session.FactorSecret
	var recovery []string
	w.hears("an enrolment", func() { secret, recovery = b.enrol() },
		"session.ended (factor.enrolled) ×1 acme/ann by ann with session:#1",
		"factor.enrolled acme/ann by ann with session:#1")
	w.clock.Advance(time.Minute)
	half := w.browser()
	w.hears("the first step", func() { half.login("ann", annPassword) }, "login.pending (code) acme/ann")
	w.hears("a wrong code", func() { half.post("/verify", "code", w.wrong(secret)) }, "code.refused acme/ann")
	w.hears("the second step", func() { half.post("/verify", "code", w.code(secret), "device", "on") },
		"code.accepted acme/ann",
		"login.accepted (pwd otp) acme/ann by ann with session:#1, session #1",
		"session.opened (pwd otp) acme/ann by ann with session:#1, session #1",
		"device.remembered (pwd otp) acme/ann by ann with session:#1, credential #2, session #1")
	w.hears("a recovery code", func() { w.browser().login("ann", annPassword, "code", recovery[0]) },
		"recovery.used acme/ann",
		"login.accepted (pwd otp) acme/ann by ann with session:#1, session #1",
		"session.opened (pwd otp) acme/ann by ann with session:#1, session #1")
	w.mux.HandleFunc("POST /forget", auth.Authenticated, func(rw http.ResponseWriter, r *http.Request) {
		if err := w.manager.Sessions().Revoke(r.Context(), "acme", "ann", w.devices()[0].ID); err != nil {
			t.Error(err)
		}
		rw.Write([]byte("{}"))
	})
	w.hears("a device is forgotten", func() { half.post("/forget") },
		"device.forgotten (revoked) acme/ann by ann with session:#1, credential #2")
	w.clock.Advance(time.Minute)
	w.hears("a wrong removal", func() { half.post("/remove", "code", w.wrong(secret)) }, "code.refused acme/ann by ann with session:#1")
	w.hears("a removal", func() { want(t, half.post("/remove", "code", w.code(secret)), 200, "") },
		"code.accepted acme/ann by ann with session:#1",
		"factor.removed acme/ann by ann with session:#1",
		"session.ended (factor.removed) ×2 acme/ann by ann with session:#1")
	secret, _ = half.enrol()
	for range 20 {
		half.post("/remove", "code", w.wrong(secret))
	}
	w.hears("a delay", func() { half.post("/remove", "code", w.code(secret)) },
		"login.delayed (otp) acme/ann by ann with session:#1")
	w.mux.HandleFunc("POST /reset-factor", auth.Authenticated, func(rw http.ResponseWriter, r *http.Request) {
		if err := w.manager.Factors().Reset(r.Context(), "acme", "ann"); err != nil {
			t.Error(err)
		}
		rw.Write([]byte("{}"))
	})
	bob := w.browser()
	bob.login("bob", "bob's password")
	w.hears("a reset by somebody else", func() { bob.post("/reset-factor") },
		"session.ended (revoked) ×1 acme/ann by bob with session:#1",
		"factor.removed (reset) acme/ann by bob with session:#1")

	required := newWorld(t, told, org(func(o *auth.Org) { o.Session.SecondFactor = true }))
	b = required.browser()
	required.hears("the org requires one", func() { b.login("ann", annPassword) }, "login.pending (enrol) acme/ann")
	required.hears("the enrolment completes the login", func() { b.enrol() },
		"login.accepted (pwd) acme/ann by ann with session:#1, session #1",
		"session.opened (pwd) acme/ann by ann with session:#1, session #1",
		"factor.enrolled acme/ann by ann with session:#1")
}

func TestVerbsOfSessions(t *testing.T) {
	w := newWorld(t, told)
	revoke := func(path string, do func(*http.Request, session.Sessions) error) {
		w.mux.HandleFunc("POST "+path, auth.Authenticated, func(rw http.ResponseWriter, r *http.Request) {
			if err := do(r, w.manager.Sessions()); err != nil {
				auth.Fail(rw, r, err)
				return
			}
			rw.Write([]byte("{}"))
		})
	}
	revoke("/revoke", func(r *http.Request, s session.Sessions) error {
		return s.Revoke(r.Context(), "acme", "ann", r.PostFormValue("id"))
	})
	revoke("/revoke-others", func(r *http.Request, s session.Sessions) error {
		_, err := s.RevokeAll(r.Context(), "acme", "ann", auth.From(r.Context()).SessionID)
		return err
	})
	revoke("/revoke-org", func(r *http.Request, s session.Sessions) error {
		_, err := s.RevokeOrg(r.Context(), "acme")
		return err
	})
	revoke("/revoke-later", func(r *http.Request, s session.Sessions) error {
		_, err := s.In(w.memory.Sessions()).RevokeAll(r.Context(), "acme", "ann", "")
		return err
	})
	bob := w.browser()
	bob.login("bob", "bob's password")
	w.ann()
	id := w.sessions("ann")[0].ID
	w.hears("one", func() { bob.post("/revoke", "id", id) }, "session.ended (revoked) acme/ann by bob with session:#1, session #2")
	w.hears("one that has ended", func() { bob.post("/revoke", "id", id) })
	ann := w.ann()
	w.ann()
	w.ann()
	w.hears("the others", func() { ann.post("/revoke-others") }, "session.ended (revoked) ×2 acme/ann by ann with session:#1")
	w.hears("none", func() { ann.post("/revoke-others") })
	w.hears("in a transaction", func() { ann.post("/revoke-later") })
	w.hears("all of the org", func() { bob.post("/revoke-org") }, "session.ended (revoked) ×1 acme/ by bob with session:#1")
}

func TestVerbsOfPasswords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPostOffice(t, told)
		b := w.ann()
		w.ann()
		w.hears("a change", func() { want(t, b.change(annPassword, "a new password"), 200, "") },
			"password.changed acme/ann by ann with session:#1",
			"session.ended (password.changed) ×1 acme/ann by ann with session:#1")
		w.hears("a wrong one", func() { b.change("x", "a new password") }, "login.wrong acme/ann by ann with session:#1")
		time.Sleep(time.Second)
		ticket := w.forgot("ann")
		w.hears("a reset", func() { want(t, w.reset(ticket), 200, "") },
			"password.reset acme/ann by ann",
			"session.ended (password.reset) ×1 acme/ann by ann")
		w.hears("a ticket again", func() { w.reset(ticket) })
	})
}

func TestVerbsOfOthers(t *testing.T) {
	w := newActing(t)
	told(w.world)
	b := w.ann()
	w.hears("acting", func() { b.post("/act", "account", "bob", "reason", "ticket 4711\x1b[2J") },
		"acting.began (ticket 4711?[2J) acme/bob by ann with session:#1, session #2")
	w.hears("both end", func() { want(t, b.post("/logout"), 200, "") },
		"session.ended (logout) acme/ann, session #1",
		"session.ended (logout) acme/bob, session #2")

	b = w.ann()
	var ticket string
	w.hears("an invitation", func() {
		ticket = b.post("/invite", "address", "eve@new.example", "roles", "reader").header.Get("Ticket")
	},
		"invitation.made acme/ by ann with session:#1, credential #2")
	w.hears("again", func() {
		ticket = b.post("/invite", "address", "eve@new.example", "roles", "reader").header.Get("Ticket")
	},
		"invitation.resent acme/ by ann with session:#1, credential #2")
	w.hears("accepted", func() { want(t, w.join(ticket), 200, "") }, "invitation.accepted acme/, credential #1")
	w.hears("accepted twice", func() { w.join(ticket) })
	w.mux.HandleFunc("POST /take-back", auth.Authenticated, func(rw http.ResponseWriter, r *http.Request) {
		if err := w.manager.Mail().TakeBack(r.Context(), "acme", w.open()[0].ID); err != nil {
			t.Error(err)
		}
		rw.Write([]byte("{}"))
	})
	b.post("/invite", "address", "eve@new.example")
	w.hears("taken back", func() { b.post("/take-back") }, "invitation.ended (revoked) acme/ by ann with session:#1, credential #2")

	person := entering(t)
	told(person)
	b = person.ann()
	person.hears("another org", func() { want(t, b.post("/enter", "org", "globex"), 200, "") },
		"session.entered (pwd) globex/anna, session #1") // ann of acme is nobody there
}

// Nothing of an agent or a name can fill a log, or write a line of its own into it.
func TestVerbsAreShort(t *testing.T) {
	w := newWorld(t)
	for _, sent := range []string{strings.Repeat("a", 1<<20), "a\r\nadmin logged in\x00\x1b[31m", "\xff\xfe"} {
		w.events, w.agent = nil, sent
		w.browser().login(sent, sent)
		w.browser().login("ann", annPassword)
		for _, e := range w.events {
			text := fmt.Sprintf("%+v", e)
			if len(e.Agent) > 256 || len(text) > 4096 || strings.ContainsAny(text, "\r\n\x00\x1b") || !utf8.ValidString(text) {
				t.Errorf("%.300q", text)
			}
		}
	}
}

// uncounted is a store whose driver does not tell how many records it has changed.
type uncounted struct{ session.Store }

func (s uncounted) DeleteAll(ctx context.Context, org auth.OrgKey, account, except string) (int, error) {
	_, err := s.Store.DeleteAll(ctx, org, account, except)
	return -1, err
}

func TestVerbsOfAStoreThatDoesNotCount(t *testing.T) {
	w := newWorld(t, told, func(w *world) { w.manager.Store = uncounted{w.manager.Store} })
	b, other := w.ann(), w.ann()
	w.hears("an enrolment", func() { b.enrol() },
		"session.ended (factor.enrolled) ×-1 acme/ann by ann with session:#1",
		"factor.enrolled acme/ann by ann with session:#1")
	want(t, other.get("/me"), 401, expired)
}
