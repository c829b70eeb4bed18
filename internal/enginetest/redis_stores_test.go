package enginetest

import (
	"testing"

	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/idempotency"
	"github.com/tenantkit/tenantkit/auth/redisstore"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/storetest"
	"github.com/tenantkit/tenantkit/internal/enginetest/suites"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

func TestRedisStores(t *testing.T) {
	t.Parallel()
	testRedisStores(t, startRedis(t).open(t))
}

// testRedisStores runs the suites of all stores of a server or a cluster.
func testRedisStores(t *testing.T, server *redisstore.Store) {
	stores := storesOf(t, server)
	t.Run("Replays", func(t *testing.T) {
		t.Parallel()
		replays := func(*testing.T) signing.Replays { return stores.replays }
		storetest.Replays(t, replays, storetest.Features{})
		suites.Replays(t, replays, storetest.Features{})
	})
	t.Run("Ledger", func(t *testing.T) {
		t.Parallel()
		ledger := func(*testing.T) token.Ledger { return stores.ledger }
		storetest.Ledger(t, ledger, storetest.Features{})
		suites.Ledger(t, ledger, storetest.Features{})
	})
	t.Run("Sessions", func(t *testing.T) {
		t.Parallel()
		sessions := func(*testing.T) session.Store { return stores.sessions }
		storetest.Sessions(t, sessions, storetest.Features{})
		suites.Sessions(t, sessions, storetest.Features{})
	})
	t.Run("Idempotency", func(t *testing.T) {
		t.Parallel()
		entries := server.Idempotency()
		storetest.Idempotency(t, func(*testing.T) idempotency.Store { return entries }, storetest.Features{})
	})
	t.Run("APIKeys", func(t *testing.T) {
		t.Parallel()
		keys := server.APIKeys()
		storetest.APIKeys(t, func(*testing.T) apikey.Store { return keys }, storetest.Features{})
	})
	t.Run("Attempts", func(t *testing.T) {
		t.Parallel()
		storetest.Attempts(t, func(*testing.T) session.Attempts { return stores.attempts }, storetest.Features{})
	})
}
