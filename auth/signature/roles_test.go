package signature_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
)

// roleless hides the roles of a directory, or fails.
type roleless struct{ auth.Directory }

func (roleless) Roles(context.Context, auth.OrgKey, []string) ([]auth.Role, error) {
	return nil, errors.New("connection refused")
}

func TestM21RolesBoundWhatAKeySigns(t *testing.T) {
	routes := []string{"GET /me", "GET /notes", "DELETE /notes/" + note, "DELETE /notes/" + other, "PATCH /apps"}
	for _, c := range []struct {
		name         string
		account      []string // roles of ann
		scope        []string // of the credential
		want         []int
		unrestricted bool // RolesDoNotLimit
	}{
		{name: "off: roles bound nothing", account: []string{"reader"}, want: []int{200, 200, 200, 200, 200}, unrestricted: true},
		{name: "M21 no role permits nothing", want: []int{200, 403, 403, 403, 403}},
		{name: "M21 a role without chains permits nothing", account: []string{"member"}, want: []int{200, 403, 403, 403, 403}},
		{name: "M21 an unknown role permits nothing", account: []string{"nothing"}, want: []int{200, 403, 403, 403, 403}},
		{name: "M21 a reader reads", account: []string{"reader"}, want: []int{200, 200, 403, 403, 403}},
		{name: "M21 two roles permit what either does", account: []string{"reader", "cleaner"}, want: []int{200, 200, 200, 403, 403}},
		{name: "M21 an administrator", account: []string{"root"}, want: []int{200, 200, 200, 200, 200}},
		{name: "M21 a narrowed key of an administrator", account: []string{"root"}, scope: []string{"object.read"}, want: []int{200, 200, 403, 403, 403}},
		{name: "M21 both must permit", account: []string{"reader", "cleaner"}, scope: []string{"object.delete", "admin"}, want: []int{200, 403, 200, 403, 403}},
		{name: "M21 a key for another object", account: []string{"reader", "cleaner"}, scope: []string{"object.*.*." + other}, want: []int{200, 200, 403, 403, 403}},
		{name: "M21 an empty list permits nothing", account: []string{"root"}, scope: []string{}, want: []int{200, 403, 403, 403, 403}},
		{name: "M21 a wider key gets no wider", account: []string{"reader"}, scope: []string{""}, want: []int{200, 200, 403, 403, 403}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, func(w *world) {
				if !c.unrestricted {
					w.guard.Roles = auth.RolesLimit
				}
				w.credentials[acmeKey].Scope = c.scope
			})
			w.directory.PutRole("acme", auth.Role{Name: "reader", Scope: []string{"object.read.c_note"}})
			w.directory.PutRole("acme", auth.Role{Name: "cleaner", Scope: []string{"object.delete.c_note." + note}})
			w.directory.PutRole("acme", auth.Role{Name: "root", Scope: []string{"*"}})
			w.directory.PutRole("acme", auth.Role{Name: "member"})
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: c.account})
			var last auth.Principal
			h := w.needing(&last)
			var got []int
			for _, route := range routes {
				method, command, _ := strings.Cut(route, " ")
				got = append(got, w.ask(h, method, command).Code)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if last.Scope.Missing(last.Granted) != nil || last.Granted.Missing(last.Scope) != nil {
				t.Error("what it may grant is not what it may do")
			}
		})
	}
}

// A change of a role or of a credential takes effect with the next request, and an override has
// the roles of the account that it names.
func TestM21RolesAreThoseOfTheAccountNow(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.guard.Roles = auth.RolesLimit
		w.credentials[acmeKey].Scope = []string{"object"}
	})
	put := func(account string, role auth.Role) {
		w.directory.PutRole("acme", role)
		w.directory.PutAccount(auth.Account{ID: account, Org: "acme", Roles: []string{role.Name}})
	}
	put("ann", auth.Role{Name: "reader", Scope: []string{"object.read"}})
	put("bob", auth.Role{Name: "cleaner", Scope: []string{"object.delete"}})
	h := w.needing(new(auth.Principal))
	status := func(account, method, command string, want int) {
		t.Helper()
		q := w.request()
		q.method, q.target, q.command, q.account = method, "/acme/v2"+command, command, account
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, w.signed(q))
		if rec.Code != want {
			t.Errorf("%s %s as %q: %d, want %d", method, command, account, rec.Code, want)
		}
	}
	status("", "GET", "/notes", 200)
	status("", "DELETE", "/notes/"+note, 403)
	status("bob", "GET", "/notes", 403)
	status("bob", "DELETE", "/notes/"+note, 200)
	put("ann", auth.Role{Name: "reader", Scope: []string{"object.delete"}})
	status("", "GET", "/notes", 403)
	status("", "DELETE", "/notes/"+note, 200)
	w.credentials[acmeKey].Scope = []string{"object.read"}
	status("", "DELETE", "/notes/"+note, 403)
}

// A role that cannot be read is no reason to accept, or to record anything.
func TestM21RolesThatCannotBeRead(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.guard.Roles = auth.RolesLimit
		w.guard.Directory = roleless{w.directory}
	})
	h := w.needing(new(auth.Principal))
	q := w.request()
	q.method, q.target, q.command = "GET", "/acme/v2/me", "/me"
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, w.signed(q))
	if rec.Code != http.StatusServiceUnavailable || w.mechanism.Replays.(*mapStore).claims != 0 {
		t.Errorf("got %d, %d claims", rec.Code, w.mechanism.Replays.(*mapStore).claims)
	}
}

// What the scope of a key and the roles lose together reaches the observer.
func TestM21WhatIsDroppedIsReported(t *testing.T) {
	names, ids := make([]string, 64), make([]string, 65)
	for i := range names {
		names[i] = fmt.Sprintf("object.read.c_%d", i)
	}
	for i := range ids {
		ids[i] = fmt.Sprintf("object.*.*.%024x", i)
	}
	for _, c := range []struct {
		name        string
		scope, role []string
		status      int
		reported    string
	}{
		{"unknown roots", []string{"object.read", "report.run"}, []string{"object", "shop.sell"}, 200, `"report.run" has an unknown root`},
		{"and those of roles", []string{"object.read", "report.run"}, []string{"object", "shop.sell"}, 200, `"shop.sell" has an unknown root`},
		{"chains that do not parse", []string{"object.read"}, []string{"object", "object..read"}, 200, "role reader"},
		{"M21 thousands of chains in common permit what both permit", append(names, "object.read.c_note"), ids, 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var events []auth.Event
			w := newWorld(t, func(w *world) {
				w.guard.Roles = auth.RolesLimit
				w.credentials[acmeKey].Scope = c.scope
				w.guard.Observe = func(_ context.Context, e auth.Event) { events = append(events, e) }
			})
			w.directory.PutRole("acme", auth.Role{Name: "reader", Scope: c.role})
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"reader"}})
			h := w.needing(new(auth.Principal))
			for i := range 2 { // computed, and then cached
				if rec := w.ask(h, "GET", "/notes"); rec.Code != c.status {
					t.Fatalf("got %d %s", rec.Code, rec.Body)
				}
				if err := events[i].Err; (err == nil) != (c.reported == "") || err != nil && !strings.Contains(err.Error(), c.reported) {
					t.Errorf("%q is not reported: %v", c.reported, events[i].Err)
				}
			}
		})
	}
}
