package signature_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
)

// seeing is a signature.Seeing. Its requests come one after the other.
type seeing struct {
	signature.Memory
	seen []time.Time
	from netip.Addr
}

func (s *seeing) See(_ context.Context, clientKey string, at time.Time, from netip.Addr) {
	c := *s.Memory[clientKey]
	c.Seen = at
	s.Memory[clientKey], s.seen, s.from = &c, append(s.seen, at), from
}

func TestLastUse(t *testing.T) {
	var soon []auth.Event
	store := new(seeing)
	now := time.Now()
	w := newWorld(t, func(w *world) {
		store.Memory, w.mechanism.Credentials = w.credentials, store
		w.guard.Now = func() time.Time { return now.Add(w.offset) }
		w.guard.Observe = func(_ context.Context, e auth.Event) {
			if e.Verb != "" {
				soon = append(soon, e)
			}
		}
	})
	w.credentials[acmeKey].NotAfter = now.Add(14*24*time.Hour - time.Minute)
	refused := w.request()
	refused.account = "cat"
	want(t, w.send(t, refused), 403, auth.DetailPrincipal)
	refused = w.request()
	refused.secret = olderSecret
	want(t, w.send(t, refused), 401, auth.DetailInvalidSignature)
	if len(store.seen) != 0 {
		t.Error("refused requests are recorded")
	}
	for range 26 * 2 {
		want(t, w.send(t, w.request()), 200, "ann")
		w.offset += 30 * time.Minute
	}
	if len(store.seen) != 26 || store.from != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("%d uses recorded in 26 hours, the last from %v", len(store.seen), store.from)
	}
	if n := len(soon); n < 2 || n > 3 { // days in UTC
		t.Fatalf("%d events: %+v", n, soon)
	}
	if e := soon[0]; e.Verb != "ends.soon" || e.App != acmeKey || e.Account != "ann" || e.Reason != now.Add(14*24*time.Hour-time.Minute).Format(time.DateOnly) {
		t.Errorf("got %+v", e)
	}
}
