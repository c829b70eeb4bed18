package main

import (
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

// take counts one act, or returns an error that says when to try again.
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
	if !known && len(q.fullAt) >= q.most {
		q.forgetOne()
	}
	q.fullAt[who] = fullAt
	return nil
}

// forgetOne makes room. Nobody is refused because others came before: the one that is
// forgotten has a full allowance again. It is most likely of the org that has most names.
func (q *quota) forgetOne() {
	for who := range q.fullAt { // in random order
		delete(q.fullAt, who)
		return
	}
}

func throttled(wait time.Duration) error {
	return &auth.Error{Detail: auth.DetailThrottled, RetryAfter: wait}
}
