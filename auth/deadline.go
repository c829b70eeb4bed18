package auth

import (
	"context"
	"sync"
	"time"
)

// deadline is a context that ends a timeout after somebody first waits on it,
// and costs nothing until then: stores in memory never wait, and they are asked
// on every request.
type deadline struct {
	context.Context
	timeout time.Duration

	mu     sync.Mutex
	timed  context.Context
	cancel context.CancelFunc
}

func (d *deadline) Deadline() (time.Time, bool) { return d.wait().Deadline() }

func (d *deadline) Done() <-chan struct{} { return d.wait().Done() }

func (d *deadline) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timed != nil {
		return d.timed.Err()
	}
	return d.Context.Err()
}

func (d *deadline) wait() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timed == nil {
		d.timed, d.cancel = context.WithTimeout(d.Context, d.timeout)
	}
	return d.timed
}

// stop ends the context for good, and its timer if there is one.
func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cancel != nil {
		d.cancel()
		return
	}
	d.timed = ended
}

// ended is what is left of a deadline nobody waited on.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()
