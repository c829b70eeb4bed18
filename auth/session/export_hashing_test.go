package session

import "context"

// Hashing is hashing.
type Hashing struct{ h hashing }

// NewHashing makes a hashing with bounds; 0: those of the zero hashing.
func NewHashing(hasher Hasher, parallel, queue int) *Hashing {
	return &Hashing{hashing{hasher: hasher, parallel: parallel, queue: queue}}
}

func (h *Hashing) Verify(ctx context.Context, encoded, password string) (ok, rehash bool, err error) {
	return h.h.verify(ctx, encoded, password)
}

func (h *Hashing) Hash(ctx context.Context, password string) (string, error) {
	return h.h.hash(ctx, password)
}

var ErrQueueFull = errQueueFull
