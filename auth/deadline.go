package auth

import (
	"context"
	"sync/atomic"
	"time"
)

// deadline is a context that ends a timeout after somebody first waits on it, or
// has asked a few times whether it has ended. It costs nothing until then: stores
// in memory ask once and never wait, and they are used on every request.
type deadline struct {
	context.Context
	timeout time.Duration

	asked   atomic.Int32            // how often Err was
	running atomic.Pointer[running] // nil until somebody waits
}

// running is the context of a deadline whose time has begun.
type running struct {
	context.Context
	cancel context.CancelFunc
}

func (d *deadline) Deadline() (time.Time, bool) { return d.start().Deadline() }

func (d *deadline) Done() <-chan struct{} { return d.start().Done() }

func (d *deadline) Err() error {
	if d.running.Load() == nil && d.asked.Add(1) <= freeAnswers {
		return d.Context.Err()
	}
	return d.start().Err()
}

// freeAnswers is how often Err is answered without a timer: more than stores in
// memory ask of one request, and few enough that one which polls is bounded.
const freeAnswers = 16

// start lets the time run, unless it does, or has ended.
func (d *deadline) start() *running {
	if t := d.running.Load(); t != nil {
		return t
	}
	t := new(running)
	t.Context, t.cancel = context.WithTimeout(d.Context, d.timeout)
	if !d.running.CompareAndSwap(nil, t) {
		t.cancel()
	}
	return d.running.Load()
}

// stop ends the context for good, and its timer if there is one.
func (d *deadline) stop() {
	if !d.running.CompareAndSwap(nil, ended) {
		d.running.Load().cancel()
	}
}

// ended is what is left of a deadline nobody waited on.
var ended = func() *running {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return &running{ctx, cancel}
}()
