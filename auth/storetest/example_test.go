package storetest_test

import (
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/idempotency"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/storetest"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// One test checks an application's own store. This store is the one in memory.
func ExampleReplays() {
	test := func(t *testing.T) {
		storetest.Replays(t, func(t *testing.T) signing.Replays { return signing.NewMemory(0) }, storetest.Features{})
	}
	_ = test // func TestMine(t *testing.T)
}

func ExampleLedger() {
	test := func(t *testing.T) {
		storetest.Ledger(t, func(t *testing.T) token.Ledger { return token.NewMemoryLedger(nil) }, storetest.Features{})
	}
	_ = test
}

func ExampleAPIKeys() {
	test := func(t *testing.T) {
		storetest.APIKeys(t, func(t *testing.T) apikey.Store { return apikey.NewMemory() }, storetest.Features{})
	}
	_ = test
}

func ExampleIdempotency() {
	test := func(t *testing.T) {
		storetest.Idempotency(t, func(t *testing.T) idempotency.Store { return idempotency.NewMemory(nil) }, storetest.Features{})
	}
	_ = test
}

// Several instances of a store should share its data here, as those of a service do.
func ExampleHistory() {
	test := func(t *testing.T) {
		sessions := new(session.Memory)
		storetest.History(t, signing.NewMemory(0), token.NewMemoryLedger(nil), sessions.Sessions(), sessions.Attempts(), sessions.Factors(), apikey.NewMemory())
	}
	_ = test
}

// The function that opens the store gets the credential that the subtest looks up.
func ExampleCredentials() {
	open := func(t *testing.T, secret signing.Secret, c *signature.Credential) signature.Credentials {
		return signature.Memory{c.Key.ClientKey(): c}
	}
	test := func(t *testing.T) { storetest.Credentials(t, open, storetest.Features{}) }
	_ = test
}

func ExampleSessions() {
	test := func(t *testing.T) {
		storetest.Sessions(t, func(t *testing.T) session.Store { return new(session.Memory).Sessions() }, storetest.Features{})
	}
	_ = test
}

func ExampleAttempts() {
	test := func(t *testing.T) {
		storetest.Attempts(t, func(t *testing.T) session.Attempts { return new(session.Memory).Attempts() }, storetest.Features{})
	}
	_ = test
}

func ExampleFactors() {
	test := func(t *testing.T) {
		storetest.Factors(t, func(t *testing.T) session.FactorStore { return new(session.Memory).Factors() }, storetest.Features{})
	}
	_ = test
}

// Features passes the clock of a store whose clock tests can set.
func ExampleFeatures() {
	now := time.Now()
	memory := &session.Memory{Now: func() time.Time { return now }}
	f := storetest.Features{Now: memory.Now, Pass: func(d time.Duration) { now = now.Add(d) }}
	test := func(t *testing.T) {
		storetest.Sessions(t, func(t *testing.T) session.Store { return memory.Sessions() }, f)
	}
	_ = test
}
