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

// MemoryLedger is a Ledger for tests and for one process. When the process ends, all
// permanent and limited-use tokens become invalid. The zero MemoryLedger is empty and
// ready. It must not be copied.
//
// Issue and the verbs about a subject look at all records of the subject, and List of
// any subject at all records of the app. Of dead records, each Issue drops those of its
// subject. All others are dropped once the ledger has doubled since that happened last.
type MemoryLedger struct {
	Now func() time.Time // nil: time.Now

	mu      sync.Mutex
	apps    map[string]*appRecords // by client key
	records int                    // of all apps
	swept   int                    // records after the latest sweep
}

// appRecords are the records of an app.
type appRecords struct {
	byID      map[string]*Record
	bySubject map[string][]*Record
	graced    map[string]time.Time // the ends of the graces of renewed records, by id
}

// sweepFrom is the number of records from which on the dead ones are looked for.
const sweepFrom = 64

var _ Ledger = (*MemoryLedger)(nil)

// isUsable reports whether a record is live, without looking at its ancestors. A
// stored record was not revoked.
func (r *Record) isUsable(now time.Time) bool {
	return (r.Expires.IsZero() || now.Before(r.Expires)) && (r.MaxUses == 0 || r.Uses < r.MaxUses)
}

// ancestors returns how many ancestors a live record has, and whether it is live. A
// nil record is not live. The loop ends after MaxAncestors, also if the records form
// a circle.
func (a *appRecords) ancestors(r *Record, now time.Time) (n int, live bool) {
	for n := range MaxAncestors + 1 {
		if r == nil || !r.isUsable(now) {
			return 0, false
		}
		if r.Parent == "" {
			return n, true
		}
		r = a.byID[r.Parent]
	}
	return 0, false
}

func (a *appRecords) isLive(r *Record, now time.Time) bool {
	_, live := a.ancestors(r, now)
	return live
}

// of returns the records of a holder, in no order. The loop must not remove records.
func (a *appRecords) of(h Holder) iter.Seq[*Record] {
	all := slices.Values(a.bySubject[h.Subject])
	if h.Subject == AnySubject {
		all = maps.Values(a.byID)
	}
	return func(yield func(*Record) bool) {
		for r := range all {
			if r.Org == h.Org && !yield(r) {
				return
			}
		}
	}
}

// live returns a live record of a holder. An error says that there is none.
func (a *appRecords) live(of Holder, id string, now time.Time) (*Record, error) {
	if id == "" {
		return nil, ErrEphemeral
	}
	r := a.byID[id]
	if !a.isLive(r, now) || r.Org != of.Org || of.Subject != AnySubject && r.Subject != of.Subject {
		return nil, ErrNotFound
	}
	return r, nil
}

// app returns the records of an app. Those of an unknown one are empty and not kept.
func (m *MemoryLedger) app(clientKey string) *appRecords {
	if a := m.apps[clientKey]; a != nil {
		return a
	}
	return &appRecords{map[string]*Record{}, map[string][]*Record{}, map[string]time.Time{}}
}

