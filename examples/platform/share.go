package main

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// The share of each account in the connections of routes: so many pages of
// objects it may have read at once, and so long others of its pages wait.
const (
	queriesEach = 4
	queryWait   = time.Second
)

// share bounds how much each account has done at once. Each instance counts by
// itself.
type share struct {
	each int
	wait time.Duration

	mu     sync.Mutex
	places map[inOrg]*places
}

// places are those of one account, while it uses any.
type places struct {
	taken chan struct{}
	users int // who have one, or wait for one
}

func newShare(each int, wait time.Duration) *share {
	return &share{each: each, wait: wait, places: make(map[inOrg]*places)}
}

// enter takes a place of the account that ctx belongs to, until leave is called.
// When none gets free in time, it is throttled. What nobody asked for has no bound.
func (s *share) enter(ctx context.Context) (leave func(), err error) {
	p := auth.From(ctx)
	who := inOrg{p.Org, cmp.Or(p.Account, p.App)}
	if who.name == "" {
		return func() {}, nil
	}
	own := s.use(who)
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	select {
	case own.taken <- struct{}{}:
		return func() { <-own.taken; s.done(who, own) }, nil
	case <-timer.C:
		err = throttled(time.Second)
	case <-ctx.Done():
		err = storeFailed(ctx.Err())
	}
	s.done(who, own)
	return nil, err
}

func (s *share) use(who inOrg) *places {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.places[who]
	if own == nil {
		own = &places{taken: make(chan struct{}, s.each)}
		s.places[who] = own
	}
	own.users++
	return own
}

func (s *share) done(who inOrg, own *places) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(s.places, who)
	}
}
