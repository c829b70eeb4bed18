package main

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// healthz says that the process answers.
func healthz(w http.ResponseWriter, _ *http.Request) {
	writeHealth(w, http.StatusOK, `{"status":"ok"}`)
}

// readyz says that requests can be served: that the stores take writes. What is
// not known counts as no.
func (p *platform) readyz(w http.ResponseWriter, r *http.Request) {
	err := p.ready.ask(r.Context())
	if err == nil {
		writeHealth(w, http.StatusOK, `{"status":"ok"}`)
		return
	}
	if r.Context().Err() == nil { // a caller that goes away is no failure of a store
		p.log.Error("not ready", "cause", err)
	}
	w.Header().Set("Retry-After", "1")
	writeHealth(w, http.StatusServiceUnavailable, `{"status":"unavailable"}`)
}

func writeHealth(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write([]byte(body + "\n"))
}

// How often the stores are checked at most, and how long a check may take.
const (
	checkInterval = time.Second
	checkTime     = time.Second
)

// readiness knows whether the stores take writes. Anybody may ask, so all who ask
// share one check. It belongs to none of them: a caller that goes away neither ends
// it nor changes its result, which counts for checkInterval after the check began.
type readiness struct {
	stores []func(context.Context) error

	mu     sync.Mutex
	latest *check
}

// check is one look at the stores.
type check struct {
	began time.Time
	done  chan struct{}
	err   error // to be read once done is closed
}

func newReadiness(stores ...func(context.Context) error) *readiness {
	return &readiness{stores: stores}
}

var errNoAnswer = errors.New("the stores have not answered in time")

// ask returns the result of the latest check. It waits for one that is under way,
// until that has taken too long or ctx ends.
func (r *readiness) ask(ctx context.Context) error {
	c := r.check(ctx)
	late := time.NewTimer(time.Until(c.began.Add(checkTime)))
	defer late.Stop()
	select {
	case <-c.done:
		return c.err
	default: // a result that is there counts, however late it is asked for
	}
	select {
	case <-c.done:
		return c.err
	case <-late.C:
		return errNoAnswer
	case <-ctx.Done():
		return ctx.Err()
	}
}

// check returns the latest check, or begins another one if that is over and old.
// A store that ignores the end of its context therefore holds one check and no more.
func (r *readiness) check(ctx context.Context) *check {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.latest == nil || r.latest.isDone() && time.Since(r.latest.began) >= checkInterval {
		r.latest = &check{began: time.Now(), done: make(chan struct{})}
		go r.latest.run(context.WithoutCancel(ctx), r.stores)
	}
	return r.latest
}

func (c *check) isDone() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func (c *check) run(ctx context.Context, stores []func(context.Context) error) {
	defer close(c.done)
	ctx, cancel := context.WithDeadline(ctx, c.began.Add(checkTime))
	defer cancel()
	for _, takesWrites := range stores {
		c.err = errors.Join(c.err, takesWrites(ctx))
	}
	c.err = errors.Join(c.err, ctx.Err()) // what succeeds too late is not known to succeed now
}

// takesWrites writes the one row of a table that serves nothing else, so that it
// waits for no write of an org. It is one statement: an instance that stops in the
// middle of it keeps no lock that others wait for.
func (s *store) takesWrites(ctx context.Context) error {
	for {
		err := execIn(ctx, s.guarded, errors.New("no row was written"),
			"INSERT INTO platform_readiness (id, checked) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET checked = excluded.checked",
			time.Now().UnixMilli())
		if !isBusy(err) || ctx.Err() != nil {
			return err
		}
	}
}

// takesWrites writes a key that is gone soon, where there is a Redis. It has a
// prefix of its own: the library's keys stay the library's.
func (s *stores) takesWrites(ctx context.Context) error {
	if s.redis == nil {
		return nil
	}
	return s.redis.Set(ctx, "platform:readiness", "", 10*time.Second).Err()
}
