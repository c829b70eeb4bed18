package idempotency

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/clock"
)

// Entry is what a Store keeps of a request.
type Entry struct {
	ID     [sha256.Size]byte // of org, caller, app, route pattern and key
	Org    auth.OrgKey
	Caller string // id of an account
	Fence  string // of the attempt that holds the lease; "": the response is complete
	Sealed []byte // of the request, and of its response if that is complete
}

// Store keeps entries. An implementation is safe for concurrent use, and storetest.Idempotency checks it.
// Each method is one atomic step that survives what the store's other changes survive. Times are of the
// store's clock. An error other than those named wraps auth.ErrUnavailable.
type Store interface {
	// Begin returns the entry with e's ID. If there is none, or o.Keep has passed since it began, it stores e
	// with a lease of o.Lease, and returns e. If the lease of an incomplete one has ended, Begin gives it e's
	// Fence and a new lease, and returns it with its own Sealed. Any other entry is returned as it is.
	//
	// If it would store e, but the live entries of e's caller in e's org cost o.MaxBytes or more, it
	// stores nothing and returns the zero Entry. An entry costs the bytes of its Sealed and 1024. Concurrent
	// calls may each find the room that is left.
	Begin(ctx context.Context, e Entry, o Options) (Entry, error)

	// End completes the entry with e's ID by e.Sealed, or deletes it if that is nil. Its Fence is "" from
	// then on. If there is none with e's Fence, End changes nothing, and its error wraps auth.ErrConflict.
	End(ctx context.Context, e Entry) error
}

// NewMemory returns a Store in memory, for one process and for tests. Each Begin looks at all entries. now
// is its clock; nil: time.Now.
func NewMemory(now func() time.Time) Store {
	return &memory{now: now, entries: make(map[[sha256.Size]byte]*remembered)}
}

type memory struct {
	now     func() time.Time
	mu      sync.Mutex
	entries map[[sha256.Size]byte]*remembered
}

type remembered struct {
	Entry
	lease, keep time.Time
}

func (m *memory) Begin(ctx context.Context, e Entry, o Options) (Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Entry{}, auth.Unavailable(err)
	}
	now, cost := clock.Now(m.now), int64(0)
	for id, r := range m.entries {
		switch {
		case !now.Before(r.keep):
			delete(m.entries, id)
		case r.Org == e.Org && r.Caller == e.Caller:
			cost += int64(len(r.Sealed)) + 1024
		}
	}
	found := m.entries[e.ID]
	switch {
	case found == nil && cost >= o.MaxBytes:
		return Entry{}, nil
	case found == nil:
		found = &remembered{e, now.Add(o.Lease), now.Add(o.Keep)}
		m.entries[e.ID] = found
	case found.Fence != "" && !now.Before(found.lease):
		found.Fence, found.lease = e.Fence, now.Add(o.Lease)
	}
	return found.Entry, nil
}

func (m *memory) End(ctx context.Context, e Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return auth.Unavailable(err)
	}
	found := m.entries[e.ID]
	switch {
	case found == nil || e.Fence == "" || found.Fence != e.Fence:
		return auth.ErrConflict
	case e.Sealed == nil:
		delete(m.entries, e.ID)
	default:
		found.Fence, found.Sealed = "", e.Sealed
	}
	return nil
}
