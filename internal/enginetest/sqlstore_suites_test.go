package enginetest

import (
	"testing"

	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/idempotency"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/auth/storetest"
	"github.com/tenantkit/tenantkit/internal/enginetest/suites"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// eachStore runs a suite over a store in each engine.
func eachStore(t *testing.T, suite func(t *testing.T, s *sqlstore.Store)) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			suite(t, h.store(t))
		})
	}
}

func TestSQLReplays(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *sqlstore.Store) {
		replays := func(*testing.T) signing.Replays { return s.Replays() }
		storetest.Replays(t, replays, storetest.Features{})
		suites.Replays(t, replays, storetest.Features{})
	})
}

func TestSQLLedger(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *sqlstore.Store) {
		ledger := func(*testing.T) token.Ledger { return s.Ledger() }
		storetest.Ledger(t, ledger, storetest.Features{})
		suites.Ledger(t, ledger, storetest.Features{})
	})
}

func TestSQLKeys(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *sqlstore.Store) {
		keys := must(s.Keys())(t)
		suites.Keys(t, func(*testing.T) suites.KeyStore { return keys }, storetest.Features{})
	})
}

func TestSQLCredentials(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *sqlstore.Store) {
		credentials := must(s.Credentials())(t)
		storetest.Credentials(t, func(t *testing.T, secret signing.Secret, c *signature.Credential) signature.Credentials {
			put := func() error { return credentials.Put(t.Context(), "acme", c.Key.ClientKey(), secret, *c) }
			if keys := c.Key.PublicKeys(); keys != nil {
				put = func() error {
					return credentials.PutPublicKey(t.Context(), "acme", c.Key.ClientKey(), *c, keys...)
				}
			}
			if err := put(); err != nil {
				t.Fatal(err)
			}
			return credentials
		}, storetest.Features{})
	})
}

func TestSQLSessions(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *sqlstore.Store) {
		sessions := func(*testing.T) session.Store { return s.Sessions() }
		storetest.Sessions(t, sessions, storetest.Features{})
		suites.Sessions(t, sessions, storetest.Features{})
	})
}

func TestSQLAttempts(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *sqlstore.Store) {
		storetest.Attempts(t, func(*testing.T) session.Attempts { return s.Attempts() }, storetest.Features{})
	})
}

func TestSQLFactors(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *sqlstore.Store) {
		factors := must(s.Factors())(t)
		storetest.Factors(t, func(*testing.T) session.FactorStore { return factors }, storetest.Features{})
	})
}

// must ends a test that got an error instead of a value.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func TestSQLAPIKeys(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *sqlstore.Store) {
		storetest.APIKeys(t, func(*testing.T) apikey.Store { return s.APIKeys() }, storetest.Features{})
	})
}

func TestSQLIdempotency(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *sqlstore.Store) {
		storetest.Idempotency(t, func(t *testing.T) idempotency.Store { return must(s.Idempotency())(t) }, storetest.Features{})
	})
}
