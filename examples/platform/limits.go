package main

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// The quotas on what costs this server more than its client. Each instance counts by
// itself: three instances admit three times as much.
func newMintQuota() *quota     { return newQuota(100*time.Millisecond, 50) } // by caller: ten a second
func newPairQuota() *quota     { return newQuota(time.Second, 50) }          // by org: to generate a pair takes 90 ms of CPU, and a tool does so in a row
func newAskQuota() *quota      { return newQuota(50*time.Millisecond, 100) } // of the console's questions, by address
func newRegisterQuota() *quota { return newQuota(time.Second, 50) }          // by address

// inOrg is a name that is unique within an org.
type inOrg struct {
	org  auth.OrgKey
	name string
}

// callerOf names an account as it is used by one app, or by nobody: no app with the
// right to act as an account takes from what the account's own sessions may do.
func callerOf(p auth.Principal) inOrg { return inOrg{p.Org, p.App + " " + p.Account} }

// quota limits how often each caller or address may do something: once per interval in the
// long run. A full allowance is burst times at once.
type quota struct {
	interval time.Duration
	burst    int
	most     int // names that are remembered

	mu     sync.Mutex
	fullAt map[inOrg]time.Time // when the allowance is full again; without an entry it is full
}

func newQuota(interval time.Duration, burst int) *quota {
	return &quota{interval: interval, burst: burst, most: 100_000, fullAt: make(map[inOrg]time.Time)}
}

func (q *quota) take(who inOrg) error {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	fullAt, known := q.fullAt[who]
	if fullAt.Before(now) {
		fullAt = now
	}
	fullAt = fullAt.Add(q.interval)
	if early := fullAt.Sub(now) - time.Duration(q.burst)*q.interval; early > 0 {
		return throttled(early)
	}
	// Nobody is refused because others came before. The name that is forgotten has a full
	// allowance again, and is most likely of the org that has most names: the order is random.
	for some := range q.fullAt {
		if known || len(q.fullAt) < q.most {
			break
		}
		delete(q.fullAt, some)
	}
	q.fullAt[who] = fullAt
	return nil
}

func throttled(wait time.Duration) error {
	return &auth.Error{Detail: auth.DetailThrottled, RetryAfter: wait}
}

// The limits of how much is done at once: requests for pages, which hold a connection and then the
// page in memory, and changes of accounts. There is one limit per caller (see callerOf), and one
// for all callers of an org together. Further requests wait for queryWait at most.
const (
	queriesEach   = 4
	queriesPerOrg = 12 // of routeConnections: one org cannot take all of them, but two can
	queryWait     = time.Second

	// Of objects. Those of one account wait for each other in the database, and the others
	// here, as long as their requests may take.
	changesEach   = 2
	changesPerOrg = 6
)

// share limits how much is done at once for each caller and for each org, on this instance.
type share struct {
	each, perOrg int
	wait         time.Duration

	mu    sync.Mutex
	slots map[inOrg]*slots // the slots of an org have the empty name
}

type slots struct {
	taken chan struct{}
	users int // how many callers have a slot or wait for one
}

func newShare(each, perOrg int, wait time.Duration) *share {
	return &share{each: each, perOrg: perOrg, wait: wait, slots: make(map[inOrg]*slots)}
}

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
	// Taken last, so that a caller cannot wait here with more callers than it has slots.
	leaveOrg, err := s.take(ctx, inOrg{org: p.Org}, s.perOrg, timer.C)
	if err != nil {
		leaveOwn()
		return nil, err
	}
	return func() { leaveOrg(); leaveOwn() }, nil
}

func (s *share) take(ctx context.Context, whose inOrg, most int, late <-chan time.Time) (leave func(), err error) {
	s.mu.Lock()
	p := s.slots[whose]
	if p == nil {
		p = &slots{taken: make(chan struct{}, most)}
		s.slots[whose] = p
	}
	p.users++
	s.mu.Unlock()
	done := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if p.users--; p.users == 0 {
			delete(s.slots, whose)
		}
	}
	select {
	case p.taken <- struct{}{}:
		return func() { <-p.taken; done() }, nil
	case <-late:
		err = throttled(time.Second)
	case <-ctx.Done():
		err = storeFailed(ctx.Err())
	}
	done()
	return nil, err
}

// quotaName returns the name under which a quota counts an address. For IPv6 it is
// the /64 network, because one host has 2^64 addresses.
func quotaName(addr netip.Addr) string {
	if addr.Is6() {
		network, _ := addr.Prefix(64)
		return network.String()
	}
	return addr.String()
}
