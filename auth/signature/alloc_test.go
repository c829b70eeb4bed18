package signature_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/signing"
)

// discard is a ResponseWriter whose header is reused.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

// stream is a request that is different each time. The requests are signed beforehand.
type stream struct {
	w                              *world
	request                        *http.Request
	timestamps, nonces, signatures []string
	at                             int
}

func newStream(w *world, n int) *stream {
	base := w.request()
	s := &stream{w: w, request: w.signed(base)}
	// A store refuses as stale what was signed before its start. So the clock of the requests
	// runs five minutes ahead.
	w.mechanism.Policy.FutureTolerance = 10 * time.Minute
	start := time.Now().Add(5 * time.Minute).UnixMilli()
	for i := range n {
		base.timestamp = strconv.FormatInt(start+int64(i), 10)
		s.timestamps = append(s.timestamps, base.timestamp)
		s.nonces = append(s.nonces, fmt.Sprintf("nonce%011d", i))
		s.signatures = append(s.signatures, base.sign())
	}
	s.again()
	return s
}

// again starts with the first request and a new store.
func (s *stream) again() {
	memory := signing.NewMemory(0)
	memory.PerKey = len(s.nonces)
	s.w.mechanism.Replays, s.at = memory, 0
}

func (s *stream) next() *http.Request {
	s.request.Header["Service-Client-Timestamp"][0] = s.timestamps[s.at]
	s.request.Header["Service-Client-Nonce"][0] = s.nonces[s.at]
	s.request.Header["Service-Client-Signature"][0] = s.signatures[s.at]
	s.at++
	return s.request
}

// checked returns handlers behind a Guard.
func (w *world) checked() map[string]http.Handler {
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	mux := w.guard.Mux()
	mux.Handle("GET /connections", auth.Allow("object.read.connection"), nothing)
	return map[string]http.Handler{
		"Mux":   mux,
		"Mount": w.guard.Mount(w.guard.Require(auth.Authenticated)(nothing)),
	}
}

// A signed request adds allocations to those of the Guard with a mechanism that does nothing: the
// attempt, its admit, and the roles of the principal. Package signing measures replay stores and
// their growth.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates on its own")
	}
	const runs = 1000
	w := newWorld(t)
	requests := newStream(w, runs+1) // AllocsPerRun makes one run more
	bare := newWorld(t, func(w *world) {
		w.guard.Mechanisms = []auth.Mechanism{authtest.As(auth.Principal{Account: "ann", Scope: scope.Unscoped()})}
	}).checked()
	allocations := func(h http.Handler) float64 {
		requests.again()
		w.mechanism.Replays = accepting{}
		rw := &discard{header: http.Header{}}
		n := testing.AllocsPerRun(runs, func() { h.ServeHTTP(rw, requests.next()) })
		if rw.status != 0 {
			t.Fatalf("refused with %d", rw.status)
		}
		return n
	}
	for name, h := range w.checked() {
		if got := allocations(h) - allocations(bare[name]); got > 3 {
			t.Errorf("%s: %.0f allocations more than the Guard's, want 3", name, got)
		}
	}
}

// accepting is a store that accepts every request.
type accepting struct{}

func (accepting) Claim(context.Context, signing.Use) error { return nil }
