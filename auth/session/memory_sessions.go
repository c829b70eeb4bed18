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
)

// sessionTable is the Store of a Memory.
type sessionTable struct {
	mu       sync.RWMutex
	records  map[[32]byte]*record            // by their hash; includes evicted ones
	previous map[[32]byte]*record            // by their hash before the latest Replace
	orgs     map[auth.OrgKey]map[string]byID // by org, then account; without evicted ones
}

// byID holds the records of one account by their ID.
type byID map[string]*record

type record struct {
	Session
	previous *[32]byte // nil: there was no Replace
	evicted  bool      // ended by a later Create, kept until Expires
}

func (r *record) isExpired(now time.Time) bool { return !now.Before(r.Expires) }

// byAge orders sessions for List: by Created, then by ID.
func byAge(a, b Session) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
}

// Create implements Store. If the hash is not new, or if the account already has the
// ID, Create returns an error.
func (m *Memory) Create(ctx context.Context, s Session, limit int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now, t := m.now(), &m.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	sweep(t.records,
		func(r *record) bool { return r.isExpired(now) },
		func(_ [32]byte, r *record) { t.remove(r) })
	if t.knows(s.Hash) || t.orgs[s.Org][s.Account][s.ID] != nil {
		return errors.New("session: the hash or the id is not new")
	}
	if limit > 0 {
		t.evict(s, limit, now)
	}
	t.add(&record{Session: stored(s)})
	return nil
}

// stored returns what is kept of s. It clones strings, because a short one may be part
// of a long header and would keep all of it in memory.
func stored(s Session) Session {
	s.Address, s.Agent = strings.Clone(s.Address), strings.Clone(s.Agent)
	s.Created, s.Authenticated = wholeMillis(s.Created), wholeMillis(s.Authenticated)
	s.Seen, s.Expires = wholeMillis(s.Seen), wholeMillis(s.Expires)
	return s
}

// knows reports whether a record has the hash, or had it before its latest Replace.
func (t *sessionTable) knows(hash [32]byte) bool {
	return t.records[hash] != nil || t.previous[hash] != nil
}

// evict ends those of the account's records with the Ticket of s that were not used for the
// longest time, until fewer than limit are left.
func (t *sessionTable) evict(s Session, limit int, now time.Time) {
	var same []*record
	for _, r := range t.orgs[s.Org][s.Account] {
		if r.Ticket == s.Ticket && !r.isExpired(now) {
			same = append(same, r)
		}
	}
	if len(same) < limit {
		return
	}
	slices.SortFunc(same, func(a, b *record) int { return cmp.Or(a.Seen.Compare(b.Seen), byAge(a.Session, b.Session)) })
	for _, r := range same[:len(same)-limit+1] {
		t.remove(r)
		r.evicted = true
		t.records[r.Hash] = r
	}
}

func (t *sessionTable) add(r *record) {
	if t.records == nil {
		t.records, t.previous = map[[32]byte]*record{}, map[[32]byte]*record{}
		t.orgs = map[auth.OrgKey]map[string]byID{}
	}
	if t.orgs[r.Org] == nil {
		t.orgs[r.Org] = map[string]byID{}
	}
	if t.orgs[r.Org][r.Account] == nil {
		t.orgs[r.Org][r.Account] = byID{}
	}
	t.records[r.Hash] = r
	t.orgs[r.Org][r.Account][r.ID] = r
}

func (t *sessionTable) remove(r *record) {
	delete(t.records, r.Hash)
	if r.evicted {
		return // evict has removed all else, and another record may have its ID since
	}
	if r.previous != nil {
		delete(t.previous, *r.previous)
	}
	account := t.orgs[r.Org][r.Account]
	delete(account, r.ID)
	if len(account) > 0 {
		return
	}
	delete(t.orgs[r.Org], r.Account)
	if len(t.orgs[r.Org]) == 0 {
		delete(t.orgs, r.Org)
	}
}

// live returns the live record of the org that has this hash, or nil.
func (t *sessionTable) live(org auth.OrgKey, hash [32]byte, now time.Time) *record {
	r := t.records[hash]
	if r == nil || r.Org != org || r.evicted || r.isExpired(now) {
		return nil
	}
	return r
}

// Get implements Store.
func (m *Memory) Get(ctx context.Context, org auth.OrgKey, hash [32]byte) (Session, error) {
	if err := ctx.Err(); err != nil {
		return Session{}, err
	}
	now, t := m.now(), &m.sessions
	t.mu.RLock()
	defer t.mu.RUnlock()
	r := t.records[hash]
	switch {
	case r == nil, r.Org != org, r.isExpired(now):
		return Session{}, auth.ErrNotFound
	case r.evicted:
		return Session{}, ErrEvicted
	}
	return r.Session, nil
}

// Touch implements Store.
func (m *Memory) Touch(ctx context.Context, org auth.OrgKey, hash [32]byte, seen time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now, t := m.now(), &m.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.live(org, hash, now)
	if r == nil {
		return auth.ErrNotFound
	}
	if seen = wholeMillis(seen); seen.After(r.Seen) {
		r.Seen = seen
	}
	return nil
}

// Replace implements Store. A hash that is not new is an error.
func (m *Memory) Replace(ctx context.Context, org auth.OrgKey, old [32]byte, s Session) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now, t := m.now(), &m.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.live(org, old, now)
	if r == nil {
		return auth.ErrNotFound
	}
	if t.knows(s.Hash) {
		return errors.New("session: the hash is not new")
	}
	t.remove(r)
	r.Hash, r.previous = s.Hash, &old
	r.Authenticated, r.Seen = wholeMillis(s.Authenticated), wholeMillis(s.Seen)
	t.add(r)
	t.previous[old] = r
	return nil
}

// Delete implements Store.
func (m *Memory) Delete(ctx context.Context, org auth.OrgKey, hash [32]byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := &m.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := cmp.Or(t.records[hash], t.previous[hash]); r != nil && r.Org == org && !r.evicted {
		t.remove(r)
	}
	return nil
}

// DeleteID implements Store.
func (m *Memory) DeleteID(ctx context.Context, org auth.OrgKey, account, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now, t := m.now(), &m.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.orgs[org][account][id]
	if r == nil || r.isExpired(now) {
		return auth.ErrNotFound
	}
	t.remove(r)
	return nil
}

// DeleteAll implements Store.
func (m *Memory) DeleteAll(ctx context.Context, org auth.OrgKey, account, except string) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	now, t := m.now(), &m.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.removeAll(t.orgs[org][account], except, now), nil
}

// DeleteOrg implements Store.
func (m *Memory) DeleteOrg(ctx context.Context, org auth.OrgKey) (ended int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	now, t := m.now(), &m.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, records := range t.orgs[org] {
		ended += t.removeAll(records, "", now)
	}
	return ended, nil
}

// removeAll removes an account's records and returns how many of them were sessions. If
// except is not empty, the record with that ID stays.
func (t *sessionTable) removeAll(records byID, except string, now time.Time) (ended int) {
	for id, r := range records {
		if except != "" && id == except {
			continue
		}
		t.remove(r)
		if r.Ticket == "" && !r.isExpired(now) {
			ended++
		}
	}
	return ended
}

// List implements Store.
func (m *Memory) List(ctx context.Context, org auth.OrgKey, account string) ([]Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now, t := m.now(), &m.sessions
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := []Session{}
	for _, r := range t.orgs[org][account] {
		if !r.isExpired(now) {
			list = append(list, r.Session)
		}
	}
	slices.SortFunc(list, byAge)
	return list, nil
}
