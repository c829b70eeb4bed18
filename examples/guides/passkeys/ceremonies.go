package passkeys

import (
	"sync"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/tenantkit/tenantkit/auth"
)

// ceremony is what webauthn needs again when the response comes.
type ceremony struct {
	webauthn.SessionData
	at time.Time
}

// ceremonies stands for a table with a row for each challenge. The server keeps them, because a
// challenge must be used once. Each org has a share, so none fills the memory of the others.
type ceremonies struct {
	mu    sync.Mutex
	byOrg map[auth.OrgKey]map[string]ceremony
}

const (
	ceremonyTime  = 5 * time.Minute
	ceremoniesMax = 1000 // of an org at once
)

// add keeps a ceremony that begins now.
func (c *ceremonies) add(org auth.OrgKey, data *webauthn.SessionData) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byOrg == nil {
		c.byOrg = map[auth.OrgKey]map[string]ceremony{}
	}
	all := c.byOrg[org]
	if all == nil {
		all = map[string]ceremony{}
		c.byOrg[org] = all
	}
	now := time.Now()
	if len(all) >= ceremoniesMax {
		for challenge, old := range all {
			if now.Sub(old.at) > ceremonyTime {
				delete(all, challenge)
			}
		}
	}
	if len(all) >= ceremoniesMax {
		return &auth.Error{Detail: auth.DetailThrottled}
	}
	all[data.Challenge] = ceremony{*data, now}
	return nil
}

// take returns the ceremony of a challenge, once.
func (c *ceremonies) take(org auth.OrgKey, challenge string) (ceremony, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.byOrg[org][challenge]
	delete(c.byOrg[org], challenge)
	return found, ok && time.Since(found.at) <= ceremonyTime
}
