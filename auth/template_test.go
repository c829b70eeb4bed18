package auth_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/scope"
)

// The need of a route with an identifier is made for each request, without an allocation.
func TestNeedsOfOneInstanceAllocateNothing(t *testing.T) {
	const id = "5b0000000000000000000001"
	set, err := scope.Compile("test", "object.read.c_note."+id)
	if err != nil {
		t.Fatal(err)
	}
	g := guard()
	g.Mechanisms = []auth.Mechanism{authtest.As(auth.Principal{Account: "ann", Scope: set, Granted: set})}
	mux, nothing := g.Mux(), func(http.ResponseWriter, *http.Request) {}
	mux.HandleFunc("GET /all/{id}", auth.Authenticated, nothing)
	mux.HandleFunc("GET /notes/{id}", auth.Allow("object.read.c_note.{id}"), nothing)
	allocations := func(path string) float64 {
		r, w := httptest.NewRequest("GET", "/acme/v2"+path+id, nil), httptest.NewRecorder()
		if mux.ServeHTTP(w, r); w.Code != 200 {
			t.Fatalf("%s: %d", path, w.Code)
		}
		return testing.AllocsPerRun(1000, func() { mux.ServeHTTP(discard{http.Header{}}, r) })
	}
	if with, without := allocations("/notes/"), allocations("/all/"); with > without {
		t.Errorf("%.0f allocations, %.0f where no need is made", with, without)
	}
}
