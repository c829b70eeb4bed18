package session_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
)

// discard is a ResponseWriter that discards the body and keeps its header map.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

// checked are handlers behind a Guard and a session, and a request of it.
func checked(t testing.TB, alter ...func(*world)) (mux, mount http.Handler, r *http.Request) {
	t.Helper()
	quick := func(w *world) { w.manager.Store, w.guard.Observe = w.memory.Sessions(), nil }
	w := newWorld(t, append(alter, quick)...)
	b := w.ann()
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	routes := w.guard.Mux()
	routes.Handle("GET /notes/{id}", auth.Authenticated, nothing)
	r = httptest.NewRequest("GET", "/acme/v2/notes/5b0000000000000000000001", nil)
	r.Header.Set("Cookie", "theme=dark; "+cookieName+"="+b.cookie(cookieName))
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return routes, w.guard.Mount(w.guard.Require(auth.Authenticated)(nothing)), r
}

// A session adds no allocation to a mechanism that does no work, unless the use of the
// session must be written.
func TestAllocations(t *testing.T) {
	mux, mount, r := checked(t)
	bareMux, bareMount, _ := checked(t, func(w *world) {
		w.guard.Mechanisms = []auth.Mechanism{authtest.As(auth.Principal{Account: "ann"})}
	})
	allocations := func(h http.Handler) float64 {
		w := &discard{header: http.Header{}}
		n := testing.AllocsPerRun(1000, func() { h.ServeHTTP(w, r) })
		if w.status != 0 {
			t.Fatalf("refused with %d", w.status)
		}
		return n
	}
	for name, c := range map[string]struct {
		handler, bare http.Handler
		most          float64
	}{
		"Mux":   {mux, bareMux, 7},
		"Mount": {mount, bareMount, 5},
	} {
		got, bare := allocations(c.handler), allocations(c.bare)
		if got > bare || got > c.most {
			t.Errorf("%s: %.0f allocations, want at most %.0f, and the %.0f of the Guard", name, got, c.most, bare)
		}
	}
}

// BenchmarkGuard compares the check of a session with its minimum: decode the token,
// hash it, look it up.
func BenchmarkGuard(b *testing.B) {
	b.Run("Floor", func(b *testing.B) {
		token := []byte("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
		records := map[[32]byte]string{sha256.Sum256(make([]byte, 32)): "ann"}
		b.ReportAllocs()
		for b.Loop() {
			var secret [32]byte
			if _, err := base64.RawURLEncoding.Decode(secret[:], token); err != nil || records[sha256.Sum256(secret[:])] == "" {
				b.Fatal("not found")
			}
		}
	})
	mux, mount, r := checked(b)
	run := func(b *testing.B, h http.Handler) {
		w := &discard{header: http.Header{}}
		b.ReportAllocs()
		for b.Loop() {
			h.ServeHTTP(w, r)
		}
		if w.status != 0 {
			b.Fatalf("refused with %d", w.status)
		}
	}
	b.Run("Mux", func(b *testing.B) { run(b, mux) })
	b.Run("Mount", func(b *testing.B) { run(b, mount) })
}
