package main

import (
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// The quota on minting. A signature costs this server more than its client.
const (
	mintInterval = 100 * time.Millisecond // ten a second
	mintBurst    = 50
	maxMinters   = 100_000
)

// The quota on registering, by client address.
const (
	registerInterval = time.Second
	registerBurst    = 50
	maxRegistering   = 100_000
)

// inOrg is a name that is unique within an org.
type inOrg struct{ org, name string }

// quota limits how often each account, or address, may do something: once per
// interval in the long run. A full allowance is burst times at once. Each instance
// counts by itself: three instances admit three times as much.
type quota struct {
	interval time.Duration
	burst    int
	accounts int // how many accounts are remembered

	mu      sync.Mutex
	fullAt  map[inOrg]time.Time // when the allowance is full again; without an entry it is full
	dropped time.Time           // when accounts with a full allowance were last forgotten
}

func newQuota(interval time.Duration, burst, accounts int) *quota {
	return &quota{interval: interval, burst: burst, accounts: accounts, fullAt: make(map[inOrg]time.Time)}
}

// take counts one act of an account, or returns an error that says when to try
// again.
func (q *quota) take(account inOrg) error {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	fullAt, known := q.fullAt[account]
	if !known && len(q.fullAt) >= q.accounts {
		q.dropFull(now)
	}
	if !known && len(q.fullAt) >= q.accounts {
		return throttled(dropInterval)
	}
	if fullAt.Before(now) {
		fullAt = now
	}
	fullAt = fullAt.Add(q.interval)
	if early := fullAt.Sub(now) - time.Duration(q.burst)*q.interval; early > 0 {
		return throttled(early)
	}
	q.fullAt[account] = fullAt
	return nil
}

// dropInterval is the shortest time between two searches through all accounts.
// Otherwise a flood of new accounts would cause a flood of searches.
const dropInterval = time.Second

// dropFull forgets the accounts whose allowance is full.
func (q *quota) dropFull(now time.Time) {
	if now.Sub(q.dropped) < dropInterval {
		return
	}
	q.dropped = now
	for account, fullAt := range q.fullAt {
		if !fullAt.After(now) {
			delete(q.fullAt, account)
		}
	}
}

func throttled(wait time.Duration) error {
	return &auth.Error{Detail: auth.DetailThrottled, RetryAfter: wait}
}
