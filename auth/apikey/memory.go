package apikey

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/face"
)

// NewMemory returns a Store in memory, for one process and for tests. Its keys end with the process.
func NewMemory() Store { return new(memory) }

type memory struct {
	mu      sync.Mutex
	records map[string]Record
}

// do runs f, which is one atomic step, unless ctx has ended.
func (m *memory) do(ctx context.Context, f func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return f()
}

func (m *memory) Add(ctx context.Context, r Record, limit int) error {
	return m.do(ctx, func() error { return m.add(m.records, r, limit) })
}

// add adds a record to a copy of the records, which takes their place if there is no error.
func (m *memory) add(to map[string]Record, r Record, limit int) error {
	count, next := 0, make(map[string]Record, len(to)+1)
	for id, other := range to {
		switch own := other.Org == r.Org && other.Account == r.Account; {
		case id == r.ID:
			return auth.ErrConflict
		case own && other.ended(r.Created):
			continue
		case own:
			count++
		}
		next[id] = other
	}
	if count >= limit {
		return ErrTooMany
	}
	r.Used, r.Use = 0, face.Use{}
	next[r.ID], m.records = r, next
	return nil
}

func (m *memory) Get(ctx context.Context, id string) (r Record, err error) {
	err = m.do(ctx, func() error {
		if r = m.records[id]; r.ID == "" {
			return auth.ErrNotFound
		}
		return nil
	})
	return r, err
}

func (m *memory) Swap(ctx context.Context, before, after Record, successor *Record, limit int) error {
	return m.do(ctx, func() error {
		now, ok := m.records[before.ID]
		if !ok || now.Stored() != before.Stored() {
			return auth.ErrConflict
		}
		after.Used, after.Use = now.Used, now.Use
		next := maps.Clone(m.records)
		next[before.ID] = after // before the others are counted: it may have ended, and then makes room
		if successor != nil {
			return m.add(next, *successor, limit)
		}
		m.records = next
		return nil
	})
}

func (m *memory) Use(ctx context.Context, id string, at time.Time, from netip.Prefix) error {
	return m.do(ctx, func() error {
		r, ok := m.records[id]
		if !ok || r.Uses > 0 && r.Used >= r.Uses {
			return auth.ErrNotFound
		}
		r.Used += min(r.Uses, 1)
		if use := (face.Use{Seen: milli(at), From: from}); face.Due(r.Use, use) {
			r.Use = use
		}
		m.records[id] = r
		return nil
	})
}

func (m *memory) Revoke(ctx context.Context, org auth.OrgKey, id string) error {
	return m.do(ctx, func() error {
		if r, ok := m.records[id]; !ok || r.Org != org {
			return auth.ErrNotFound
		}
		delete(m.records, id)
		return nil
	})
}

func (m *memory) List(ctx context.Context, of Of, after string, limit int) (page []Record, next string, err error) {
	err = m.do(ctx, func() error {
		if limit < 1 || limit > MaxPage {
			return fmt.Errorf("apikey: the limit of a list is not 1 to %d", MaxPage)
		}
		for _, id := range slices.Sorted(maps.Keys(m.records)) {
			switch r := m.records[id]; {
			case id <= after || !of.Has(&r):
			case len(page) == limit:
				next = page[limit-1].ID
				return nil
			default:
				page = append(page, r)
			}
		}
		return nil
	})
	return page, next, err
}
