package signature_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
)

const (
	note  = "5b0000000000000000000001"
	other = "5b0000000000000000000002"
)

// needing returns routes with needs. It stores the principal of the latest request that met one.
func (w *world) needing(last *auth.Principal) http.Handler {
	h := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		*last = auth.From(r.Context())
		w.answer(rw, r)
	})
	mux := w.guard.Mux()
	mux.Handle("GET /me", auth.Authenticated, h)
	mux.Handle("GET /notes", auth.Some("object.read.c_note"), auth.PartHandler(func(rw http.ResponseWriter, r *http.Request, _ scope.Part) { h(rw, r) }))
	mux.Handle("DELETE /notes/{id}", auth.Allow("object.delete.c_note.{id}"), h)
	mux.Handle("PATCH /apps", auth.Allow("admin.update"), h)
	return mux
}

// ask sends a signed request for a command to a handler.
func (w *world) ask(h http.Handler, method, command string) *httptest.ResponseRecorder {
	q := w.request()
	q.method, q.target, q.command = method, "/acme/v2"+command, command
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, w.signed(q))
	return rec
}

func TestM14AScopeBoundsWhatAKeySigns(t *testing.T) {
	routes := []string{"GET /me", "GET /notes", "DELETE /notes/" + note, "DELETE /notes/" + other, "PATCH /apps"}
	for _, c := range []struct {
		name  string
		scope []string
		want  []int // the status of each route
	}{
		{"nil is no bound", nil, []int{200, 200, 200, 200, 200}},
		{"M14 an empty list permits nothing", []string{}, []int{200, 403, 403, 403, 403}},
		{"the empty chain permits everything", []string{""}, []int{200, 200, 200, 200, 200}},
		{"M14 one verb", []string{"object.read"}, []int{200, 200, 403, 403, 403}},
		{"M14 one property", []string{"object.read.c_note.*.title"}, []int{200, 200, 403, 403, 403}},
		{"M14 one object", []string{"object.delete.c_note." + note}, []int{200, 403, 200, 403, 403}},
		{"M14 another verb", []string{"object.update", "admin.read"}, []int{200, 403, 403, 403, 403}},
		{"M14 a chain that does not parse permits nothing", []string{"object..delete"}, []int{200, 403, 403, 403, 403}},
		{"M14 beside one that does", []string{"admin.updates", "object.read"}, []int{200, 200, 403, 403, 403}},
		{"M14 a chain of an unknown root permits nothing", []string{"objects"}, []int{200, 403, 403, 403, 403}},
		{"M14 a list that is too long permits nothing", make([]string, 1025), []int{200, 403, 403, 403, 403}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, func(w *world) { w.credentials[acmeKey].Scope = c.scope })
			h := w.needing(new(auth.Principal))
			var got []int
			for _, route := range routes {
				method, command, _ := strings.Cut(route, " ")
				rec := w.ask(h, method, command)
				got = append(got, rec.Code)
				if rec.Code == 403 && !strings.Contains(rec.Body.String(), auth.DetailScope) {
					t.Errorf("%s: %s", route, rec.Body)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The scope is that of the key, whatever roles the account has, also under an override.
func TestM14RolesDoNotWidenAKey(t *testing.T) {
	w := newWorld(t, func(w *world) { w.credentials[acmeKey].Scope = []string{"object.read"} })
	w.directory.PutRole("acme", auth.Role{Name: "member", Scope: []string{"*"}})
	h := w.needing(new(auth.Principal))
	for _, account := range []string{"", "ann", "bob"} {
		q := w.request()
		q.method, q.target, q.command, q.account = "PATCH", "/acme/v2/apps", "/apps", account
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, w.signed(q))
		if rec.Code != 403 {
			t.Errorf("M14 as %q: got %d %s", account, rec.Code, rec.Body)
		}
	}
}

// The principal carries the limits of its key, which also limit what it may make.
func TestM14APrincipalCarriesWhatItsKeyIsLimitedTo(t *testing.T) {
	end := time.Now().Add(time.Hour).UTC()
	within := networks("192.0.2.0/24", "2001:db8::/32")
	w := newWorld(t, func(w *world) {
		c := w.credentials[acmeKey]
		c.Scope, c.NotAfter, c.Networks = []string{"object.read", "admin.update"}, end, within
	})
	var p auth.Principal
	if rec := w.ask(w.needing(&p), "GET", "/me"); rec.Code != 200 {
		t.Fatalf("got %d %s", rec.Code, rec.Body)
	}
	if p.App != acmeKey || !p.Expires.Equal(end) || !slices.Equal(p.Networks, within) || p.Authenticated.IsZero() || p.TokenID != "" {
		t.Errorf("principal %+v", p)
	}
	view := auth.From(auth.With(t.Context(), p.WithoutScope()))
	if !view.Scope.Allows(asked("view.execute.report")) {
		t.Error("a view is bound by a scope")
	}
	part := auth.Making{Account: "bob", App: acmeKey, Scope: compiled("object.read.c_note"), Expires: end, Networks: networks("192.0.2.7/32")}
	for name, p := range map[string]auth.Principal{"the request's": p, "a view's": view} {
		if diff := cmp.Diff([]string{"expires", "networks", "scope *"}, excess(t, p.AsAdministrator(true).MayMake(auth.Everything("ann")))); diff != "" {
			t.Errorf("M14 %s, everything: %s", name, diff)
		}
		if err := p.AsAdministrator(true).MayMake(part); err != nil {
			t.Errorf("%s, a part: %v", name, err)
		}
	}
}

func TestAKeyWithoutBoundsHasAPrincipalWithoutBounds(t *testing.T) {
	w := newWorld(t)
	var p auth.Principal
	if rec := w.ask(w.needing(&p), "GET", "/me"); rec.Code != 200 {
		t.Fatalf("got %d %s", rec.Code, rec.Body)
	}
	if !p.Expires.IsZero() || p.Networks != nil || len(p.Granted.Missing(scope.Unscoped())) > 0 {
		t.Errorf("principal %+v", p)
	}
}

// Each request has its own principal. What a handler writes into it must not change the
// credential that all requests share.
func TestNetworksAreTheRequestsOwn(t *testing.T) {
	w := newWorld(t, func(w *world) { w.credentials[acmeKey].Networks = networks("192.0.2.0/24") })
	var p auth.Principal
	h := w.needing(&p)
	for range 2 {
		if rec := w.ask(h, "GET", "/me"); rec.Code != 200 {
			t.Fatalf("got %d %s", rec.Code, rec.Body)
		}
		p.Networks[0] = networks("10.0.0.0/8")[0]
	}
	if got := w.credentials[acmeKey].Networks; !slices.Equal(got, networks("192.0.2.0/24")) {
		t.Errorf("the credential's networks are %v", got)
	}
}

// The operator is informed if a key permits less than intended.
func TestM14WhatIsDroppedIsReported(t *testing.T) {
	var events []auth.Event
	w := newWorld(t, func(w *world) {
		w.credentials[acmeKey].Scope = []string{"object.read", "object..delete", "report.run"}
		w.guard.Observe = func(_ context.Context, e auth.Event) { events = append(events, e) }
	})
	h := w.needing(new(auth.Principal))
	for i, command := range []string{"/me", "/notes", "/me"} { // compiled, and then cached
		if rec := w.ask(h, "GET", command); rec.Code != 200 {
			t.Fatalf("got %d %s", rec.Code, rec.Body)
		}
		if len(events) != i+1 || !events[i].Allowed || events[i].Err == nil {
			t.Fatalf("M14 events %+v", events)
		}
		for _, text := range []string{"credential " + acmeKey, `got ""`, `"report.run" has an unknown root`} {
			if !strings.Contains(events[i].Err.Error(), text) {
				t.Errorf("M14 %q is not reported: %v", text, events[i].Err)
			}
		}
	}
}
