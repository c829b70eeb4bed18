package session

import (
	"context"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/clock"
)

// Memory is a Store, an Attempts and a Factors in this process. When the process ends,
// all sessions, counts and second factors are lost. Use it for tests, for examples, and
// for a server of one process whose accounts can enrol again. It writes nothing to
// disk, so secrets are not sealed.
//
// It holds records that have not ended yet. It also holds some that have ended, for a
// while: each verb that adds a record checks a few others and removes the ended ones.
// It stores and returns copies.
//
// The zero Memory is empty and ready. It must not be copied.
type Memory struct {
	Now func() time.Time // nil: time.Now

	sessions sessionTable
	attempts attemptTable
	factors  factorTable
}

var (
	_ Store    = (*Memory)(nil)
	_ Attempts = (*Memory)(nil)
	_ Factors  = (*Memory)(nil)
)

func (m *Memory) now() time.Time { return clock.Now(m.Now) }

// sweepSize is how many records a verb that adds one checks. It is larger than two, so
// that ended records stay fewer than live ones.
const sweepSize = 4

// sweep checks a few records in the random order of the map, and drops those that are
// dead.
func sweep[K comparable, V any](records map[K]V, dead func(V) bool, drop func(K, V)) {
	left := sweepSize
	for key, record := range records {
		if dead(record) {
			drop(key, record)
		}
		if left--; left == 0 {
			return
		}
	}
}

// accountKey identifies an account: its ID is unique only within its org.
type accountKey struct {
	org     auth.OrgKey
	account string
}

// countLife is how long a count is kept after its latest attempt.
const countLife = 24 * time.Hour

// attemptTable is the Attempts of a Memory.
type attemptTable struct {
	mu     sync.Mutex
	counts map[string]count
}

// count uses the times that Try is given, not the clock.
type count struct {
	attempts int
	last     time.Time
	until    time.Time // end of the delay that the latest attempt has set
}

func (c count) isForgotten(at time.Time) bool { return at.Sub(c.last) >= countLife }

// Try implements Attempts.
func (m *Memory) Try(ctx context.Context, key string, at time.Time, free int) (int, time.Time, error) {
	if err := ctx.Err(); err != nil {
		return 0, time.Time{}, err
	}
	t := &m.attempts
	t.mu.Lock()
	defer t.mu.Unlock()
	sweep(t.counts,
		func(c count) bool { return c.isForgotten(at) },
		func(key string, _ count) { delete(t.counts, key) })
	c := t.counts[key]
	if c.isForgotten(at) {
		c = count{}
	}
	if at.Before(c.until) {
		return c.attempts, c.until, nil
	}
	c.attempts++
	if at.After(c.last) { // The clock of another process may be behind.
		c.last = at
	}
	if delay := Delay(c.attempts, free); delay > 0 {
		c.until = at.Add(delay)
	}
	if t.counts == nil {
		t.counts = map[string]count{}
	}
	t.counts[key] = c
	return c.attempts, time.Time{}, nil
}

// Return implements Attempts.
func (m *Memory) Return(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := &m.attempts
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.counts[key]
	if c.attempts <= 1 {
		delete(t.counts, key)
		return nil
	}
	// The delay before it has ended, because no attempt is counted inside a delay.
	c.attempts, c.until = c.attempts-1, time.Time{}
	t.counts[key] = c
	return nil
}

// Reset implements Attempts.
func (m *Memory) Reset(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := &m.attempts
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.counts, key)
	return nil
}

// factorTable is the Factors of a Memory.
type factorTable struct {
	mu      sync.RWMutex
	records map[accountKey]Factor
}

// Factor implements Factors.
func (m *Memory) Factor(ctx context.Context, org auth.OrgKey, account string) (Factor, error) {
	if err := ctx.Err(); err != nil {
		return Factor{}, err
	}
	t := &m.factors
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.records[accountKey{org, account}].clone(), nil
}

// Save implements Factors.
func (m *Memory) Save(ctx context.Context, org auth.OrgKey, account string, f Factor) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t, key := &m.factors, accountKey{org, account}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.records[key].Version != f.Version {
		return ErrConflict
	}
	f = f.clone()
	f.Version++
	if t.records == nil {
		t.records = map[accountKey]Factor{}
	}
	t.records[key] = f
	return nil
}
