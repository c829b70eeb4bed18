package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"time"
)

// healthz says that the process answers.
func healthz(w http.ResponseWriter, _ *http.Request) {
	writeHealth(w, http.StatusOK, `{"status":"ok"}`)
}

// readyz says that requests can be served: that the stores take writes.
func (p *platform) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), time.Second)
	defer cancel()
	if err := p.ready.ask(ctx); err != nil {
		p.log.Error("not ready", "cause", err)
		w.Header().Set("Retry-After", "1")
		writeHealth(w, http.StatusServiceUnavailable, `{"status":"unavailable"}`)
		return
	}
	writeHealth(w, http.StatusOK, `{"status":"ok"}`)
}

func writeHealth(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write([]byte(body + "\n"))
}

// readiness asks the stores whether they take writes. Anybody may have them asked,
// so it is done one at a time, and not too often: then the last answer holds.
type readiness struct {
	stores []func(context.Context) error
	often  *quota

	asking chan struct{} // holds a place for who asks
	last   error         // of who has the place
}

func newReadiness(stores ...func(context.Context) error) *readiness {
	return &readiness{
		stores: stores,
		often:  newQuota(100*time.Millisecond, 20, 1),
		asking: make(chan struct{}, 1),
	}
}

func (r *readiness) ask(ctx context.Context) error {
	select {
	case r.asking <- struct{}{}:
		defer func() { <-r.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if r.often.take(inOrg{}) != nil {
		return r.last
	}
	r.last = nil
	for _, writes := range r.stores {
		r.last = errors.Join(r.last, writes(ctx))
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		// Who asked has gone: that is no answer for others.
		defer func() { r.last = nil }()
	}
	return r.last
}

// takesWrites writes a row, and takes it back.
func (s *store) takesWrites(ctx context.Context) error {
	tx, err := begin(ctx, s.guarded)
	if err != nil {
		return storeFailed(err)
	}
	defer tx.Rollback()
	_, err = tx.ExecContext(ctx, "INSERT INTO platform_orgs (code, record) VALUES ($1, '{}')", "readyz "+rand.Text())
	return storeFailed(err)
}

// takesWrites writes a key that is gone soon, where there is a Redis.
func (s *stores) takesWrites(ctx context.Context) error {
	if s.redis == nil {
		return nil
	}
	return s.redis.Set(ctx, "tenantkit:readyz", "", time.Second).Err()
}
