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

	mu       sync.RWMutex
	sessions sessionTable
	attempts map[inOrg]attemptRecord // by key
	factors  map[inOrg]Factor        // by account
}

var (
	_ Store       = (*Memory)(nil)
	_ Attempts    = (*Memory)(nil)
	_ FactorStore = (*Memory)(nil)
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

// inOrg is a key or the ID of an account, which are unique only within an org.
type inOrg struct {
	org auth.OrgKey
	id  string
}

// change runs f alone, unless ctx has ended.
func (m *Memory) change(ctx context.Context, f func(now time.Time) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	return f(now)
}

// recordLife is how long a record of Attempts is kept after its latest Swap.
const recordLife = 24 * time.Hour

type attemptRecord struct {
	text    string
	swapped time.Time
}

// Load implements Attempts.
func (m *Memory) Load(ctx context.Context, org auth.OrgKey, key string) (record string, err error) {
	err = m.change(ctx, func(time.Time) error {
		record = m.attempts[inOrg{org, key}].text
		return nil
	})
	return record, err
}

// Swap implements Attempts.
func (m *Memory) Swap(ctx context.Context, org auth.OrgKey, key, old, record string) (done bool, err error) {
	at := inOrg{org, key}
	err = m.change(ctx, func(now time.Time) error {
		sweep(m.attempts,
			func(r attemptRecord) bool { return now.Sub(r.swapped) > recordLife },
			func(key inOrg, _ attemptRecord) { delete(m.attempts, key) })
		if m.attempts == nil {
			m.attempts = map[inOrg]attemptRecord{}
		}
		if done = m.attempts[at].text == old; done {
			m.attempts[at] = attemptRecord{record, now}
		}
		if done && record == "" {
			delete(m.attempts, at)
		}
		return nil
	})
	return done, err
}

// Factor implements Factors.
func (m *Memory) Factor(ctx context.Context, org auth.OrgKey, account string) (f Factor, err error) {
	err = m.change(ctx, func(time.Time) error {
		f = m.factors[inOrg{org, account}].clone()
		return nil
	})
	return f, err
}

// Save implements Factors.
func (m *Memory) Save(ctx context.Context, org auth.OrgKey, account string, f Factor) error {
	key := inOrg{org, account}
	return m.change(ctx, func(time.Time) error {
		if m.factors[key].Version != f.Version {
			return ErrConflict
		}
		if m.factors == nil {
			m.factors = map[inOrg]Factor{}
		}
		f = f.clone()
		f.Version++
		m.factors[key] = f
		return nil
	})
}
