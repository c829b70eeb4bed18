package kv_test

import (
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/storetest"
	"github.com/tenantkit/tenantkit/examples/guides/kv"
	"github.com/tenantkit/tenantkit/signing"
)

// A store with a clock that the test can move: the suite then waits for nothing.
// Against a real one set only Stepwise.
func TestReplays(t *testing.T) {
	clock := authtest.NewClock(time.Now())
	client := &kv.Client{Now: clock.Now}
	storetest.Replays(t, func(*testing.T) signing.Replays { return kv.Replays(client) }, storetest.Features{
		Now:      clock.Now,
		Pass:     func(d time.Duration) { clock.Advance(d) },
		Stepwise: true, // as signing.SetOnce is
	})
}
