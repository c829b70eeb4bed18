package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/clock"
)

// Memory has the stores of a Manager, in this process. When the process ends, all sessions,
// counts and second factors are lost. Use it for tests, for examples, and for a server of
// one process whose accounts can enrol again. It writes nothing to disk, so secrets are
// not sealed.
//
// It holds records that have not ended yet. It also holds some that have ended, for a
// while: each verb that adds a record checks a few others and removes the ended ones.
// It stores and returns copies.
//
// The zero Memory is empty and ready. It must not be copied.
type Memory struct {
	Now func() time.Time // nil: time.Now

	mu       sync.Mutex
	records  map[[32]byte]*record    // of sessions, by their hash, evicted ones too; and by that before the latest Replace
	accounts map[inOrg][]*record     // without evicted ones
	attempts map[inOrg]attemptRecord // by key
	factors  map[inOrg]Factor        // by account
}

// Three types, because whoever gets a store may ask what else it is.
type (
	memorySessions struct{ *Memory }
	memoryAttempts struct{ *Memory }
	memoryFactors  struct{ *Memory }
)

// Sessions returns the store of sessions.
func (m *Memory) Sessions() Store { return memorySessions{m} }

// Attempts returns the store of attempts.
func (m *Memory) Attempts() Attempts { return memoryAttempts{m} }

// Factors returns the store of second factors.
func (m *Memory) Factors() FactorStore { return memoryFactors{m} }

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
	now := clock.Now(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	return f(now)
}

// found is change for a verb that cannot fail and returns something.
func found[T any](ctx context.Context, m *Memory, f func(now time.Time) T) (result T, err error) {
	err = m.change(ctx, func(now time.Time) error {
		result = f(now)
		return nil
	})
	return result, err
}

// recordLife is how long a record of Attempts is kept after its latest Swap.
const recordLife = 24 * time.Hour

type attemptRecord struct {
	text    string
	swapped time.Time
}

func (m memoryAttempts) Load(ctx context.Context, org auth.OrgKey, key string) (record string, err error) {
	return found(ctx, m.Memory, func(time.Time) string { return m.attempts[inOrg{org, key}].text })
}

func (m memoryAttempts) Swap(ctx context.Context, org auth.OrgKey, key, old, record string) (bool, error) {
	at := inOrg{org, key}
	return found(ctx, m.Memory, func(now time.Time) bool {
		sweep(m.attempts,
			func(r attemptRecord) bool { return now.Sub(r.swapped) > recordLife },
			func(key inOrg, _ attemptRecord) { delete(m.attempts, key) })
		if m.attempts == nil {
			m.attempts = map[inOrg]attemptRecord{}
		}
		if m.attempts[at].text != old {
			return false
		}
		m.attempts[at] = attemptRecord{record, now}
		if record == "" {
			delete(m.attempts, at)
		}
		return true
	})
}

func (m memoryFactors) Factor(ctx context.Context, org auth.OrgKey, account string) (Factor, error) {
	return found(ctx, m.Memory, func(time.Time) Factor {
		f := m.factors[inOrg{org, account}]
		f.Recovery = slices.Clone(f.Recovery)
		return f
	})
}

func (m memoryFactors) Save(ctx context.Context, org auth.OrgKey, account string, f Factor) error {
	key := inOrg{org, account}
	return m.change(ctx, func(time.Time) error {
		if m.factors[key].Version != f.Version {
			return auth.ErrConflict
		}
		if m.factors == nil {
			m.factors = map[inOrg]Factor{}
		}
		f.Recovery = slices.Clone(f.Recovery)
		f.Version++
		m.factors[key] = f
		return nil
	})
}

type record struct {
	Session
	previous [32]byte // zero: there was no Replace
	evicted  bool     // ended by a later Create, kept until Expires
}

func (r *record) isExpired(now time.Time) bool { return !now.Before(r.Expires) }

// byAge orders sessions for List: by Created, then by ID.
func byAge(a, b Session) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
}

// Create returns an error if the hash is not new, or if the account already has the ID.
func (m memorySessions) Create(ctx context.Context, s Session, limit int) error {
	return m.change(ctx, func(now time.Time) error {
		sweep(m.records,
			func(r *record) bool { return r.isExpired(now) },
			func(_ [32]byte, r *record) { m.remove(r) })
		if m.records[s.Hash] != nil || m.byID(s.Org, s.Account, s.ID) != nil {
			return errors.New("session: the hash or the id is not new")
		}
		if limit > 0 {
			m.evict(s, limit, now)
		}
		m.add(&record{Session: stored(s)})
		return nil
	})
}

// stored returns what is kept of s. It clones strings, because a short one may be part
// of a long header and would keep all of it in memory.
func stored(s Session) Session {
	s.Address, s.Agent = strings.Clone(s.Address), strings.Clone(s.Agent)
	s.Created, s.Authenticated = wholeMillis(s.Created), wholeMillis(s.Authenticated)
	s.Seen, s.Expires = wholeMillis(s.Seen), wholeMillis(s.Expires)
	return s
}

