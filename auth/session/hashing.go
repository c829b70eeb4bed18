package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

// hashing runs a Hasher for anybody who asks, without giving them the machine:
// a few at a time, a bounded queue behind them, and an error beyond it.
//
// The zero hashing is ready, with PBKDF2. It must not be copied after first
// use. Its methods are safe for concurrent use.
type hashing struct {
	hasher   Hasher // nil: PBKDF2{}
	parallel int    // how many run at once; 0: as many as the program may use of the CPUs
	queue    int    // how many wait; 0: 16 for each that runs

	once    sync.Once
	slots   chan struct{} // one is taken by each that runs
	waiting atomic.Int64

	mu    sync.Mutex
	dummy string // a record of a password that nobody knows
}

// errQueueFull means that as many hashes wait as may.
var errQueueFull = errors.New("session: too many passwords are waiting to be hashed")

// verify is Verify of the Hasher. An empty record stands for an account that
// is unknown or has no password: it costs a verification as well, and is of no
// password.
//
// It returns errQueueFull, the error of ctx if that ends while it waits, or
// that of the Hasher.
func (h *hashing) verify(ctx context.Context, encoded, password string) (ok, rehash bool, err error) {
	if err := h.enter(ctx); err != nil {
		return false, false, err
	}
	defer h.leave()
	// Made for whichever account comes first: the time it takes says nothing
	// about that account.
	dummy, err := h.stranger()
	if err != nil {
		return false, false, err
	}
	known := encoded != ""
	ok, rehash = h.hasher.Verify(cmp.Or(encoded, dummy), password)
	return ok && known, rehash && ok && known, nil
}

// hash is Hash of the Hasher. Errors are those of verify.
func (h *hashing) hash(ctx context.Context, password string) (string, error) {
	if err := h.enter(ctx); err != nil {
		return "", err
	}
	defer h.leave()
	return h.hasher.Hash(password)
}

func (h *hashing) init() {
	if h.hasher == nil {
		h.hasher = PBKDF2{}
	}
	h.parallel = cmp.Or(h.parallel, runtime.GOMAXPROCS(0))
	h.queue = cmp.Or(h.queue, 16*h.parallel)
	h.slots = make(chan struct{}, h.parallel)
}

// enter waits for a slot, in the order of arrival.
func (h *hashing) enter(ctx context.Context) error {
	h.once.Do(h.init)
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case h.slots <- struct{}{}:
		return nil
	default:
	}
	defer h.waiting.Add(-1)
	if h.waiting.Add(1) > int64(h.queue) {
		return errQueueFull
	}
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *hashing) leave() { <-h.slots }

// stranger returns the record that stands in for those of unknown accounts.
// One that could not be made is tried again by the next.
func (h *hashing) stranger() (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dummy != "" {
		return h.dummy, nil
	}
	encoded, err := h.hasher.Hash(rand.Text())
	if err == nil {
		h.dummy = encoded
	}
	return encoded, err
}
