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

// recordLife is how long a record of Attempts is kept after its latest Swap.
const recordLife = 24 * time.Hour

// attemptTable is the Attempts of a Memory.
type attemptTable struct {
	mu      sync.Mutex
	records map[attemptKey]attemptRecord
}

type attemptKey struct {
	org auth.OrgKey
	key string
}

type attemptRecord struct {
	text    string
	swapped time.Time
}

// Load implements Attempts.
func (m *Memory) Load(ctx context.Context, org auth.OrgKey, key string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	t := &m.attempts
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.records[attemptKey{org, key}].text, nil
}

// Swap implements Attempts.
func (m *Memory) Swap(ctx context.Context, org auth.OrgKey, key, old, record string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	now, t, at := m.now(), &m.attempts, attemptKey{org, key}
	t.mu.Lock()
	defer t.mu.Unlock()
	sweep(t.records,
		func(r attemptRecord) bool { return now.Sub(r.swapped) > recordLife },
		func(key attemptKey, _ attemptRecord) { delete(t.records, key) })
	switch {
	case t.records[at].text != old:
		return false, nil
	case record == "":
		delete(t.records, at)
		return true, nil
	case t.records == nil:
		t.records = map[attemptKey]attemptRecord{}
	}
	t.records[at] = attemptRecord{record, now}
	return true, nil
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
