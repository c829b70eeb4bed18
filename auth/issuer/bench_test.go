package issuer_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/issuer"
)

// A token of another issuer that was seen before takes no more than one of our own, and an issuer
// beside them takes nothing from our own.
func TestAllocationsWithIssuers(t *testing.T) {
	for _, prefix := range []string{"", "X-acme-", "A-Long-Name-Of-a-Company-"} {
		mux, requests := besideIssuers(t, prefix)
		for name, r := range requests {
			if got := testing.AllocsPerRun(1000, serve(t, mux, r)); got > 1 {
				t.Errorf("%s, headers %q: %.0f allocations, want 1", name, prefix, got)
			}
		}
	}
}

// besideIssuers returns a server with an issuer, and requests with a token of either kind.
func besideIssuers(t testing.TB, prefix string) (http.Handler, map[string]*http.Request) {
	w, _, _ := newOther(t, func(w *world, i *issuer.Issuer) {
		w.guard.Now, w.guard.Brand.Header = nil, prefix
		w.directory.PutAccount(auth.Account{Org: "acme", ID: "ann"})
	})
	w.mux.Handle("GET /nothing", auth.Allow("object.read.c_note"), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	requests := map[string]*http.Request{}
	for name, raw := range map[string]string{"own": honest(t), "foreign": by(keys[3](), header("RS256", "rsa"), foreign())} {
		requests[name] = httptest.NewRequest("GET", "/acme/v2/nothing", nil)
		requests[name].Header.Set("Authorization", "Bearer "+raw)
	}
	return w.mux, requests
}

func BenchmarkIssuers(b *testing.B) {
	mux, requests := besideIssuers(b, "")
	for name, r := range requests {
		b.Run(name, func(b *testing.B) {
			once := serve(b, mux, r)
			b.ReportAllocs()
			for b.Loop() {
				once()
			}
		})
	}
}

// discard is a ResponseWriter whose header is reused.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

// serve returns a function that sends the request to h again on each call.
func serve(t testing.TB, h http.Handler, r *http.Request) func() {
	w := &discard{header: http.Header{}}
	return func() {
		if h.ServeHTTP(w, r); w.status != 0 {
			t.Fatalf("refused with %d", w.status)
		}
	}
}
