package auth

import (
	"context"
	"sync/atomic"
	"time"
)

// deadline is a context with a timeout that starts late. It starts when a caller first
// calls Done or Deadline, or calls Err more than freeAnswers times. Until then it needs no
// timer. Stores in memory call Err once and never wait, and every request uses them.
type deadline struct {
	context.Context
	timeout time.Duration

	asked   atomic.Int32            // number of calls of Err
	running atomic.Pointer[running] // nil until the timeout starts
}

// running is the context of a deadline whose timeout has started.
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

// freeAnswers is how many calls of Err are answered without a timer. It is more than stores
// in memory make for one request. It is few enough that a store that polls Err gets a
// timeout.
const freeAnswers = 16

// start starts the timeout, unless it is running or stop was called.
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

// stop ends the context, and stops its timer if there is one.
func (d *deadline) stop() {
	if !d.running.CompareAndSwap(nil, ended) {
		d.running.Load().cancel()
	}
}

// ended is the state of a stopped deadline whose timeout never started.
var ended = func() *running {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return &running{ctx, cancel}
}()
