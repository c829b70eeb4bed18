package auth_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
)

// discard is a ResponseWriter whose header is reused.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// withValue is the least that a middleware can do to pass a value to its handler.
func withValue(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.ServerContextKey, r.Method)))
	})
}

// The Guard alone: its mechanism only looks up an account.
func BenchmarkGuard(b *testing.B) {
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	g := guard()
	mux := g.Mux()
	mux.Handle("GET /notes/{id}", auth.Authenticated, nothing)
	observed := guard()
	var last auth.Event
	observed.Observe = func(_ context.Context, e auth.Event) { last = e }
	observed.RequestID = func(*http.Request) string { return "5b0000000000000000000001" }
	heard := observed.Mux()
	heard.Handle("GET /notes/{id}", auth.Authenticated, nothing)
	for name, h := range map[string]http.Handler{
		"Floor": withValue(nothing),
		"Mux":   mux,
		"Heard": heard, // by an observer
		"Mount": g.Mount(g.Require(auth.Authenticated)(nothing)),
	} {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest("GET", "/acme/v2/notes/5b0000000000000000000001", nil)
			r.Header.Set("Letter-Wax", "ann")
			r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
			w := discard{http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(w, r)
			}
		})
	}
	_ = last
}
