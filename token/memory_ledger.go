package token

import (
	"container/heap"
	"container/list"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/internal/clock"
)

// MemoryLedger is a Ledger in this process. When the process ends, all permanent and
// limited-use tokens become invalid. The zero MemoryLedger is empty and ready. It
// must not be copied.
//
// Issue takes as long for a subject with many records as for one with few, unless some
// of them are of keys that it does not name.
type MemoryLedger struct {
	Now func() time.Time // nil: time.Now

	mu       sync.Mutex
	records  map[recordKey]*storedRecord
	subjects map[subjectKey]*subjectRecords
	apps     map[string]*appRecords // by client key
	expiries expiries
	spent    []*storedRecord // since the last Issue
}

type recordKey struct{ clientKey, id string }

type subjectKey struct{ clientKey, subject string }

// storedRecord is a record with the links that change when it is removed.
type storedRecord struct {
	Record
	parent   *storedRecord              // nil if it has none; a record is removed with its parent
	children map[*storedRecord]struct{} // the records whose parent it is
	element  *list.Element              // its element in subjectRecords
	expiry   int                        // its index in expiries
	removed  bool                       // but still in appRecords
}

// subjectRecords are the records of one subject of an app.
type subjectRecords struct {
	records list.List      // of *storedRecord, in the order of issue
	ofKey   map[string]int // the number of records by KeyID
}

// all returns the records in the order of issue. The loop must not remove records.
func (h *subjectRecords) all() iter.Seq[*storedRecord] {
	return func(yield func(*storedRecord) bool) {
		if h == nil {
			return
		}
		for e := h.records.Front(); e != nil; e = e.Next() {
			if !yield(e.Value.(*storedRecord)) {
				return
			}
		}
	}
}

// count returns the number of records of these keys. Each key is named once.
func (h *subjectRecords) count(kids []string) (n int) {
	if h == nil {
		return 0
	}
	for _, kid := range kids {
		n += h.ofKey[kid]
	}
	return n
}

// appRecords are the records of an app in the order of List. Removed ones stay until they
// are more than half of them, so that one removal costs little however many there are.
type appRecords struct {
	sorted  []*storedRecord
	removed int
}

// add takes the slot of a removed record beside the new one, if there is one. Otherwise an app
// whose latest tokens are issued and revoked in turn would collect removed records there.
func (a *appRecords) add(r *storedRecord) {
	i := indexAfter(a.sorted, r.Position()) // mostly the end
	switch {
	case i > 0 && a.sorted[i-1].removed:
		a.sorted[i-1] = r
	case i < len(a.sorted) && a.sorted[i].removed:
		a.sorted[i] = r
	default:
		a.sorted = slices.Insert(a.sorted, i, r)
		return
	}
	a.removed--
}

func (a *appRecords) remove(r *storedRecord) {
	r.removed = true
	if a.removed++; a.removed > len(a.sorted)/2 {
		a.sorted = slices.Clip(slices.DeleteFunc(a.sorted, func(r *storedRecord) bool { return r.removed }))
		a.removed = 0
	}
}

// indexAfter returns the index of the first record after a position. No two records have the same.
func indexAfter(sorted []*storedRecord, p Position) int {
	i, found := slices.BinarySearchFunc(sorted, p, func(r *storedRecord, p Position) int { return r.Position().Compare(p) })
	if found {
		i++
	}
	return i
}

var _ Ledger = (*MemoryLedger)(nil)

// isUsable reports whether a record is live, without looking at its ancestors. A
// stored record was not revoked.
func (r *storedRecord) isUsable(now time.Time) bool {
	return (r.Expires.IsZero() || now.Before(r.Expires)) && (r.MaxUses == 0 || r.Uses < r.MaxUses)
}

