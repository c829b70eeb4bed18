package kv_test

import (
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/storetest"
	"github.com/tenantkit/tenantkit/examples/guides/kv"
	"github.com/tenantkit/tenantkit/signing"
)

// The test can move the clock of this store, so that the suite does not wait. For a
// real store set only Stepwise.
func TestReplays(t *testing.T) {
	clock := authtest.NewClock(time.Now())
	client := &kv.Client{Now: clock.Now}
	storetest.Replays(t, func(*testing.T) signing.Replays { return kv.Replays(client) }, storetest.Features{
		Now:      clock.Now,
		Pass:     func(d time.Duration) { clock.Advance(d) },
		Stepwise: true, // as signing.SetOnce is
	})
}