// Issue implements Ledger.
func (m *MemoryLedger) Issue(ctx context.Context, r Record, verifying []string, limit int) error {
	kids := append([]string{r.KeyID}, verifying...)
	now := clock.Now(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep(now)
	a := m.app(r.ClientKey)
	switch {
	case r.MaxUses < 0:
		return errors.New("token: a record with a negative use count")
	case a.byID[r.ID] != nil:
		return errors.New("token: id was issued before")
	}
	if err := a.vetParent(r.Parent, kids, now); err != nil {
		return err
	}
	live, young := 0, 0
	var gone []*Record
	for _, known := range a.bySubject[r.Subject] {
		switch {
		case !a.isLive(known, now):
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
	r.Uses, r.Generation, r.Use = 0, 0, face.Use{}
	m.add(a, &r)
	m.remove(a, gone...)
	return nil
}

// vetParent returns an error if no record may descend from the parent.
func (a *appRecords) vetParent(id string, kids []string, now time.Time) error {
	if id == "" {
		return nil
	}
	parent := a.byID[id]
	switch ancestors, live := a.ancestors(parent, now); {
	case !live, !slices.Contains(kids, parent.KeyID):
		return ErrRevoked
	case ancestors >= MaxAncestors:
		return ErrTooDeep
	}
	return nil
}

// sweep drops all dead records if there are twice as many records as after the latest
// sweep. So it costs each Issue little on average.
func (m *MemoryLedger) sweep(now time.Time) {
	if m.records < 2*m.swept+sweepFrom {
		return
	}
	for _, a := range m.apps {
		var dead []*Record
		for _, r := range a.byID {
			if !a.isLive(r, now) {
				dead = append(dead, r)
			}
		}
		m.remove(a, dead...)
	}
	m.swept = m.records
}

func (m *MemoryLedger) add(a *appRecords, r *Record) {
	if m.apps == nil {
		m.apps = map[string]*appRecords{}
	}
	m.apps[r.ClientKey] = a
	a.byID[r.ID] = r
	a.bySubject[r.Subject] = append(a.bySubject[r.Subject], r)
	m.records++
}

func (m *MemoryLedger) remove(a *appRecords, all ...*Record) {
	for _, r := range all {
		delete(a.byID, r.ID)
		delete(a.graced, r.ID)
		m.records--
		rest := a.bySubject[r.Subject]
		i := slices.Index(rest, r)
		rest[i] = rest[len(rest)-1]
		rest[len(rest)-1] = nil
		if a.bySubject[r.Subject] = rest[:len(rest)-1]; len(rest) == 1 {
			delete(a.bySubject, r.Subject)
		}
		if len(a.byID) == 0 {
			delete(m.apps, r.ClientKey)
		}
	}
}

// Spend implements Spender.
func (m *MemoryLedger) Spend(ctx context.Context, r Record) (Lineage, error) {
	now := clock.Now(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	_, issued, err := m.issued(r, now)
	if err != nil {
		return Lineage{}, err
	}
	issued.Uses++
	if face.Due(issued.Use, r.Use) {
		issued.Use = r.Use
	}
	return issued.Lineage, nil
}

// issued returns the live record of a token. An error says why the token is refused.
func (m *MemoryLedger) issued(r Record, now time.Time) (*appRecords, *Record, error) {
	a := m.app(r.ClientKey)
	issued := a.byID[r.ID]
	if issued == nil || issued.Subject != r.Subject || issued.MaxUses != r.MaxUses {
		return nil, nil, ErrRevoked
	}
	graced := now.Before(a.graced[r.ID])
	switch behind := issued.Generation - r.Generation; {
	case behind > 1, behind == 1 && !graced:
		m.remove(a, issued)
		return nil, nil, ErrReused
	case behind < 0, behind == 0 && issued.KeyID != r.KeyID:
		return nil, nil, ErrRevoked
	case a.isLive(issued, now):
		return a, issued, nil
	case issued.MaxUses > 0 && issued.Uses >= issued.MaxUses:
		return nil, nil, ErrExhausted
	}
	return nil, nil, ErrRevoked
}

// Renew implements Ledger.
func (m *MemoryLedger) Renew(ctx context.Context, r, next Record, grace time.Duration) error {
	now := clock.Now(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	a, issued, err := m.issued(r, now)
	if err != nil {
		return err
	}
	if issued.Generation == r.Generation {
		issued.Generation, a.graced[r.ID] = r.Generation+1, now.Add(grace)
	}
	issued.KeyID, issued.Issued = next.KeyID, next.Issued
	if !next.Expires.IsZero() && (issued.Expires.IsZero() || next.Expires.Before(issued.Expires)) {
		issued.Expires = next.Expires
	}
	return nil
}

// Get implements Ledger.
func (m *MemoryLedger) Get(ctx context.Context, of Holder, id string) (Record, error) {
	now := clock.Now(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.app(of.ClientKey).live(of, id, now)
	if err != nil {
		return Record{}, err
	}
	return *r, nil
}

// Revoke implements Ledger.
func (m *MemoryLedger) Revoke(ctx context.Context, of Holder, id string) error {
	now := clock.Now(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.app(of.ClientKey)
	r, err := a.live(of, id, now)
	if err == nil {
		m.remove(a, r)
	}
	return err
}

// RevokeSubject implements Ledger.
func (m *MemoryLedger) RevokeSubject(ctx context.Context, of Holder) (int, error) {
	if of.Subject == "" || of.Subject == AnySubject {
		return 0, errNoSubject
	}
	now := clock.Now(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	if of.ClientKey != AnyApp {
		return m.removeAll(m.app(of.ClientKey), of, now), nil
	}
	live := 0
	for _, a := range m.apps {
		live += m.removeAll(a, of, now)
	}
	return live, nil
}

// removeAll returns how many of the holder's records were live.
func (m *MemoryLedger) removeAll(a *appRecords, of Holder, now time.Time) (live int) {
	all := slices.Collect(a.of(of))
	for _, r := range all { // before any is removed, because one may be the parent of another
		if a.isLive(r, now) {
			live++
		}
	}
	m.remove(a, all...)
	return live
}

// List implements Ledger.
func (m *MemoryLedger) List(ctx context.Context, of Holder, after Position, limit int) (page []Record, next Position, err error) {
	if limit < 1 || limit > MaxPage {
		return nil, Position{}, errLimit
	}
	page = []Record{}
	if of.Subject == "" {
		return page, next, nil
	}
	now := clock.Now(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.app(of.ClientKey)
	for r := range a.of(of) {
		if r.Position().Compare(after) <= 0 || !a.isLive(r, now) {
			continue
		}
		// An app may have many records: only those of this page, and one more, are kept.
		if page = append(page, *r); len(page) > 2*MaxPage {
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
