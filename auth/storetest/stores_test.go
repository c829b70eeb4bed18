package storetest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/storetest"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

func TestReplays(t *testing.T) {
	t.Parallel()
	memory, once := signing.NewMemory(0), new(keyValues)
	t.Run("Memory", func(t *testing.T) {
		storetest.Replays(t, func(*testing.T) signing.Replays { return memory }, storetest.Features{})
	})
	t.Run("SetOnce", func(t *testing.T) {
		storetest.Replays(t, func(*testing.T) signing.Replays { return signing.SetOnce(once.set) }, storetest.Features{Stepwise: true})
	})
}

func TestLedger(t *testing.T) {
	t.Parallel()
	ledger := new(token.MemoryLedger)
	storetest.Ledger(t, func(*testing.T) token.Ledger { return ledger }, storetest.Features{})
}

func TestKeys(t *testing.T) {
	t.Parallel()
	keys := new(token.MemoryKeys)
	storetest.Keys(t, func(*testing.T) storetest.KeyStore { return keys }, storetest.Features{})
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	storetest.Credentials(t, func(_ *testing.T, _ signing.Secret, c *signature.Credential) signature.Credentials {
		return signature.Memory{c.Key.ClientKey(): c}
	}, storetest.Features{})
}

// keyValues is a key-value store in a map.
type keyValues struct {
	mu sync.Mutex
	m  map[string]keyValue
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
	if old, ok := kv.m[key]; ok && time.Now().Before(old.keep) {
		return old.value, false, nil
	}
	if kv.m == nil {
		kv.m = map[string]keyValue{}
	}
	kv.m[key] = keyValue{value, keep}
	return "", true, nil
}
