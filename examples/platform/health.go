package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/tenantkit/tenantkit/signing"
)

func healthz(w http.ResponseWriter, _ *http.Request) {
	writeHealth(w, http.StatusOK, `{"status":"ok"}`)
}

// readyz answers whether requests can be served: whether the stores take writes. If
// this is not known, the answer is no.
func (p *platform) readyz(w http.ResponseWriter, r *http.Request) {
	err := p.ready.ask(r.Context())
	if err == nil {
		healthz(w, r)
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

// The shortest time between two checks of the stores, and the longest time of a check.
const (
	checkInterval = time.Second
	checkTime     = time.Second
)

// readiness reports whether the stores take writes. Anybody may ask, so all callers
// share one check, and a store that ignores the end of its context holds one only. A
// caller that goes away neither ends the check nor changes its result. The result counts
// for checkInterval after the check began.
type readiness struct {
	stores []func(context.Context) error

	checks singleflight.Group // which runs one check at a time
	began  time.Time
	result error
}

// ask returns the result of the latest check. It waits for a running check until
// that has taken too long or ctx ends.
func (r *readiness) ask(ctx context.Context) error {
	checked := r.checks.DoChan("", func() (any, error) { return nil, r.check(context.WithoutCancel(ctx)) })
	select {
	case result := <-checked:
		return result.Err
	case <-time.After(checkTime):
		return errors.New("the stores have not answered in time")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *readiness) check(ctx context.Context) (err error) {
	if time.Since(r.began) < checkInterval {
		return r.result
	}
	r.began = time.Now()
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	for _, takesWrites := range r.stores {
		err = errors.Join(err, takesWrites(ctx))
	}
	r.result = errors.Join(err, ctx.Err()) // a success that comes too late does not count
	return r.result
}

// takesWrites writes the only row of a table that has no other use, so that it
// waits for no write of an org. It is one statement. So an instance that stops in
// the middle leaves no lock that blocks others.
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

// takesWrites writes a key that expires soon, if there is a Redis. The key has a
// prefix of its own, apart from the library's keys.
func (s *stores) takesWrites(ctx context.Context) error {
	if s.redis == nil {
		return nil
	}
	return s.redis.Set(ctx, "platform:readiness", "", 10*time.Second).Err()
}

// secondsFrom returns a check that waits for the next full second after the stores
// were opened. Version 2 of signatures counts whole seconds. What was signed in the
// second in which a new store of replays began is stale.
func secondsFrom(opened time.Time, policy signing.Policy) func(context.Context) error {
	begins := opened.Truncate(time.Second).Add(time.Second)
	if policy.Version == 1 {
		begins = opened
	}
	return func(ctx context.Context) error {
		select {
		case <-time.After(time.Until(begins)):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