// evict ends those of the account's records with the Ticket of s that were not used for the
// longest time, until fewer than limit are left.
func (m *Memory) evict(s Session, limit int, now time.Time) {
	same := slices.Clone(m.accounts[inOrg{s.Org, s.Account}])
	same = slices.DeleteFunc(same, func(r *record) bool { return r.Ticket != s.Ticket || r.isExpired(now) })
	slices.SortFunc(same, func(a, b *record) int { return cmp.Or(a.Seen.Compare(b.Seen), byAge(a.Session, b.Session)) })
	for _, r := range same[:max(0, len(same)-limit+1)] {
		m.remove(r)
		r.evicted, r.previous = true, [32]byte{}
		m.records[r.Hash] = r
	}
}

// byID returns the account's record with an ID, or nil.
func (m *Memory) byID(org auth.OrgKey, account, id string) *record {
	all := m.accounts[inOrg{org, account}]
	if i := slices.IndexFunc(all, func(r *record) bool { return r.ID == id }); i >= 0 {
		return all[i]
	}
	return nil
}

func (m *Memory) add(r *record) {
	if m.records == nil {
		m.records, m.accounts = map[[32]byte]*record{}, map[inOrg][]*record{}
	}
	account := inOrg{r.Org, r.Account}
	m.records[r.Hash] = r
	m.accounts[account] = append(m.accounts[account], r)
}

func (m *Memory) remove(r *record) {
	delete(m.records, r.Hash)
	delete(m.records, r.previous)
	account := inOrg{r.Org, r.Account}
	m.accounts[account] = slices.DeleteFunc(m.accounts[account], func(other *record) bool { return other == r })
	if len(m.accounts[account]) == 0 {
		delete(m.accounts, account)
	}
}

// live returns the record of the org that has this hash, or the error of Get.
func (m *Memory) live(org auth.OrgKey, hash [32]byte, now time.Time) (*record, error) {
	r := m.records[hash]
	switch {
	case r == nil, r.Hash != hash, r.Org != org, r.isExpired(now):
		return nil, auth.ErrNotFound
	case r.evicted:
		return nil, ErrEvicted
	}
	return r, nil
}

func (m memorySessions) Get(ctx context.Context, org auth.OrgKey, hash [32]byte) (s Session, err error) {
	err = m.change(ctx, func(now time.Time) error {
		r, err := m.live(org, hash, now)
		if err == nil {
			s = r.Session
		}
		return err
	})
	return s, err
}

func (m memorySessions) Touch(ctx context.Context, org auth.OrgKey, hash [32]byte, seen time.Time) error {
	return m.change(ctx, func(now time.Time) error {
		r, err := m.live(org, hash, now)
		if err != nil {
			return auth.ErrNotFound
		}
		if seen = wholeMillis(seen); seen.After(r.Seen) {
			r.Seen = seen
		}
		return nil
	})
}

// Replace returns an error if the hash is not new.
func (m memorySessions) Replace(ctx context.Context, org auth.OrgKey, old [32]byte, s Session) error {
	return m.change(ctx, func(now time.Time) error {
		r, err := m.live(org, old, now)
		switch {
		case err != nil:
			return auth.ErrNotFound
		case m.records[s.Hash] != nil:
			return errors.New("session: the hash is not new")
		}
		m.remove(r)
		r.Hash, r.previous = s.Hash, old
		r.Authenticated, r.Seen = wholeMillis(s.Authenticated), wholeMillis(s.Seen)
		m.add(r)
		m.records[old] = r
		return nil
	})
}

func (m memorySessions) Delete(ctx context.Context, org auth.OrgKey, hash [32]byte) error {
	return m.change(ctx, func(time.Time) error {
		if r := m.records[hash]; r != nil && r.Org == org && !r.evicted {
			m.remove(r)
		}
		return nil
	})
}

func (m memorySessions) DeleteID(ctx context.Context, org auth.OrgKey, account, id string) error {
	return m.change(ctx, func(now time.Time) error {
		r := m.byID(org, account, id)
		if r == nil || r.isExpired(now) {
			return auth.ErrNotFound
		}
		m.remove(r)
		return nil
	})
}

func (m memorySessions) DeleteAll(ctx context.Context, org auth.OrgKey, account, except string) (int, error) {
	return found(ctx, m.Memory, func(now time.Time) int {
		return m.removeAll(m.accounts[inOrg{org, account}], except, now)
	})
}

func (m memorySessions) DeleteOrg(ctx context.Context, org auth.OrgKey) (int, error) {
	return found(ctx, m.Memory, func(now time.Time) (ended int) {
		for account, records := range m.accounts {
			if account.org == org {
				ended += m.removeAll(records, "", now)
			}
		}
		return ended
	})
}

// removeAll removes records and returns how many of them were sessions. If except is not empty,
// the record with that ID stays.
func (m *Memory) removeAll(records []*record, except string, now time.Time) (ended int) {
	for _, r := range slices.Clone(records) {
		if except != "" && r.ID == except {
			continue
		}
		m.remove(r)
		if r.Ticket == "" && !r.isExpired(now) {
			ended++
		}
	}
	return ended
}

func (m memorySessions) List(ctx context.Context, org auth.OrgKey, account string) ([]Session, error) {
	list, err := found(ctx, m.Memory, func(now time.Time) []Session {
		list := []Session{}
		for _, r := range m.accounts[inOrg{org, account}] {
			if !r.isExpired(now) {
				list = append(list, r.Session)
			}
		}
		return list
	})
	slices.SortFunc(list, byAge)
	return list, err
}
