package main

import (
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// uses remembers when each app has last made a request that this instance admitted. It decides whether a
// rotation is finished and whether an app can go, so a minute is exact enough. Whoever runs several
// instances, or wants it to outlive them, stores it.
type uses struct {
	mu   sync.RWMutex
	last map[inOrg]time.Time // as many as there are apps, and at most maxUses
}

const (
	usesEvery = time.Minute
	maxUses   = 100_000
)

func newUses() *uses { return &uses{last: make(map[inOrg]time.Time)} }

func (u *uses) note(org auth.OrgKey, app string, now time.Time) {
	of := inOrg{org, app}
	u.mu.RLock()
	last, known := u.last[of]
	full := !known && len(u.last) >= maxUses
	u.mu.RUnlock()
	if app == "" || full || now.Sub(last) < usesEvery {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last[of] = now
}

func (u *uses) of(org auth.OrgKey, app string) time.Time {
	u.mu.RLock()
	defer u.mu.RUnlock()
	return u.last[inOrg{org, app}]
}
