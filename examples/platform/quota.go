package main

import (
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// The quota on minting: a signature costs this server more than its client.
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

// quota bounds how often each account, or address, may do something: once per
// interval, and up to burst times at once after a rest. The zero time of an
// account is one that has rested. Each instance counts by itself: three of them
// admit three times as much.
type quota struct {
	interval time.Duration
	burst    int
	accounts int // how many are kept

	mu     sync.Mutex
	spent  map[inOrg]time.Time // when the account will have rested
	forgot time.Time           // when those that had rested were dropped last
}

func newQuota(interval time.Duration, burst, accounts int) *quota {
	return &quota{interval: interval, burst: burst, accounts: accounts, spent: make(map[inOrg]time.Time)}
}

// take counts one act of an account, or refuses it and says when to come back.
func (q *quota) take(account inOrg) error {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	rested, known := q.spent[account]
	if !known && len(q.spent) >= q.accounts {
		q.forgetRested(now)
	}
	if !known && len(q.spent) >= q.accounts {
		return throttled(forgetEvery)
	}
	if rested.Before(now) {
		rested = now
	}
	rested = rested.Add(q.interval)
	if early := rested.Sub(now) - time.Duration(q.burst)*q.interval; early > 0 {
		return throttled(early)
	}
	q.spent[account] = rested
	return nil
}

// forgetEvery is how often all accounts are looked through at most: a flood of new
// ones must not be a flood of that.
const forgetEvery = time.Second

// forgetRested drops those of whom there is nothing to remember.
func (q *quota) forgetRested(now time.Time) {
	if now.Sub(q.forgot) < forgetEvery {
		return
	}
	q.forgot = now
	for account, rested := range q.spent {
		if !rested.After(now) {
			delete(q.spent, account)
		}
	}
}

func throttled(wait time.Duration) error {
	return &auth.Error{Detail: auth.DetailThrottled, RetryAfter: wait}
}
