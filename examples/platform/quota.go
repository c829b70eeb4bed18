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

// The quota on generating token signing keys, by org. One takes about 90 ms of CPU. A tool that
// gives each app of an org a pair does so in a row.
const (
	pairInterval = time.Second
	pairBurst    = 50
	maxPairing   = 100_000
)

// The quota on questions of the console, by client address. One takes 1 to 2 ms of CPU.
const (
	askInterval = 50 * time.Millisecond
	askBurst    = 100
	maxAsking   = 100_000
)

// The quota on registering, by client address.
const (
	registerInterval = time.Second
	registerBurst    = 50
	maxRegistering   = 100_000
)

// inOrg is a name that is unique within an org.
type inOrg struct {
	org  auth.OrgKey
	name string
}

// callerOf names an account as it is used by one app, or by nobody: no app with the
// right to act as an account takes from what the account's own sessions may do.
func callerOf(p auth.Principal) inOrg { return inOrg{p.Org, p.App + " " + p.Account} }

// quota limits how often each caller or address may do something: once per
// interval in the long run. A full allowance is burst times at once. Each instance
// counts by itself: three instances admit three times as much.
type quota struct {
	interval time.Duration
	burst    int
	accounts int // how many accounts are remembered

	mu      sync.Mutex
	fullAt  map[auth.OrgKey]map[string]time.Time // by org and name: when the allowance is full again; without an entry it is full
	count   int                                  // of the entries in fullAt
	dropped time.Time                            // when accounts with a full allowance were last forgotten
}

func newQuota(interval time.Duration, burst, accounts int) *quota {
	return &quota{interval: interval, burst: burst, accounts: accounts, fullAt: make(map[auth.OrgKey]map[string]time.Time)}
}

// take counts one act of an account, or returns an error that says when to try
// again.
func (q *quota) take(account inOrg) error {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	fullAt, known := q.fullAt[account.org][account.name]
	if !known && !q.hasRoom(account.org, now) {
		return throttled(dropInterval)
	}
	if fullAt.Before(now) {
		fullAt = now
	}
	fullAt = fullAt.Add(q.interval)
	if early := fullAt.Sub(now) - time.Duration(q.burst)*q.interval; early > 0 {
		return throttled(early)
	}
	if q.fullAt[account.org] == nil {
		q.fullAt[account.org] = make(map[string]time.Time)
	}
	q.fullAt[account.org][account.name] = fullAt
	if !known {
		q.count++
	}
	return nil
}

// hasRoom reports whether there is room for one more account of an org. If there is none, and the org
// has less than an equal share, one with more loses some: their allowance is full then.
func (q *quota) hasRoom(org auth.OrgKey, now time.Time) bool {
	if q.count >= q.accounts {
		q.dropFull(now)
	}
	if q.count < q.accounts {
		return true
	}
	orgs := len(q.fullAt)
	if q.fullAt[org] == nil {
		orgs++
	}
	fair := q.accounts / orgs
	if len(q.fullAt[org]) >= fair {
		return false
	}
	for other, names := range q.fullAt {
		if len(names) <= fair {
			continue
		}
		// Several at once, because each search may look at all orgs.
		least := max(fair, len(names)-1-q.accounts/64)
		for name := range names {
			if len(names) == least {
				break
			}
			q.drop(other, name)
		}
		break
	}
	return true
}

func (q *quota) drop(org auth.OrgKey, name string) {
	delete(q.fullAt[org], name)
	q.count--
	if len(q.fullAt[org]) == 0 {
		delete(q.fullAt, org)
	}
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
	for org, names := range q.fullAt {
		for name, fullAt := range names {
			if !fullAt.After(now) {
				q.drop(org, name)
			}
		}
	}
}

func throttled(wait time.Duration) error {
	return &auth.Error{Detail: auth.DetailThrottled, RetryAfter: wait}
}
