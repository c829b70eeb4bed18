package storetest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/authtest"
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
	t.Run("SetOnce", func(t *testing.T) {
		clock, f := clocked()
		f.Stepwise = true
		once := &keyValues{now: clock.Now}
		storetest.Replays(t, func(*testing.T) signing.Replays { return signing.SetOnce(once.set) }, f)
	})
}

func TestLedger(t *testing.T) {
	t.Parallel()
	clock, f := clocked()
	ledger := &token.MemoryLedger{Now: clock.Now}
	storetest.Ledger(t, func(*testing.T) token.Ledger { return ledger }, f)
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	storetest.Credentials(t, func(_ *testing.T, _ signing.Secret, c *signature.Credential) signature.Credentials {
		return signature.Memory{c.Key.ClientKey(): c}
	}, storetest.Features{})
}

// keyValues is a key-value store in a map.
type keyValues struct {
	now func() time.Time
	mu  sync.Mutex
	m   map[string]keyValue
}

type keyValue struct {
	value string
	keep  time.Time
}

func (kv *keyValues) set(ctx context.Context, key, value string, keep time.Time) (prior string, stored bool, err error) {
	if err := ctx.Err(); err != nil {
		return "", false, err
	}
	kv.mu.Lock()
	defer kv.mu.Unlock()
	if old, ok := kv.m[key]; ok && kv.now().Before(old.keep) {
		return old.value, false, nil
	}
	if kv.m == nil {
		kv.m = map[string]keyValue{}
	}
	kv.m[key] = keyValue{value, keep}
	return "", true, nil
}
