package enginetest

import (
	"context"
	"database/sql/driver"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/redisstore"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// TestStoresStartNothing makes calls that succeed, that fail, and whose contexts end during the
// call. Then it looks for goroutines that still run in a store or were started by one.
func TestStoresStartNothing(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			s := h.store(t)
			unsettle(t, s.Replays(), s.Ledger(), s.Sessions(), s.Attempts())
			unsettled(t, func(ctx context.Context) error { return s.Sweep(ctx) })
			unsettled(t, func(ctx context.Context) error { return s.Reseal(ctx) })
			unsettled(t, func(ctx context.Context) error {
				_, err := sqlstore.Open(ctx, h.open(t), h.dialect, h.options())
				return err
			})
			nothingRuns(t, "auth/sqlstore")
		})
	}
	t.Run("Redis", func(t *testing.T) {
		server := startRedis(t)
		s := storesAt(t, server.addr())
		unsettle(t, s.replays, s.ledger, s.sessions, s.attempts)
		unsettled(t, func(ctx context.Context) error {
			_, err := redisstore.Open(ctx, dial(t, server.addr()), redisstore.Options{})
			return err
		})
		nothingRuns(t, "auth/redisstore")
	})
}

// unsettle calls a method of each store many times concurrently.
func unsettle(t *testing.T, replays signing.Replays, ledger token.Ledger, sessions session.Store, attempts session.Attempts) {
	t.Helper()
	unsettled(t, func(ctx context.Context) error { return replays.Claim(ctx, aUse()) })
	unsettled(t, func(ctx context.Context) error {
		r := aToken()
		return errors.Join(ledger.Issue(ctx, r, nil, 10), spend(ctx, ledger, r))
	})
	unsettled(t, func(ctx context.Context) error {
		n := aSession("jane")
		return errors.Join(sessions.Create(ctx, n, 3), sessions.Delete(ctx, n.Org, n.Hash))
	})
	unsettled(t, func(ctx context.Context) error {
		_, err := countUp(ctx, attempts, "key")
		return err
	})
}

// unsettled makes concurrent calls with contexts that have ended, that end during the call, and
// that do not end. In a small pool, a connection that has ended with a context may go to the next
// call.
func unsettled(t *testing.T, call func(context.Context) error) {
	t.Helper()
	const calls = 8
	succeed(t, 3*calls, func(i int) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		switch i % 3 {
		case 0:
			cancel()
			call(ctx)
			return nil
		case 1:
			time.AfterFunc(time.Duration(i)*100*time.Microsecond, cancel)
			call(ctx)
			return nil
		}
		return call(ctx)
	}, driver.ErrBadConn)
}

// nothingRuns waits until no goroutine has the package in its stack or was started by it.
func nothingRuns(t *testing.T, folder string) {
	t.Helper()
	var running []string
	if !until(func() bool {
		running = goroutines("tenantkit/" + folder + ".")
		return running == nil
	}) {
		t.Errorf("%d goroutines go on, the first one:\n%s", len(running), running[0])
	}
}

// goroutines returns the stacks that contain a text.
func goroutines(name string) (found []string) {
	stacks := make([]byte, 16<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, stack := range strings.Split(string(stacks), "\n\n") {
		if strings.Contains(stack, name) {
			found = append(found, stack)
		}
	}
	return found
}
