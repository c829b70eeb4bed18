package storetest_test

import (
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/idempotency"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/storetest"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// clocked returns a clock that no suite waits for, and the features of a store that reads it.
func clocked() (*authtest.Clock, storetest.Features) {
	clock := authtest.NewClock(time.Now())
	return clock, storetest.Features{Now: clock.Now, Pass: func(d time.Duration) { clock.Advance(d) }}
}

func TestReplays(t *testing.T) {
	t.Parallel()
	memory := signing.NewMemory(0)
	t.Run("Memory", func(t *testing.T) {
		storetest.Replays(t, func(*testing.T) signing.Replays { return memory }, storetest.Features{})
	})
}

func TestLedger(t *testing.T) {
	t.Parallel()
	clock, f := clocked()
	ledger := token.NewMemoryLedger(clock.Now)
	storetest.Ledger(t, func(*testing.T) token.Ledger { return ledger }, f)
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	storetest.Credentials(t, func(_ *testing.T, _ signing.Secret, c *signature.Credential) signature.Credentials {
		return signature.Memory{c.Key.ClientKey(): c}
	}, storetest.Features{})
}

func TestAPIKeys(t *testing.T) {
	t.Parallel()
	memory := apikey.NewMemory()
	storetest.APIKeys(t, func(*testing.T) apikey.Store { return memory }, storetest.Features{})
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	clock, f := clocked()
	memory := idempotency.NewMemory(clock.Now)
	storetest.Idempotency(t, func(*testing.T) idempotency.Store { return memory }, f)
}

func TestHistory(t *testing.T) {
	replays := signing.NewMemory(0)
	replays.Claim(t.Context(), signing.Use{ClientKey: "first", Nonce: "0123456789abcdef", Signed: time.Now(), Seen: time.Now(), Keep: time.Now().Add(time.Minute)})
	sessions := new(session.Memory)
	storetest.History(t, replays, token.NewMemoryLedger(nil), sessions.Sessions(), sessions.Attempts(), sessions.Factors(), apikey.NewMemory(), idempotency.NewMemory(nil))
}
