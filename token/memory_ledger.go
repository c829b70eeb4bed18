package token

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/internal/clock"
	"github.com/tenantkit/tenantkit/internal/face"
)

// NewMemoryLedger returns a Ledger in memory, for tests and for one process. When the process
// ends, all permanent and limited-use tokens become invalid. now is its clock; nil: time.Now.
//
// The verbs about a subject look at all records of the subject. Issue does so if there are at
// most two times MaxReplaced, or limit or more, and drops the dead ones. List of any subject
// and RevokeSubject of any app look at all records of the ledger. All other dead records are
// dropped once the ledger has doubled since that happened last.
func NewMemoryLedger(now func() time.Time) Ledger {
	return &memoryLedger{now: now, records: map[inApp]*issuedRecord{}, subjects: map[inApp]map[string]*issuedRecord{}}
}

type memoryLedger struct {
	now      func() time.Time
	mu       sync.Mutex
	records  map[inApp]*issuedRecord
	subjects map[inApp]map[string]*issuedRecord // the same records, by subject and ID
	swept    int                                // records after the latest sweep
}

// inApp is the ID of a record or a subject, which are unique only within an app.
type inApp struct{ clientKey, id string }

// issuedRecord is a record, and when the grace of its latest Renew ends.
type issuedRecord struct {
	Record
	graced time.Time
}

// sweepFrom is the number of records from which on the dead ones are looked for.
const sweepFrom = 64

// few is how many records of its subject each Issue looks at. So those of keys that are replaced all
// the time do not stay.
const few = 2 * MaxReplaced

// isUsable reports whether a record is live, without looking at its ancestors. A
// stored record was not revoked.
func (r *Record) isUsable(now time.Time) bool {
	return (r.Expires.IsZero() || now.Before(r.Expires)) && (r.MaxUses == 0 || r.Uses < r.MaxUses)
}

// ancestors returns how many ancestors a live record has, and whether it is live. A
// nil record is not live. The loop ends after MaxAncestors, also if the records form
// a circle.
func (m *memoryLedger) ancestors(r *issuedRecord, now time.Time) (n int, live bool) {
	for n := range MaxAncestors + 1 {
		if r == nil || !r.isUsable(now) {
			return 0, false
		}
		if r.Parent == "" {
			return n, true
		}
		r = m.records[inApp{r.ClientKey, r.Parent}]
	}
	return 0, false
}

func (m *memoryLedger) isLive(r *issuedRecord, now time.Time) bool {
	_, live := m.ancestors(r, now)
	return live
}

// of returns the records of a holder, in no order.
func (m *memoryLedger) of(h Holder) iter.Seq[*issuedRecord] {
	all := maps.Values(m.subjects[inApp{h.ClientKey, h.Subject}])
	if h.Subject == Any || h.ClientKey == Any {
		all = maps.Values(m.records)
	}
	return func(yield func(*issuedRecord) bool) {
		for r := range all {
			if h.has(&r.Record) && !yield(r) {
				return
			}
		}
	}
}

func (h Holder) has(r *Record) bool {
	return r.Org == h.Org && (h.ClientKey == Any || r.ClientKey == h.ClientKey) && (h.Subject == Any || r.Subject == h.Subject)
}

func (m *memoryLedger) Issue(ctx context.Context, r Record, verifying []string, limit int) error {
	kids := append([]string{r.KeyID}, verifying...)
	now := clock.Now(m.now)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep(now)
	if m.records[inApp{r.ClientKey, r.ID}] != nil {
		return errors.New("token: id was issued before")
	}
	if r.Parent != "" {
		parent := m.records[inApp{r.ClientKey, r.Parent}]
		switch ancestors, live := m.ancestors(parent, now); {
		case !live, !slices.Contains(kids, parent.KeyID):
			return ErrRevoked
		case ancestors >= MaxAncestors:
			return ErrTooDeep
		}
	}
	if err := m.makeRoom(&r, kids, limit, now); err != nil {
		return err
	}
	r.Uses, r.Generation, r.Use = 0, 0, face.Use{}
	m.add(&issuedRecord{Record: r})
	return nil
}

// makeRoom fails if the subject of r has the maximum of records, and drops its dead ones otherwise.
func (m *memoryLedger) makeRoom(r *Record, kids []string, limit int, now time.Time) error {
	of := m.subjects[inApp{r.ClientKey, r.Subject}]
	if len(of) > few && len(of) < limit {
		return nil // its dead ones stay until the limit, or the next sweep
	}
	live, young := 0, 0
	var gone []*issuedRecord
	for _, known := range of {
		switch {
		case !m.isLive(known, now):
			gone = append(gone, known)
		case slices.Contains(kids, known.KeyID):
			live++
		case r.Issued.Sub(known.Issued) > keepFor: // if its key was replaced, it is dead, but only Keys knows that
			gone = append(gone, known)
		default:
			young++
		}
	}
	if live >= limit || young-limit >= MaxReplaced {
		return ErrTooMany
	}
	for _, known := range gone {
		m.remove(known)
	}
	return nil
}

// sweep drops all dead records if there are twice as many records as after the latest
// sweep. So it costs each Issue little on average.
func (m *memoryLedger) sweep(now time.Time) {
	if len(m.records) < 2*m.swept+sweepFrom {
		return
	}
	for _, r := range m.records { // what descends from a removed one is dead, too
		if !m.isLive(r, now) {
			m.remove(r)
		}
	}
	m.swept = len(m.records)
}