// ancestors returns how many ancestors a live record has, and whether it is live. A
// nil record is not live. The loop ends after MaxAncestors, also if the records form
// a circle.
func (r *storedRecord) ancestors(now time.Time) (n int, live bool) {
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

func (r *storedRecord) isLive(now time.Time) bool {
	_, live := r.ancestors(now)
	return live
}

// Issue implements Ledger.
func (m *MemoryLedger) Issue(ctx context.Context, r Record, verifying []string, limit int) error {
	kids := slices.Compact(slices.Sorted(slices.Values(append([]string{r.KeyID}, verifying...))))
	now := clock.Now(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropDead(now)
	if r.MaxUses < 0 {
		return errors.New("token: a record with a negative use count")
	}
	if m.records[recordKey{r.ClientKey, r.ID}] != nil {
		return errors.New("token: id was issued before")
	}
	parent, err := m.parentOf(&r, kids, now)
	if err != nil {
		return err
	}
	// All remaining records are live, so the stored count is exact.
	h := m.subjects[subjectKey{r.ClientKey, r.Subject}]
	young, old := h.others(r.Issued, kids)
	if h.count(kids) >= limit || young-limit >= MaxReplaced {
		return ErrTooMany
	}
	r.Uses = 0
	m.add(&storedRecord{Record: r, parent: parent})
	for _, r := range old {
		m.remove(r)
	}
	return nil
}

// parentOf returns the parent of a record, or nil if it has none. It returns an error
// if the record may not descend from the parent.
func (m *MemoryLedger) parentOf(r *Record, kids []string, now time.Time) (*storedRecord, error) {
	if r.Parent == "" {
		return nil, nil
	}
	parent := m.records[recordKey{r.ClientKey, r.Parent}]
	ancestors, live := parent.ancestors(now)
	switch {
	case !live, !slices.Contains(kids, parent.KeyID):
		return nil, ErrRevoked
	case ancestors >= MaxAncestors:
		return nil, ErrTooDeep
	}
	return parent, nil
}

// dropDead removes each record that has expired or was exhausted since the last
// Issue, and all its descendants. Revoked records are already removed. Each record is
// removed once, so no Issue looks at live records.
func (m *MemoryLedger) dropDead(now time.Time) {
	for len(m.expiries) > 0 && !m.expiries[0].isUsable(now) {
		m.remove(m.expiries[0])
	}
	for _, r := range m.spent {
		m.remove(r)
	}
	m.spent = nil
}

// others returns the records of a subject that have other keys: the number of the young ones, and
// those to drop. If a key was replaced, its records are dead, but only Keys knows that.
func (h *subjectRecords) others(issued time.Time, kids []string) (young int, old []*storedRecord) {
	if h == nil {
		return 0, nil
	}
	others := h.records.Len() - h.count(kids)
	// Chosen before any is removed, because one may be the parent of another.
	for r := range h.all() {
		if others == young+len(old) {
			break
		}
		switch {
		case slices.Contains(kids, r.KeyID):
		case issued.Sub(r.Issued) > keepFor:
			old = append(old, r)
		default:
			young++
		}
	}
	return young, old
}

func (m *MemoryLedger) add(r *storedRecord) {
	if m.records == nil {
		m.records, m.subjects, m.apps = map[recordKey]*storedRecord{}, map[subjectKey]*subjectRecords{}, map[string]*appRecords{}
	}
	m.records[recordKey{r.ClientKey, r.ID}] = r
	subject := subjectKey{r.ClientKey, r.Subject}
	h := m.subjects[subject]
	if h == nil {
		h = &subjectRecords{ofKey: map[string]int{}}
		m.subjects[subject] = h
	}
	r.element = h.records.PushBack(r)
	h.ofKey[r.KeyID]++
	app := m.apps[r.ClientKey]
	if app == nil {
		app = new(appRecords)
		m.apps[r.ClientKey] = app
	}
	app.add(r)
	if !r.Expires.IsZero() {
		heap.Push(&m.expiries, r)
	}
	if r.parent == nil {
		return
	}
	if r.parent.children == nil {
		r.parent.children = map[*storedRecord]struct{}{}
	}
	r.parent.children[r] = struct{}{}
}

// remove removes a record and all its descendants. It does nothing if the record was
// removed before.
func (m *MemoryLedger) remove(r *storedRecord) {
	key, subject := recordKey{r.ClientKey, r.ID}, subjectKey{r.ClientKey, r.Subject}
	if m.records[key] != r {
		return
	}
	delete(m.records, key)
	h := m.subjects[subject]
	h.records.Remove(r.element)
	if h.ofKey[r.KeyID]--; h.ofKey[r.KeyID] == 0 {
		delete(h.ofKey, r.KeyID)
	}
	if h.records.Len() == 0 {
		delete(m.subjects, subject)
	}
	app := m.apps[r.ClientKey]
	if app.remove(r); len(app.sorted) == 0 {
		delete(m.apps, r.ClientKey)
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
	now := clock.Now(m.Now)
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
func (m *MemoryLedger) Revoke(ctx context.Context, of Holder, id string) error {
	if id == "" {
		return ErrEphemeral
	}
	now := clock.Now(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.records[recordKey{of.ClientKey, id}]
	if !r.isLive(now) || r.Org != of.Org || of.Subject != AnySubject && r.Subject != of.Subject {
		return ErrNotFound
	}
	m.remove(r)
	return nil
}

// RevokeSubject implements Ledger.
func (m *MemoryLedger) RevokeSubject(ctx context.Context, of Holder) (int, error) {
	if of.Subject == "" {
		return 0, errNoSubject
	}
	now := clock.Now(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	// Collected before any is removed, because one may be the parent of another.
	var all []*storedRecord
	live := 0
	for r := range m.of(of) {
		if r.isLive(now) {
			live++
		}
		all = append(all, r)
	}
	for _, r := range all {
		m.remove(r)
	}
	return live, nil
}

// of returns the records of a holder in the order of issue. The loop must not remove
// records. For AnyApp it looks at all subjects, one app after the other.
func (m *MemoryLedger) of(h Holder) iter.Seq[*storedRecord] {
	return func(yield func(*storedRecord) bool) {
		if h.ClientKey == AnyApp {
			for of := range m.subjects {
				for r := range m.subjects[of].all() {
					if of.subject == h.Subject && r.Org == h.Org && !yield(r) {
						return
					}
				}
			}
			return
		}
		for r := range m.subjects[subjectKey{h.ClientKey, h.Subject}].all() {
			if r.Org == h.Org && !yield(r) {
				return
			}
		}
	}
}

// List implements Ledger.
func (m *MemoryLedger) List(ctx context.Context, of Holder, after Position, limit int) (page []Record, next Position, err error) {
	if limit < 1 || limit > MaxPage {
		return nil, Position{}, errLimit
	}
	now := clock.Now(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	sorted := m.sorted(of)
	sorted = sorted[indexAfter(sorted, after):]
	if len(sorted) > limit {
		sorted = sorted[:limit]
		next = sorted[limit-1].Position()
	}
	page = []Record{}
	for _, r := range sorted {
		if r.Org == of.Org && !r.removed && r.isLive(now) {
			page = append(page, r.Record)
		}
	}
	return page, next, nil
}

// sorted returns the records of a holder in the order of List, and perhaps those of other
// orgs and removed ones.
func (m *MemoryLedger) sorted(of Holder) []*storedRecord {
	switch app := m.apps[of.ClientKey]; {
	case of.Subject == "", app == nil:
		return nil
	case of.Subject == AnySubject:
		return app.sorted
	}
	return slices.SortedStableFunc(m.of(of), func(a, b *storedRecord) int { return a.Position().Compare(b.Position()) })
}

// expiries is a heap of the records that expire, for container/heap. The first one
// expires first.
type expiries []*storedRecord

func (e expiries) Len() int           { return len(e) }
func (e expiries) Less(i, j int) bool { return e[i].Expires.Before(e[j].Expires) }

func (e expiries) Swap(i, j int) {
	e[i], e[j] = e[j], e[i]
	e[i].expiry, e[j].expiry = i, j
}

func (e *expiries) Push(r any) {
	r.(*storedRecord).expiry = len(*e)
	*e = append(*e, r.(*storedRecord))
}

func (e *expiries) Pop() any {
	last := len(*e) - 1
	r := (*e)[last]
	(*e)[last] = nil
	*e = (*e)[:last]
	return r
}
