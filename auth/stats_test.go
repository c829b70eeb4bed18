package auth_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/scope"
)

func TestStats(t *testing.T) {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	reader, _ := new(scope.Grammar).Compile("test", "object.read")
	guard := &auth.Guard{
		Roles: auth.RolesLimit, BaseURL: "https://api.example.com", Directory: directory,
		Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{Account: "ann", Mechanism: "session", Scope: reader})},
		Observe: func(_ context.Context, e auth.Event) {
			if e.Detail == auth.DetailScope {
				panic("a broken sink")
			}
		},
	}
	mux := guard.Mux()
	answer := func(w http.ResponseWriter, r *http.Request) { auth.Fail(w, r, auth.ErrNotFound) } // no decision
	mux.HandleFunc("GET /notes", auth.Allow("object.read.c_note"), answer)
	mux.HandleFunc("POST /notes", auth.Allow("object.create.c_note"), answer)
	ask := func(method, path string) {
		mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, path, nil))
	}
	ask("GET", "/acme/v2/notes") // before anybody asks
	if got := guard.Stats(); len(got.Decisions) != 0 || got.Dropped != 0 {
		t.Errorf("at first: %+v", got)
	}
	for range 3 {
		ask("GET", "/acme/v2/notes")
	}
	ask("POST", "/acme/v2/notes")
	ask("GET", "/made-up/v2/notes")
	got := guard.Stats()
	want := map[string]map[string]int64{"session": {"": 3, auth.DetailScope: 1}, "": {auth.DetailUnknownOrg: 1}}
	if diff := cmp.Diff(want, got.Decisions); diff != "" || got.Dropped != 1 {
		t.Errorf("%d dropped (-want +got):\n%s", got.Dropped, diff)
	}
}

// TestStatsCostNoMemory compares a Guard that is asked with one that is not.
func TestStatsCostNoMemory(t *testing.T) {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	allocations := func(asked bool) float64 {
		guard := &auth.Guard{
			Roles: auth.RolesDoNotLimit, BaseURL: "https://api.example.com", Directory: directory,
			Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{Account: "ann", Mechanism: "session", Scope: scope.Unscoped()})},
		}
		mux := guard.Mux()
		mux.HandleFunc("GET /notes", auth.Authenticated, func(http.ResponseWriter, *http.Request) {})
		if asked {
			guard.Stats()
		}
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/acme/v2/notes", nil)
		return testing.AllocsPerRun(100, func() { mux.ServeHTTP(w, r) })
	}
	if without, with := allocations(false), allocations(true); with != without {
		t.Errorf("%v allocations, and %v when it is counted", without, with)
	}
}
