package main

import (
	"context"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// The limits of how much is done at once: requests for pages, which hold a connection
// and then the page in memory, and changes of accounts. There is one limit per caller
// (see callerOf), and one for all callers of an org together. Further requests wait for
// queryWait at most.
const (
	queriesEach   = 4
	queriesPerOrg = 12 // of routeConnections: one org cannot take all of them, but two can
	queryWait     = time.Second

	// Of objects. Those of one account wait for each other in the database, and the others
	// here, as long as their requests may take.
	changesEach   = 2
	changesPerOrg = 6
)

// share limits how much is done at once for each caller and for each org. Each
// instance counts by itself.
type share struct {
	each, perOrg int
	wait         time.Duration

	mu    sync.Mutex
	slots map[inOrg]*slots // the slots of an org have the empty name
}

// slots are the slots of one caller or org, as long as anybody uses them.
type slots struct {
	taken chan struct{}
	users int // how many callers have a slot or wait for one
}

func newShare(each, perOrg int, wait time.Duration) *share {
	return &share{each: each, perOrg: perOrg, wait: wait, slots: make(map[inOrg]*slots)}
}

// held is the slot of one request, if it has one.
type held struct{ leave func() }

type heldKey struct{}

// holding returns a context in which hold works. The slot is taken until end is called.
func holding(ctx context.Context) (_ context.Context, end func()) {
	h := new(held)
	return context.WithValue(ctx, heldKey{}, h), func() {
		if h.leave != nil {
			h.leave()
		}
	}
}

// hold takes a slot for the request of ctx, unless it has one. The request keeps it
// until its response is written: a client that does not read keeps the page in memory.
func (s *share) hold(ctx context.Context) (err error) {
	h := ctx.Value(heldKey{}).(*held)
	if h.leave == nil {
		h.leave, err = s.enter(ctx)
	}
	return err
}

// enter takes a slot of the caller in ctx and one of its org, until leave is
// called. If one of them does not become free in time, the request is throttled.
// Without an account and an app in ctx, there is no limit.
func (s *share) enter(ctx context.Context) (leave func(), err error) {
	p := auth.From(ctx)
	if p.Account == "" && p.App == "" {
		return func() {}, nil
	}
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	leaveOwn, err := s.take(ctx, callerOf(p), s.each, timer.C)
	if err != nil {
		return nil, err
	}
	// Taken last, so that a caller cannot wait here with more callers than it has
	// slots.
	leaveOrg, err := s.take(ctx, inOrg{org: p.Org}, s.perOrg, timer.C)
	if err != nil {
		leaveOwn()
		return nil, err
	}
	return func() { leaveOrg(); leaveOwn() }, nil
}

// take takes a slot of a caller or org, which has most slots.
func (s *share) take(ctx context.Context, whose inOrg, most int, late <-chan time.Time) (leave func(), err error) {
	p := s.use(whose, most)
	select {
	case p.taken <- struct{}{}:
		return func() { <-p.taken; s.done(whose, p) }, nil
	case <-late:
		err = throttled(time.Second)
	case <-ctx.Done():
		err = storeFailed(ctx.Err())
	}
	s.done(whose, p)
	return nil, err
}

func (s *share) use(whose inOrg, most int) *slots {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.slots[whose]
	if p == nil {
		p = &slots{taken: make(chan struct{}, most)}
		s.slots[whose] = p
	}
	p.users++
	return p
}

func (s *share) done(whose inOrg, p *slots) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(s.slots, whose)
	}
}
