package session_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/scope"
)

// roleless is a directory whose roles cannot be read.
type roleless struct{ auth.Directory }

func (roleless) Roles(context.Context, auth.OrgKey, []string) ([]auth.Role, error) {
	return nil, errors.New("connection refused")
}

// notes adds routes of objects to the world.
func (w *world) notes() {
	answer := func(rw http.ResponseWriter, r *http.Request) { w.answer(rw, r) }
	w.mux.Handle("GET /notes", auth.Some("object.read.c_note"), auth.PartHandler(func(rw http.ResponseWriter, r *http.Request, _ scope.Part) { w.answer(rw, r) }))
	w.mux.HandleFunc("DELETE /notes", auth.Allow("object.delete.c_note"), answer)
}

func TestM21RolesBoundASession(t *testing.T) {
	for _, c := range []struct {
		name                 string
		unrestricted         bool
		roles                []string
		get, remove, account int
	}{
		{"off: roles bound nothing", true, []string{"reader"}, 200, 200, 200},
		{"M21 no role permits nothing", false, nil, 403, 403, 200},
		{"M21 a role without chains permits nothing", false, []string{"member"}, 403, 403, 200},
		{"M21 a reader reads", false, []string{"reader"}, 200, 403, 200},
		{"M21 two roles permit what either does", false, []string{"reader", "cleaner"}, 200, 200, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, func(w *world) {
				if !c.unrestricted {
					w.guard.Roles = auth.RolesLimit
				}
			})
			w.notes()
			w.directory.PutRole("acme", auth.Role{Name: "reader", Scope: []string{"object.read"}})
			w.directory.PutRole("acme", auth.Role{Name: "cleaner", Scope: []string{"object.delete"}})
			w.directory.PutRole("acme", auth.Role{Name: "member"})
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: c.roles})
			b := w.ann()
			for _, ask := range []struct {
				method, path string
				status       int
			}{{"GET", "/notes", c.get}, {"DELETE", "/notes", c.remove}, {"GET", "/me", c.account}} {
				if got := b.do(ask.method, ask.path, ""); got.status != ask.status {
					t.Errorf("%s %s: %d, want %d", ask.method, ask.path, got.status, ask.status)
				}
			}
			// A role that changes takes effect with the next request.
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
			if got := b.get("/notes"); !c.unrestricted && got.status != 403 {
				t.Errorf("without its roles: %d", got.status)
			}
		})
	}
}

func TestM21WhatASessionOfARoleMayMake(t *testing.T) {
	w := newWorld(t, func(w *world) { w.guard.Roles = auth.RolesLimit })
	w.directory.PutRole("acme", auth.Role{Name: "reader", Scope: []string{"object.read"}})
	w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"reader"}})
	reads, err := scope.Compile("wish", "object.read.c_note")
	if err != nil {
		t.Fatal(err)
	}
	var within, beyond error
	w.answer = func(_ http.ResponseWriter, r *http.Request) {
		within = auth.From(r.Context()).MayMake(auth.Making{Account: "ann", Scope: reads})
		beyond = auth.From(r.Context()).MayMake(auth.Everything("ann"))
	}
	w.mux.HandleFunc("GET /make", auth.Authenticated, func(rw http.ResponseWriter, r *http.Request) {
		w.answer(rw, r)
		auth.Reply(rw, r, envelope.Result[bool]{Data: true})
	})
	w.ann().get("/make")
	if within != nil || beyond == nil {
		t.Errorf("within its role: %v; beyond: %v", within, beyond)
	}
}

// Roles that cannot be read refuse a request and a login, and open no session.
func TestM21RolesThatCannotBeRead(t *testing.T) {
	w := newWorld(t, func(w *world) { w.guard.Roles = auth.RolesLimit })
	b := w.ann()
	w.guard.Directory = roleless{w.directory}
	want(t, b.get("/me"), 503, "error.storeUnavailable")
	want(t, w.browser().login("ann", annPassword), 503, "error.storeUnavailable")
	if n := len(w.sessions("ann")); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// Roles that cannot be read cost neither the ticket of the second step nor its code.
func TestM21RolesThatCannotBeReadCostNoCode(t *testing.T) {
	for name, login := range map[string]func(b *browser, code string) reply{
		"M21 in two steps": func(b *browser, code string) reply { return b.post("/verify", "code", code) },
		"M21 in one step": func(b *browser, code string) reply {
			return b.post("/login", "login", "ann", "password", annPassword, "code", code)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(w *world) { w.guard.Roles = auth.RolesLimit })
			_, recovery := w.ann().enrol()
			b := w.browser()
			want(t, b.login("ann", annPassword), 403, auth.DetailSecondFactor)
			w.guard.Directory = roleless{w.directory}
			want(t, login(b, recovery[0]), 503, "error.storeUnavailable")
			w.guard.Directory = w.directory
			want(t, login(b, recovery[0]), 200, "")
		})
	}
}

// A session that its roles limit does not become another account, which may do more.
func TestM21ASessionOfARoleStartsItsOwnAccountOnly(t *testing.T) {
	w := newWorld(t)
	reads, err := scope.Compile("role", "object.read")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		granted scope.Set
		account string
		beyond  bool
	}{
		{"M21 its own account", reads, "ann", false},
		{"M21 another account", reads, "bob", true},
		{"M21 another account, without any permission", scope.Set{}, "bob", true},
		{"an unlimited session, another account", scope.Unscoped(), "bob", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := auth.Principal{Org: "acme", Account: "ann", SessionID: "x", Mechanism: session.Name,
				Authenticated: w.now(), Scope: c.granted, Granted: c.granted}
			w.as(t, p, func(rw http.ResponseWriter, r *http.Request) {
				_, start := w.manager.Start(rw, r, c.account, w.proof(r))
				_, address := w.manager.Mail().AddressTicket(r, c.account, "a@example.test")
				for verb, err := range map[string]error{"Start": start, "AddressTicket": address} {
					if beyond := isBeyond(err); beyond != c.beyond || err != nil && !beyond {
						t.Errorf("%s: %v", verb, err)
					}
				}
			})
		})
	}
}

func TestPresentedOutsideAGuard(t *testing.T) {
	if got := new(session.Manager).Presented(httptest.NewRequest("GET", "/acme/v2/notes", nil)); got != auth.Absent {
		t.Errorf("got %v", got)
	}
}

func isBeyond(err error) bool {
	e, ok := errors.AsType[*auth.Error](err)
	return ok && e.Detail == auth.DetailDelegation
}
