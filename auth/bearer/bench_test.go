package bearer_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
)

// discard is a ResponseWriter whose header is used again.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

// A token that was seen before, through the whole chain.
func BenchmarkGuard(b *testing.B) {
	w := newWorld(b)
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	w.mux.Handle("GET /nothing", auth.Allow("object.read.c_note"), nothing)
	for name, h := range map[string]http.Handler{
		"Mux":   w.mux,
		"Mount": w.guard.Mount(w.guard.Require(auth.Allow("object.read.c_note"))(nothing)),
	} {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest("GET", "/acme/v2/nothing", nil)
			r.Header.Set("Authorization", "Bearer "+honest(b))
			rw := &discard{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(rw, r)
			}
			if rw.status != 0 {
				b.Fatalf("refused with %d", rw.status)
			}
		})
	}
}
