package session_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/scope"
)

// newActing is a world in which ann administers acme, and may act for bob.
func newActing(t testing.TB) *inviting {
	w := newInviting(t)
	w.mux.HandleFunc("POST /act", auth.Authenticated, func(rw http.ResponseWriter, r *http.Request) {
		p, err := w.manager.Act(rw, r, r.PostFormValue("account"), r.PostFormValue("reason"))
		if err != nil {
			auth.Fail(rw, r, err)
			return
		}
		auth.Reply(rw, r, envelope.Result[string]{Data: p.Account + " by " + p.Actor()})
	})
	w.mux.HandleFunc("POST /make", auth.Authenticated, func(rw http.ResponseWriter, r *http.Request) {
		p := auth.From(r.Context())
		if err := p.MayMake(auth.Making{Account: p.Account, Expires: w.now().Add(time.Minute), EndsWithMaker: true}); err != nil {
			auth.Fail(rw, r, err)
			return
		}
		rw.Write([]byte("{}"))
	})
	return w
}

// acting returns a browser in which ann acts for bob.
func (w *inviting) acting() *browser {
	w.t.Helper()
	b := w.ann()
	want(w.t, b.post("/act", "account", "bob", "reason", "ticket 4711"), 200, "")
	return b
}

func TestAct(t *testing.T) {
	w := newActing(t)
	b := w.acting()
	w.events = nil
	if got := b.get("/me"); got.status != 200 || !strings.Contains(got.body, "bob") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if e := w.events[0]; e.Account != "bob" || e.Actor != "ann" {
		t.Errorf("event of %q by %q", e.Account, e.Actor)
	}
	list := must(w.manager.Sessions().List(t.Context(), &auth.Org{Code: "acme"}, "bob"))
	if len(list) != 1 || list[0].Proof.Text != "ticket 4711" || list[0].From != "acme" {
		t.Errorf("its owner sees %+v", list)
	}
	for range 5 {
		w.clock.Advance(11*time.Minute + 59*time.Second)
		want(t, b.get("/me"), 200, "")
	}
	w.clock.Advance(6 * time.Second)
	want(t, b.get("/me"), 401, expired)
}

func TestF44WhoActs(t *testing.T) {
	for name, c := range map[string]struct {
		do     func(w *inviting) reply
		status int
		detail string
	}{
		"F44 no administrator": {func(w *inviting) reply {
			b := w.browser()
			want(t, b.login("bob", "bob's password"), 200, "")
			return b.post("/act", "account", "ann", "reason", "x")
		}, 403, auth.DetailDelegation},
		"F44 no administrator, who may do what one may": {func(w *inviting) reply {
			w.directory.PutRole("acme", auth.Role{Name: "deputy", Scope: []string{"admin", "object"}})
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"deputy"}})
			return w.ann().post("/act", "account", "bob", "reason", "x")
		}, 403, auth.DetailDelegation},
		"F44 for an account that may do more": {func(w *inviting) reply {
			w.directory.PutAccount(auth.Account{ID: "bob", Org: "acme", Roles: []string{"deployer"}})
			return w.ann().post("/act", "account", "bob", "reason", "x")
		}, 403, auth.DetailDelegation},
		"F44 of a session that was left signed in": {func(w *inviting) reply {
			b := w.ann()
			w.clock.Advance(11 * time.Minute)
			return b.post("/act", "account", "bob", "reason", "x")
		}, 403, auth.DetailReauthenticate},
		"F44 without a reason":    {func(w *inviting) reply { return w.ann().post("/act", "account", "bob") }, 400, auth.DetailOption},
		"F44 for the own account": {func(w *inviting) reply { return w.ann().post("/act", "account", "ann", "reason", "x") }, 400, auth.DetailOption},
		"F44 for nobody":          {func(w *inviting) reply { return w.ann().post("/act", "account", "eve", "reason", "x") }, 404, auth.DetailNotFound},
		"F44 for an account that is disabled": {func(w *inviting) reply {
			w.directory.PutAccount(auth.Account{ID: "bob", Org: "acme", Disabled: true})
			return w.ann().post("/act", "account", "bob", "reason", "x")
		}, 404, auth.DetailNotFound},
		"F44 from a page of another origin": {func(w *inviting) reply {
			return w.ann().do("POST", "/act", form("account", "bob", "reason", "x"), "Sec-Fetch-Site", "cross-site")
		}, 403, auth.DetailCrossOrigin},
	} {
		t.Run(name, func(t *testing.T) {
			w := newActing(t)
			want(t, c.do(w), c.status, c.detail)
			if open := must(w.memory.Sessions().List(t.Context(), "acme", "bob")); len(open) > 0 && open[0].Origin != "" {
				t.Errorf("%+v", open)
			}
		})
	}
	t.Run("F44 no more than 20 sessions act for an account", func(t *testing.T) {
		w := newActing(t)
		b := w.ann()
		own := b.jar[cookieName]
		for range 20 {
			b.jar[cookieName] = own
			want(t, b.post("/act", "account", "bob", "reason", "x"), 200, "")
		}
		b.jar[cookieName] = own
		want(t, b.post("/act", "account", "bob", "reason", "x"), 429, auth.DetailThrottled)
	})
	t.Run("F44 by a token", func(t *testing.T) {
		w := newActing(t)
		by := auth.Principal{Org: "acme", Account: "ann", Mechanism: "bearer", Roles: []string{"administrator"}, Granted: scope.Unscoped(), Scope: scope.Unscoped()}
		w.as(t, by, func(rw http.ResponseWriter, r *http.Request) {
			if _, err := w.manager.Act(rw, r, "bob", "x"); err == nil || len(rw.Header()["Set-Cookie"]) > 0 {
				t.Error("it acts")
			}
		})
	})
}

