package session

import "context"

// Hashing is hashing.
type Hashing struct{ h hashing }

// NewHashing makes a hashing with bounds; 0: those of the zero hashing.
func NewHashing(hasher Hasher, parallel, queue int) *Hashing {
	return &Hashing{hashing{hasher: hasher, parallel: parallel, queue: queue}}
}

func (h *Hashing) Verify(ctx context.Context, encoded, password string) (ok, rehash bool, err error) {
	return h.VerifyBy(ctx, Party{}, encoded, password)
}

func (h *Hashing) Hash(ctx context.Context, password string) (string, error) {
	return h.h.hash(ctx, party{}, password)
}

// Party is party.
type Party struct{ Org, Name, Address string }

// VerifyBy is Verify for a party.
func (h *Hashing) VerifyBy(ctx context.Context, by Party, encoded, password string) (ok, rehash bool, err error) {
	p, err := h.h.enter(party{by.Org, by.Name, by.Address})
	if err != nil {
		return false, false, err
	}
	return p.verify(ctx, encoded, password)
}

// Len is how many places are taken.
func (h *Hashing) Len() int {
	h.h.mu.Lock()
	defer h.h.mu.Unlock()
	return len(h.h.line)
}

var ErrQueueFull = errQueueFull
