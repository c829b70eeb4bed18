package token

import (
	"context"
	"sync"
	"time"
)

const (
	defaultStale = 2 * time.Second
	maxKeys      = 8192
)

// CachedKeys remembers the keys another Keys has found. Cached makes one.
type CachedKeys struct {
	Now func() time.Time // nil: time.Now; set before first use, for tests

	keys  Keys
	stale time.Duration

	mu      sync.RWMutex
	found   map[string]foundKey // by kid
	forgets uint64              // counts calls of Invalidate
}

type foundKey struct {
	*PublicKey
	until time.Time
}

// Cached remembers what k finds for as long as stale; 0 means 2 seconds. That
// is the bound on how long a key that was replaced or deleted in another
// process is still taken for current here. In this process, call Invalidate
// and the bound is zero. Failures are never remembered, so that unknown kids
// take no memory; at most 8192 keys are.
func Cached(k Keys, stale time.Duration) *CachedKeys {
	if stale <= 0 {
		stale = defaultStale
	}
	return &CachedKeys{keys: k, stale: stale, found: map[string]foundKey{}}
}

// Public implements Keys. Its errors are those of the Keys it asks.
func (c *CachedKeys) Public(ctx context.Context, kid string) (*PublicKey, error) {
	// Taken before asking: the answer may be as old as the question.
	now := c.now()
	c.mu.RLock()
	f, ok := c.found[kid]
	forgets := c.forgets
	c.mu.RUnlock()
	if left := f.until.Sub(now); ok && 0 < left && left <= c.stale { // more: the clock was set back
		return f.PublicKey, nil
	}
	k, err := c.keys.Public(ctx, kid)
	if err != nil || k == nil {
		return nil, err
	}
	c.remember(foundKey{k, now.Add(c.stale)}, forgets)
	return k, nil
}

func (c *CachedKeys) remember(f foundKey, forgets uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// What was asked before an Invalidate may be what it made out of date.
	if forgets != c.forgets {
		return
	}
	if _, ok := c.found[f.KeyID]; !ok && len(c.found) >= maxKeys {
		for kid := range c.found {
			delete(c.found, kid) // whichever comes first
			break
		}
	}
	c.found[f.KeyID] = f
}

// Invalidate forgets the keys of an app. Call it after the app's pair has been
// replaced or deleted: no look-up that starts after it returns finds the old
// key.
func (c *CachedKeys) Invalidate(clientKey string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgets++
	for kid, f := range c.found {
		if f.ClientKey == clientKey {
			delete(c.found, kid)
		}
	}
}

func (c *CachedKeys) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}
