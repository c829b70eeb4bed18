package enginetest

import (
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/storetest"
	"github.com/tenantkit/tenantkit/internal/enginetest/suites"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// TestMemoryLedger and the tests below run the suites of this module over the stores in memory, which
// read a clock that no suite waits for. Package storetest tests the contracts itself.
func TestMemoryLedger(t *testing.T) {
	t.Parallel()
	clock := authtest.NewClock(time.Now())
	ledger := token.NewMemoryLedger(clock.Now)
	suites.Ledger(t, func(*testing.T) token.Ledger { return ledger }, featuresOf(clock))
}

func TestMemoryKeys(t *testing.T) {
	t.Parallel()
	clock := authtest.NewClock(time.Now())
	keys := &token.MemoryKeys{Now: clock.Now}
	suites.Keys(t, func(*testing.T) suites.KeyStore { return keys }, featuresOf(clock))
}

func TestMemoryReplays(t *testing.T) {
	t.Parallel()
	memory := signing.NewMemory(0) // on the clock of the claims
	suites.Replays(t, func(*testing.T) signing.Replays { return memory }, storetest.Features{})
}

func TestMemorySessions(t *testing.T) {
	t.Parallel()
	clock := authtest.NewClock(time.Now())
	memory := &session.Memory{Now: clock.Now}
	suites.Sessions(t, func(*testing.T) session.Store { return memory.Sessions() }, featuresOf(clock))
}

func featuresOf(clock *authtest.Clock) storetest.Features {
	return storetest.Features{Now: clock.Now, Pass: func(d time.Duration) { clock.Advance(d) }}
}
