package signature_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/signing"
)

// discard is a ResponseWriter whose header is used again.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

// A signed request through the whole chain, memory store included. Each
// iteration is a request of its own; they are signed beforehand, and the store
// is renewed before any comes again.
func BenchmarkGuard(b *testing.B) {
	const batch = 1 << 15
	w := newWorld(b)
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	mux := w.guard.Mux()
	mux.Handle("GET /connections", auth.Allow("object.read.connection"), nothing)
	for name, h := range map[string]http.Handler{
		"Mux":   mux,
		"Mount": w.guard.Mount(w.guard.Require(auth.Authenticated)(nothing)),
	} {
		b.Run(name, func(b *testing.B) {
			base := w.request()
			r := w.signed(base)
			var timestamps, nonces, signatures [batch]string
			start := time.Now().UnixMilli()
			// What was signed before a store's start is stale to it: the clock
			// of the requests runs five minutes ahead.
			w.mechanism.Policy.FutureTolerance = 10 * time.Minute
			renew := func() {
				memory := signing.NewMemory(0)
				memory.PerKey = batch
				w.mechanism.Replays = memory
			}
			renew()
			for i := range batch {
				base.timestamp = strconv.FormatInt(start+5*60_000+int64(i), 10)
				timestamps[i], nonces[i], signatures[i] = base.timestamp, "nonce"+strconv.Itoa(10000000000+i), base.sign()
			}
			rw := &discard{header: http.Header{}}
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				if i == batch {
					b.StopTimer()
					renew()
					i = 0
					b.StartTimer()
				}
				r.Header["Service-Client-Timestamp"][0] = timestamps[i]
				r.Header["Service-Client-Nonce"][0] = nonces[i]
				r.Header["Service-Client-Signature"][0] = signatures[i]
				h.ServeHTTP(rw, r)
				i++
			}
			if rw.status != 0 {
				b.Fatalf("a request was refused with %d: %v", rw.status, rw.header)
			}
		})
	}
}