// addressTicket returns a ticket for an address that an account has asked for.
func (w *inviting) addressTicket(account string) (ticket string) {
	w.as(w.t.(*testing.T), auth.Principal{}, func(_ http.ResponseWriter, r *http.Request) {
		ticket = string(must(w.manager.Mail().AddressTicket(r, account, "x@example.test")))
	})
	return ticket
}

func TestF45WhatAnActorCannot(t *testing.T) {
	w := newActing(t)
	b := w.acting()
	for path, c := range map[string]struct {
		fields []string
		detail string
	}{
		"/act":            {[]string{"account", "ann", "reason", "x"}, auth.DetailForbidden},
		"/sudo":           {nil, auth.DetailReauthenticate},
		"/enrol":          {nil, auth.DetailReauthenticate},
		"/confirm":        {[]string{"code", "000000"}, auth.DetailForbidden},
		"/remove":         {[]string{"code", "000000"}, auth.DetailReauthenticate},
		"/reauthenticate": {[]string{"login", "bob", "password", "bob's password"}, auth.DetailForbidden},
		"/password":       {[]string{"login", "bob", "password", "bob's password", "next", "another password"}, auth.DetailReauthenticate},
		"/invite":         {[]string{"address", "eve@new.example"}, auth.DetailReauthenticate},
		"/make":           {nil, auth.DetailDelegation},
		"/start":          {[]string{"account", "bob"}, ""}, // on a public route: see below
	} {
		if path != "/start" {
			t.Run("F45 "+path, func(t *testing.T) { want(t, b.post(path, c.fields...), 403, c.detail) })
		}
	}
	t.Run("F45 Start, Enrol and a ticket for an address, in a request of the actor", func(t *testing.T) {
		by := auth.Principal{Org: "acme", Account: "bob", Caller: "ann", Mechanism: session.Name, SessionID: "x", Granted: scope.Unscoped(), Scope: scope.Unscoped()}
		w.as(t, by, func(rw http.ResponseWriter, r *http.Request) {
			_, start := w.manager.Start(rw, r, "bob", session.Proof{At: w.now()})
			_, address := w.manager.Mail().AddressTicket(r, "bob", "x@example.test")
			_, enrol := w.manager.Factors().Enrol(r)
			_, enter := w.manager.Enter(rw, r, "globex")
			_, _, verify := w.manager.Mail().VerifyAddress(r, w.addressTicket("bob"))
			for verb, err := range map[string]error{"Start": start, "AddressTicket": address} {
				if !isBeyond(err) {
					t.Errorf("%s: %v", verb, err)
				}
			}
			for verb, err := range map[string]error{"Enrol": enrol, "Enter": enter, "VerifyAddress": verify} {
				if e, ok := errors.AsType[*auth.Error](err); !ok || e.Detail != auth.DetailForbidden {
					t.Errorf("%s: %v", verb, err)
				}
			}
		})
	})
}

