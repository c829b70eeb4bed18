package token

import (
	"cmp"
	"container/heap"
	"container/list"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"
)

// MemoryLedger is a Ledger in this process: when the process ends, every
// permanent and limited-use token ends with it. The zero MemoryLedger is empty
// and ready; it must not be copied.
//
// Issue takes as long for a subject with many records as for one with few.
type MemoryLedger struct {
	Now func() time.Time // nil: time.Now

	mu       sync.Mutex
	records  map[recordKey]*kept
	subjects map[subjectKey]*holdings
	expiries expiries
	spent    []*kept // since the last Issue
}

type recordKey struct{ clientKey, id string }

type subjectKey struct{ clientKey, subject string }

// kept is a record with all that changes when it is removed.
type kept struct {
	Record
	parent   *kept              // nil: it has none; a record is removed with its parent
	children map[*kept]struct{} // records that it is the parent of
	place    *list.Element      // in its holdings
	expiry   int                // its index in expiries
}

// holdings are the records of one subject.
type holdings struct {
	records list.List      // of *kept, in the order of issue
	ofKey   map[string]int // how many of them there are, by KeyID
}

// all goes through the records in the order of issue. None may be removed meanwhile.
func (h *holdings) all() iter.Seq[*kept] {
	return func(yield func(*kept) bool) {
		if h == nil {
			return
		}
		for e := h.records.Front(); e != nil; e = e.Next() {
			if !yield(e.Value.(*kept)) {
				return
			}
		}
	}
}

// count returns how many records of a key there are.
func (h *holdings) count(kid string) int {
	if h == nil {
		return 0
	}
	return h.ofKey[kid]
}

var _ Ledger = (*MemoryLedger)(nil)

// isUsable reports whether a record is live, its ancestors aside: a kept record
// has not been revoked.
func (r *kept) isUsable(now time.Time) bool {
	return (r.Expires.IsZero() || now.Before(r.Expires)) && (r.MaxUses == 0 || r.Uses < r.MaxUses)
}

// ancestors returns how many ancestors a live record has. A nil record is not
// live. The walk ends after MaxAncestors, also where records form a circle.
func (r *kept) ancestors(now time.Time) (n int, live bool) {
	for n := range MaxAncestors + 1 {
		if r == nil || !r.isUsable(now) {
			return 0, false
		}
		if r.parent == nil {
			return n, true
		}
		r = r.parent
	}
	return 0, false
}

func (r *kept) isLive(now time.Time) bool {
	_, live := r.ancestors(now)
	return live
}

// Issue implements Ledger.
func (m *MemoryLedger) Issue(ctx context.Context, r Record, limit int) error {
	now := current(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropDead(now)
	if m.records[recordKey{r.ClientKey, r.ID}] != nil {
		return errors.New("token: id was issued before")
	}
	parent, err := m.parentOf(&r, now)
	if err != nil {
		return err
	}
	// All that are left are live, so that counting them needs no look at each.
	if m.subjects[subjectKey{r.ClientKey, r.Subject}].count(r.KeyID) >= limit {
		return ErrTooMany
	}
	r.Uses = 0
	m.add(&kept{Record: r, parent: parent})
	m.prune(r, limit)
	return nil
}

// parentOf returns the parent of a record, nil if it has none, or why the record
// may not descend from it.
func (m *MemoryLedger) parentOf(r *Record, now time.Time) (*kept, error) {
	if r.Parent == "" {
		return nil, nil
	}
	parent := m.records[recordKey{r.ClientKey, r.Parent}]
	ancestors, live := parent.ancestors(now)
	switch {
	case !live:
		return nil, ErrRevoked
	case ancestors >= MaxAncestors:
		return nil, ErrTooDeep
	}
	return parent, nil
}

// dropDead removes each record that has expired or was spent since the last
// Issue, and all that descends from it. What was revoked is gone already. Each
// record is removed once, so that no Issue looks at the living.
func (m *MemoryLedger) dropDead(now time.Time) {
	for len(m.expiries) > 0 && !m.expiries[0].isUsable(now) {
		m.remove(m.expiries[0])
	}
	for _, r := range m.spent {
		m.remove(r)
	}
	m.spent = nil
}

// prune drops of a subject's records of other keys all but the latest: a
// replaced key's records are dead too, which only Keys knows. An Issue that
// still holds a key replaced meanwhile prunes none of the new one's, as there
// are never more of them than limit, and they are the latest.
func (m *MemoryLedger) prune(issued Record, limit int) {
	h := m.subjects[subjectKey{issued.ClientKey, issued.Subject}]
	excess := h.records.Len() - h.count(issued.KeyID) - limit
	if excess <= 0 {
		return
	}
	// Chosen before any is gone: one may be the parent of another.
	oldest := make([]*kept, 0, excess)
	for r := range h.all() {
		if len(oldest) == excess {
			break
		}
		if r.KeyID != issued.KeyID {
			oldest = append(oldest, r)
		}
	}
	for _, r := range oldest {
		m.remove(r)
	}
}

func (m *MemoryLedger) add(r *kept) {
	if m.records == nil {
		m.records, m.subjects = map[recordKey]*kept{}, map[subjectKey]*holdings{}
	}
	m.records[recordKey{r.ClientKey, r.ID}] = r
	subject := subjectKey{r.ClientKey, r.Subject}
	h := m.subjects[subject]
	if h == nil {
		h = &holdings{ofKey: map[string]int{}}
		m.subjects[subject] = h
	}
	r.place = h.records.PushBack(r)
	h.ofKey[r.KeyID]++
	if !r.Expires.IsZero() {
		heap.Push(&m.expiries, r)
	}
	if r.parent == nil {
		return
	}
	if r.parent.children == nil {
		r.parent.children = map[*kept]struct{}{}
	}
	r.parent.children[r] = struct{}{}
}

// remove drops a record and all that descends from it. A record that is gone
// already stays so.
func (m *MemoryLedger) remove(r *kept) {
	key, subject := recordKey{r.ClientKey, r.ID}, subjectKey{r.ClientKey, r.Subject}
	if m.records[key] != r {
		return
	}
	delete(m.records, key)
	h := m.subjects[subject]
	h.records.Remove(r.place)
	if h.ofKey[r.KeyID]--; h.ofKey[r.KeyID] == 0 {
		delete(h.ofKey, r.KeyID)
	}
	if h.records.Len() == 0 {
		delete(m.subjects, subject)
	}
	if !r.Expires.IsZero() {
		heap.Remove(&m.expiries, r.expiry)
	}
	if r.parent != nil {
		delete(r.parent.children, r)
	}
	for child := range r.children {
		m.remove(child)
	}
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
	case issued.isLive(now):
		if issued.Uses++; issued.Uses == issued.MaxUses {
			m.spent = append(m.spent, issued)
		}
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
	if !r.isLive(now) {
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
	h, live := m.subjects[subjectKey{clientKey, subject}], 0
	// Counted before any is gone: one may be the parent of another.
	for r := range h.all() {
		if r.isLive(now) {
			live++
		}
	}
	for h != nil && h.records.Len() > 0 {
		m.remove(h.records.Front().Value.(*kept))
	}
	return live, nil
}

// List implements Ledger.
func (m *MemoryLedger) List(ctx context.Context, clientKey, subject string) ([]Record, error) {
	now := current(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []Record{}
	for r := range m.subjects[subjectKey{clientKey, subject}].all() {
		if r.isLive(now) {
			list = append(list, r.Record)
		}
	}
	slices.SortStableFunc(list, func(a, b Record) int {
		return cmp.Or(a.Issued.Compare(b.Issued), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}
