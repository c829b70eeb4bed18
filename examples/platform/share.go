package main

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// The shares in the connections of routes: so many pages of objects, and changes of
// accounts, each account and all accounts of an org together may have under way at
// once. Others wait so long.
const (
	queriesEach   = 4
	queriesPerOrg = 12 // of routeConnections: what one org leaves is for others, which two could take
	queryWait     = time.Second
)

// share bounds how much is done at once for each account, and for each org. Each
// instance counts by itself.
type share struct {
	each, perOrg int
	wait         time.Duration

	mu     sync.Mutex
	places map[inOrg]*places // those of an org have no name
}

// places are those of one account or org, while it uses any.
type places struct {
	taken chan struct{}
	users int // who have one, or wait for one
}

func newShare(each, perOrg int, wait time.Duration) *share {
	return &share{each: each, perOrg: perOrg, wait: wait, places: make(map[inOrg]*places)}
}

// enter takes a place of the account that ctx belongs to, and one of its org, until
// leave is called. When one of them does not get free in time, it is throttled. What
// nobody asked for has no bound.
func (s *share) enter(ctx context.Context) (leave func(), err error) {
	p := auth.From(ctx)
	name := cmp.Or(p.Account, p.App)
	if name == "" {
		return func() {}, nil
	}
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	leaveOwn, err := s.take(ctx, inOrg{p.Org, name}, s.each, timer.C)
	if err != nil {
		return nil, err
	}
	// Taken last, so that one account waits here no more often than it may go on.
	leaveOrg, err := s.take(ctx, inOrg{org: p.Org}, s.perOrg, timer.C)
	if err != nil {
		leaveOwn()
		return nil, err
	}
	return func() { leaveOrg(); leaveOwn() }, nil
}

// take takes one of so many places.
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

func (s *share) use(whose inOrg, most int) *places {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[whose]
	if p == nil {
		p = &places{taken: make(chan struct{}, most)}
		s.places[whose] = p
	}
	p.users++
	return p
}

func (s *share) done(whose inOrg, p *places) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(s.places, whose)
	}
}