func TestF46ActingEndsWithTheActor(t *testing.T) {
	for name, end := range map[string]func(w *inviting, b *browser){
		"F46 the actor's session is revoked": func(w *inviting, _ *browser) { w.manager.Sessions().RevokeAll(t.Context(), "acme", "ann", "") },
		"F46 the actor is disabled": func(w *inviting, _ *browser) {
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"administrator"}, Disabled: true})
		},
		"F46 the actor is no administrator any more": func(w *inviting, _ *browser) {
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"reader"}})
		},
		"F46 the account may do more by now": func(w *inviting, _ *browser) {
			w.directory.PutAccount(auth.Account{ID: "bob", Org: "acme", Roles: []string{"deployer"}})
		},
		"F46 the actor's account was changed": func(w *inviting, _ *browser) {
			w.clock.Advance(time.Second)
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"administrator"}, Changed: w.clock.Now()})
		},
		"F46 the org shortens its sessions": func(w *inviting, _ *browser) {
			w.clock.Advance(2 * time.Minute)
			w.putOrg(func(o *auth.Org) { o.Session.Max = time.Minute })
		},
		"F46 its owner ends it": func(w *inviting, _ *browser) {
			list := must(w.manager.Sessions().List(t.Context(), &auth.Org{Code: "acme"}, "bob"))
			w.manager.Sessions().Revoke(t.Context(), "acme", "bob", list[0].ID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newActing(t)
			b := w.acting()
			want(t, b.get("/me"), 200, "")
			end(w, b)
			want(t, b.get("/me"), 401, expired)
		})
	}
	t.Run("F46 the session that the actor's was entered from", func(t *testing.T) {
		w := newActing(t)
		w.guard.Directory = w.directory
		w.putOrg(func(o *auth.Org) { o.Session.EnterWith, o.Session.EndWithOrigin = []string{"pwd"}, true })
		w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Person: "p1", Roles: []string{"administrator"}})
		w.directory.PutAccount(auth.Account{ID: "anna", Org: "globex", Person: "p1"})
		w.stores.passwords["globex/anna"] = globexPassword
		w.mux.HandleFunc("POST /enter", auth.Authenticated, func(rw http.ResponseWriter, r *http.Request) {
			p, err := w.manager.Enter(rw, r, "acme")
			if err != nil {
				auth.Fail(rw, r, err)
				return
			}
			auth.Reply(rw, r, envelope.Result[string]{Data: p.Account})
		})
		b := w.browser()
		b.org = "globex"
		want(t, b.login("anna", globexPassword), 200, "")
		want(t, b.post("/enter"), 200, "")
		b.org = "acme"
		want(t, b.post("/act", "account", "bob", "reason", "x"), 200, "")
		want(t, b.get("/me"), 200, "")
		want(t, b.in("globex", func() reply { return b.post("/logout") }), 200, "")
		want(t, b.get("/me"), 401, expired)
	})
	t.Run("F46 a logout ends both", func(t *testing.T) {
		w := newActing(t)
		b := w.acting()
		want(t, b.post("/logout"), 200, "")
		for _, account := range []string{"ann", "bob"} {
			if open := must(w.memory.Sessions().List(t.Context(), "acme", account)); len(open) != 0 {
				t.Errorf("%s has %d", account, len(open))
			}
		}
	})
	t.Run("the account's own sessions stay", func(t *testing.T) {
		w := newActing(t)
		w.putOrg(func(o *auth.Org) { o.Session.PerAccount = 1 })
		bob := w.browser()
		want(t, bob.login("bob", "bob's password"), 200, "")
		w.acting()
		want(t, bob.get("/me"), 200, "")
	})
}
