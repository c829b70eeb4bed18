package auth

import (
	"context"
	"sync"
	"time"
)

// deadline is a context that ends a timeout after somebody first waits on it, or
// has asked a few times whether it has ended. It costs nothing until then: stores
// in memory ask once and never wait, and they are used on every request.
type deadline struct {
	context.Context
	timeout time.Duration

	mu     sync.Mutex
	asked  int // how often Err was
	timed  context.Context
	cancel context.CancelFunc
}

func (d *deadline) Deadline() (time.Time, bool) { return d.wait().Deadline() }

func (d *deadline) Done() <-chan struct{} { return d.wait().Done() }

func (d *deadline) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked++; d.timed == nil && d.asked <= freeAnswers {
		return d.Context.Err()
	}
	return d.start().Err()
}

// freeAnswers is how often Err is answered without a timer: more than stores in
// memory ask of one request, and few enough that one which polls is bounded.
const freeAnswers = 16

func (d *deadline) wait() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.start()
}

// start needs the lock.
func (d *deadline) start() context.Context {
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
