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
	records  map[[32]byte]*record       // by the hash that opens them; those that were replaced too
	previous map[[32]byte]*record       // by the hash that opened them until their latest Replace
	orgs     map[string]map[string]byID // by org, then account; those that were replaced are gone
}

// byID holds the records of one account.
type byID map[string]*record

type record struct {
	Session
	previous *[32]byte // nil: there was no Replace
	replaced bool      // ended by a later Create, remembered until Expires
}

func (r *record) isOver(now time.Time) bool { return !now.Before(r.Expires) }

// oldest orders sessions as List and the limit of Create want it.
func oldest(a, b Session) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
}

// Create implements Store. A hash or an id that the account has already is an
// error.
func (m *Memory) Create(ctx context.Context, s Session, limit int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.Org == "" || s.Account == "" {
		return errors.New("session: create a session: it has no org or no account")
	}
	now, t := m.now(), &m.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	sweep(t.records,
		func(r *record) bool { return r.isOver(now) },
		func(_ [32]byte, r *record) { t.remove(r) })
	if t.knows(s.Hash) || t.orgs[s.Org][s.Account][s.ID] != nil {
		return errors.New("session: the hash or the id is not new")
	}
	if limit > 0 {
		t.makeRoom(s, limit, now)
	}
	t.add(&record{Session: stored(s)})
	return nil
}

// stored returns what is kept of s. Short strings may be parts of long
// headers, which would be kept with them.
func stored(s Session) Session {
	s.Address, s.Agent = strings.Clone(s.Address), strings.Clone(s.Agent)
	s.Created, s.Authenticated = wholeMillis(s.Created), wholeMillis(s.Authenticated)
	s.Seen, s.Expires = wholeMillis(s.Seen), wholeMillis(s.Expires)
	return s
}

// knows reports whether a hash opens a record, or did.
func (t *sessionTable) knows(hash [32]byte) bool {
	return t.records[hash] != nil || t.previous[hash] != nil
}

// makeRoom ends the oldest of the account's records like s until there are
// fewer than limit.
func (t *sessionTable) makeRoom(s Session, limit int, now time.Time) {
	var same []*record
	for _, r := range t.orgs[s.Org][s.Account] {
		if r.Ticket == s.Ticket && !r.isOver(now) {
			same = append(same, r)
		}
	}
	if len(same) < limit {
		return
	}
	slices.SortFunc(same, func(a, b *record) int { return oldest(a.Session, b.Session) })
	for _, r := range same[:len(same)-limit+1] {
		t.remove(r)
		r.replaced = true
		t.records[r.Hash] = r
	}
}

func (t *sessionTable) add(r *record) {
	if t.records == nil {
		t.records, t.previous = map[[32]byte]*record{}, map[[32]byte]*record{}
		t.orgs = map[string]map[string]byID{}
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
	if r.replaced {
		return // All else went when it was replaced; its id may be another's since.
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

// live returns the record that hash opens, or nil.
func (t *sessionTable) live(hash [32]byte, now time.Time) *record {
	r := t.records[hash]
	if r == nil || r.replaced || r.isOver(now) {
		return nil
	}
	return r
}

// Get implements Store.
func (m *Memory) Get(ctx context.Context, hash [32]byte) (Session, error) {
	if err := ctx.Err(); err != nil {
		return Session{}, err
	}
	now, t := m.now(), &m.sessions
	t.mu.RLock()
	defer t.mu.RUnlock()
	r := t.records[hash]
	switch {
	case r == nil, r.isOver(now):
		return Session{}, auth.ErrNotFound
	case r.replaced:
		return Session{}, ErrReplaced
	}
	return r.Session, nil
}

// Touch implements Store.
func (m *Memory) Touch(ctx context.Context, hash [32]byte, seen time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now, t := m.now(), &m.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.live(hash, now)
	if r == nil {
		return auth.ErrNotFound
	}
	if seen = wholeMillis(seen); seen.After(r.Seen) {
		r.Seen = seen
	}
	return nil
}

// Replace implements Store. A hash that is not new is an error.
func (m *Memory) Replace(ctx context.Context, old [32]byte, s Session) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now, t := m.now(), &m.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.live(old, now)
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
func (m *Memory) Delete(ctx context.Context, hash [32]byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := &m.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := cmp.Or(t.records[hash], t.previous[hash]); r != nil && !r.replaced {
		t.remove(r)
	}
	return nil
}

// DeleteID implements Store.
func (m *Memory) DeleteID(ctx context.Context, org, account, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now, t := m.now(), &m.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.orgs[org][account][id]
	if r == nil || r.isOver(now) {
		return auth.ErrNotFound
	}
	t.remove(r)
	return nil
}

// DeleteAll implements Store.
func (m *Memory) DeleteAll(ctx context.Context, org, account, except string) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if account == "" {
		return 0, errors.New("session: DeleteAll without an account")
	}
	now, t := m.now(), &m.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end(t.orgs[org][account], except, now), nil
}

// DeleteOrg implements Store.
func (m *Memory) DeleteOrg(ctx context.Context, org string) (ended int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if org == "" {
		return 0, errors.New("session: DeleteOrg without an org")
	}
	now, t := m.now(), &m.sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, records := range t.orgs[org] {
		ended += t.end(records, "", now)
	}
	return ended, nil
}

// end removes an account's records, but for the one whose id is except (if not
// empty), and returns how many of them were sessions.
func (t *sessionTable) end(records byID, except string, now time.Time) (ended int) {
	for id, r := range records {
		if except != "" && id == except {
			continue
		}
		t.remove(r)
		if r.Ticket == "" && !r.isOver(now) {
			ended++
		}
	}
	return ended
}

// List implements Store.
func (m *Memory) List(ctx context.Context, org, account string) ([]Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now, t := m.now(), &m.sessions
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := []Session{}
	for _, r := range t.orgs[org][account] {
		if !r.isOver(now) {
			list = append(list, r.Session)
		}
	}
	slices.SortFunc(list, oldest)
	return list, nil
}