func (m *memoryLedger) add(r *issuedRecord) {
	subject := inApp{r.ClientKey, r.Subject}
	if m.subjects[subject] == nil {
		m.subjects[subject] = map[string]*issuedRecord{}
	}
	m.records[inApp{r.ClientKey, r.ID}] = r
	m.subjects[subject][r.ID] = r
}

func (m *memoryLedger) remove(r *issuedRecord) {
	subject := inApp{r.ClientKey, r.Subject}
	delete(m.records, inApp{r.ClientKey, r.ID})
	if delete(m.subjects[subject], r.ID); len(m.subjects[subject]) == 0 {
		delete(m.subjects, subject)
	}
}

func (m *memoryLedger) Spend(ctx context.Context, r Record) (Lineage, error) {
	return m.change(r, func(issued *issuedRecord, _ time.Time) {
		issued.Uses++
		if face.Due(issued.Use, r.Use) {
			issued.Use = r.Use
		}
	})
}

func (m *memoryLedger) Renew(ctx context.Context, r, next Record, grace time.Duration) error {
	_, err := m.change(r, func(issued *issuedRecord, now time.Time) {
		if issued.Generation == r.Generation {
			issued.Generation, issued.graced = r.Generation+1, now.Add(grace)
		}
		issued.KeyID, issued.Issued = next.KeyID, next.Issued
		if !next.Expires.IsZero() && (issued.Expires.IsZero() || next.Expires.Before(issued.Expires)) {
			issued.Expires = next.Expires
		}
	})
	return err
}

// change changes the live record of a token by f. An error says why the token is refused.
func (m *memoryLedger) change(r Record, f func(issued *issuedRecord, now time.Time)) (Lineage, error) {
	now := clock.Now(m.now)
	m.mu.Lock()
	defer m.mu.Unlock()
	issued := m.records[inApp{r.ClientKey, r.ID}]
	if issued == nil || issued.Subject != r.Subject || issued.MaxUses != r.MaxUses {
		return Lineage{}, ErrRevoked
	}
	switch behind := issued.Generation - r.Generation; {
	case behind > 1, behind == 1 && !now.Before(issued.graced):
		m.remove(issued)
		return Lineage{}, ErrReused
	case behind < 0, behind == 0 && issued.KeyID != r.KeyID:
		return Lineage{}, ErrRevoked
	case m.isLive(issued, now):
		f(issued, now)
		return issued.Lineage, nil
	case issued.MaxUses > 0 && issued.Uses >= issued.MaxUses:
		return Lineage{}, ErrExhausted
	}
	return Lineage{}, ErrRevoked
}

func (m *memoryLedger) Get(ctx context.Context, of Holder, id string) (Record, error) {
	return m.get(of, id, false)
}

func (m *memoryLedger) Revoke(ctx context.Context, of Holder, id string) error {
	_, err := m.get(of, id, true)
	return err
}

// get returns a live record of a holder, and removes it if remove is true.
func (m *memoryLedger) get(of Holder, id string, remove bool) (Record, error) {
	now := clock.Now(m.now)
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.records[inApp{of.ClientKey, id}]
	if !m.isLive(r, now) || !of.has(&r.Record) {
		return Record{}, ErrNotFound
	}
	if remove {
		m.remove(r)
	}
	return r.Record, nil
}

func (m *memoryLedger) RevokeSubject(ctx context.Context, of Holder) (int, error) {
	if of.Subject == "" || of.Subject == Any {
		return 0, errors.New("token: RevokeSubject without a subject") // it means neither all subjects nor none
	}
	now := clock.Now(m.now)
	m.mu.Lock()
	defer m.mu.Unlock()
	all, live := slices.Collect(m.of(of)), 0
	for _, r := range all { // before any is removed, because one may be the parent of another
		if m.isLive(r, now) {
			live++
		}
	}
	for _, r := range all {
		m.remove(r)
	}
	return live, nil
}

func (m *memoryLedger) List(ctx context.Context, of Holder, after Position, limit int) (page []Record, next Position, err error) {
	if limit < 1 || limit > MaxPage {
		return nil, Position{}, errors.New("token: the limit of a list is not 1 to 1000")
	}
	page = []Record{}
	if of.Subject == "" || of.ClientKey == Any {
		return page, next, nil
	}
	now := clock.Now(m.now)
	m.mu.Lock()
	defer m.mu.Unlock()
	for r := range m.of(of) {
		if r.Position().Compare(after) <= 0 || !m.isLive(r, now) {
			continue
		}
		// An app may have many records: only those of this page, and one more, are kept.
		if page = append(page, r.Record); len(page) > 2*MaxPage {
			page = firstOf(page, limit+1)
		}
	}
	if page = firstOf(page, limit+1); len(page) > limit {
		page = page[:limit]
		next = page[limit-1].Position()
	}
	return page, next, nil
}

// firstOf returns the first n records in the order of List.
func firstOf(all []Record, n int) []Record {
	slices.SortFunc(all, func(a, b Record) int { return a.Position().Compare(b.Position()) })
	return all[:min(n, len(all))]
}
