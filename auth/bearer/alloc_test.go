package bearer_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
)

// discard is a ResponseWriter whose header is reused.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

// checked returns handlers behind a Guard and a token, and a request with it.
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

// serve returns a function that sends the request to h again on each call.
func serve(t testing.TB, h http.Handler, r *http.Request) func() {
	w := &discard{header: http.Header{}}
	return func() {
		if h.ServeHTTP(w, r); w.status != 0 {
			t.Fatalf("refused with %d", w.status)
		}
	}
}

// A request with a token that was seen before takes one allocation, its context, which the
// handler may keep. Roles of the account take two more: the directory's answer, and the
// principal's copy.
func TestAllocations(t *testing.T) {
	for _, c := range []struct {
		roles []string
		most  float64
	}{{nil, 1}, {[]string{"member"}, 3}} {
		mux, mount, r := checked(t, func(w *world) {
			w.directory.PutAccount(auth.Account{Org: "acme", ID: "ann", Roles: c.roles})
		})
		for name, h := range map[string]http.Handler{"Mux": mux, "Mount": mount} {
			if got := testing.AllocsPerRun(1000, serve(t, h, r)); got > c.most {
				t.Errorf("%s with roles %v: %.0f allocations, want %.0f", name, c.roles, got, c.most)
			}
		}
	}
	for _, prefix := range []string{"X-Acme-", "X-acme-", "A-Long-Name-Of-a-Company-"} {
		mux, _, r := checked(t, func(w *world) {
			w.directory.PutAccount(auth.Account{Org: "acme", ID: "ann"})
			w.guard.Brand.Header = prefix
		})
		if got := testing.AllocsPerRun(1000, serve(t, mux, r)); got > 1 {
			t.Errorf("with headers %s: %.0f allocations, want 1", prefix, got)
		}
	}
}
