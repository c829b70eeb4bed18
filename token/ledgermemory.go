package token

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// MemoryLedger is a Ledger in this process: when the process ends, every
// permanent and limited-use token ends with it. The zero MemoryLedger is empty
// and ready; it must not be copied.
type MemoryLedger struct {
	Now func() time.Time // nil: time.Now

	mu       sync.Mutex
	records  map[recordKey]*Record
	subjects map[subjectKey][]*Record // in the order of issue
}

type recordKey struct{ clientKey, id string }

type subjectKey struct{ clientKey, subject string }

var _ Ledger = (*MemoryLedger)(nil)

// isUsable reports whether a record is live, its ancestors aside. A record that
// is kept has not been revoked.
func (r *Record) isUsable(now time.Time) bool {
	return (r.Expires.IsZero() || now.Before(r.Expires)) && (r.MaxUses == 0 || r.Uses < r.MaxUses)
}

// ancestors returns whether a record is live, and how many ancestors it has
// then. A nil record is not live. The walk ends after MaxAncestors, also where
// records form a circle.
func (m *MemoryLedger) ancestors(r *Record, now time.Time) (n int, live bool) {
	for n := range MaxAncestors + 1 {
		if r == nil || !r.isUsable(now) {
			return 0, false
		}
		if r.Parent == "" {
			return n, true
		}
		r = m.records[recordKey{r.ClientKey, r.Parent}]
	}
	return 0, false
}

func (m *MemoryLedger) isLive(r *Record, now time.Time) bool {
	_, live := m.ancestors(r, now)
	return live
}

// Issue implements Ledger.
func (m *MemoryLedger) Issue(ctx context.Context, r Record, limit int) error {
	now := current(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep(now)
	key, subject := recordKey{r.ClientKey, r.ID}, subjectKey{r.ClientKey, r.Subject}
	if m.records[key] != nil {
		return errors.New("token: id was issued before")
	}
	if err := m.vetParent(&r, now); err != nil {
		return err
	}
	same := 0
	for _, old := range m.subjects[subject] {
		if old.KeyID == r.KeyID && m.isLive(old, now) {
			same++
		}
	}
	if same >= limit {
		return ErrTooMany
	}
	m.prune(subject, r.KeyID, limit, now)
	if m.records == nil {
		m.records, m.subjects = map[recordKey]*Record{}, map[subjectKey][]*Record{}
	}
	r.Uses = 0
	m.records[key] = &r
	m.subjects[subject] = append(m.subjects[subject], &r)
	return nil
}

// vetParent returns why a record may not descend from its parent.
func (m *MemoryLedger) vetParent(r *Record, now time.Time) error {
	if r.Parent == "" {
		return nil
	}
	ancestors, live := m.ancestors(m.records[recordKey{r.ClientKey, r.Parent}], now)
	switch {
	case !live:
		return ErrRevoked
	case ancestors >= MaxAncestors:
		return ErrTooDeep
	}
	return nil
}

// prune drops a subject's dead records and, of those of other keys, all but
// the latest: a replaced key's records are dead too, which only Keys knows. An
// Issue that still holds a key replaced meanwhile prunes none of the new one's,
// as there are never more of them than limit, and they are the latest.
func (m *MemoryLedger) prune(subject subjectKey, kid string, limit int, now time.Time) {
	others := 0
	for _, r := range slices.Backward(slices.Clone(m.subjects[subject])) {
		if r.KeyID != kid {
			others++
		}
		if !m.isLive(r, now) || r.KeyID != kid && others > limit {
			m.remove(r)
		}
	}
}

// sweep looks at a few records, whichever the map gives first, and drops those
// that are dead. Each Issue adds one and looks at several, so that the dead
// never outgrow the living.
func (m *MemoryLedger) sweep(now time.Time) {
	looks := 4
	for _, r := range m.records {
		if !m.isLive(r, now) {
			m.remove(r)
		}
		if looks--; looks == 0 {
			return
		}
	}
}

func (m *MemoryLedger) remove(r *Record) {
	delete(m.records, recordKey{r.ClientKey, r.ID})
	key := subjectKey{r.ClientKey, r.Subject}
	rest := slices.DeleteFunc(m.subjects[key], func(other *Record) bool { return other == r })
	if len(rest) == 0 {
		delete(m.subjects, key)
		return
	}
	m.subjects[key] = rest
}

// Spend implements Spender.
func (m *MemoryLedger) Spend(ctx context.Context, r Record) (Lineage, error) {
	now := current(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	issued := m.records[recordKey{r.ClientKey, r.ID}]
	switch {
	case issued == nil, issued.Subject != r.Subject, issued.KeyID != r.KeyID, issued.MaxUses != r.MaxUses:
		return Lineage{}, ErrRevoked
	case m.isLive(issued, now):
		issued.Uses++
		return issued.Lineage, nil
	case issued.MaxUses > 0 && issued.Uses >= issued.MaxUses:
		return Lineage{}, ErrExhausted
	}
	return Lineage{}, ErrRevoked
}

// Revoke implements Ledger.
func (m *MemoryLedger) Revoke(ctx context.Context, clientKey, id string) error {
	if id == "" {
		return ErrEphemeral
	}
	now := current(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.records[recordKey{clientKey, id}]
	if !m.isLive(r, now) {
		return ErrNotFound
	}
	m.remove(r)
	return nil
}

// RevokeSubject implements Ledger.
func (m *MemoryLedger) RevokeSubject(ctx context.Context, clientKey, subject string) (int, error) {
	now := current(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	key, live := subjectKey{clientKey, subject}, 0
	// Counted before any is gone: one may be the parent of another.
	for _, r := range m.subjects[key] {
		if m.isLive(r, now) {
			live++
		}
	}
	for _, r := range m.subjects[key] {
		delete(m.records, recordKey{r.ClientKey, r.ID})
	}
	delete(m.subjects, key)
	return live, nil
}

// List implements Ledger.
func (m *MemoryLedger) List(ctx context.Context, clientKey, subject string) ([]Record, error) {
	now := current(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []Record{}
	for _, r := range m.subjects[subjectKey{clientKey, subject}] {
		if m.isLive(r, now) {
			list = append(list, *r)
		}
	}
	slices.SortStableFunc(list, func(a, b Record) int {
		return cmp.Or(a.Issued.Compare(b.Issued), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}
