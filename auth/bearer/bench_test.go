package bearer_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/scope"
)

// discard is a ResponseWriter whose header is used again.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

// checked are handlers behind a Guard and a token, and a request with it.
func checked(t testing.TB, alter ...func(*world)) (mux, mount http.Handler, r *http.Request) {
	t.Helper()
	w := newWorld(t, alter...)
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	need := auth.Allow("object.read.c_note")
	w.mux.Handle("GET /nothing", need, nothing)
	r = httptest.NewRequest("GET", "/acme/v2/nothing", nil)
	r.Header.Set("Authorization", "Bearer "+honest(t))
	return w.mux, w.guard.Mount(w.guard.Require(need)(nothing)), r
}

// serve answers a request, time and again.
func serve(t testing.TB, h http.Handler, r *http.Request) func() {
	w := &discard{header: http.Header{}}
	return func() {
		if h.ServeHTTP(w, r); w.status != 0 {
			t.Fatalf("refused with %d", w.status)
		}
	}
}

// What a token that was seen before adds to what the Guard allocates for a
// mechanism that does no work: the attempt, and the roles, as the directory
// answers them and as the principal has them.
func TestAllocations(t *testing.T) {
	mux, mount, r := checked(t)
	bareMux, bareMount, _ := checked(t, func(w *world) {
		w.guard.Mechanisms = []auth.Mechanism{authtest.As(auth.Principal{Account: "ann", Scope: scope.Unscoped()})}
	})
	for name, c := range map[string]struct{ handler, bare http.Handler }{
		"Mux":   {mux, bareMux},
		"Mount": {mount, bareMount},
	} {
		got := testing.AllocsPerRun(1000, serve(t, c.handler, r)) - testing.AllocsPerRun(1000, serve(t, c.bare, r))
		if got > 3 {
			t.Errorf("%s: %.0f allocations more than the Guard's, want 3", name, got)
		}
	}
}

// A token that was seen before, through the whole chain.
func BenchmarkGuard(b *testing.B) {
	mux, mount, r := checked(b)
	for name, h := range map[string]http.Handler{"Mux": mux, "Mount": mount} {
		b.Run(name, func(b *testing.B) {
			once := serve(b, h, r)
			b.ReportAllocs()
			for b.Loop() {
				once()
			}
		})
	}
}
