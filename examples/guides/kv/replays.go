// Package kv keeps the record of accepted requests in a store of keys and
// values that the library does not know: any that can write a key only if it is
// not there.
//
// signing.SetOnce does the rest. Its comment says what the store must promise,
// and these are the points to look for in the manual of yours:
//
//   - The write with the condition is decided by one node. A store that takes
//     writes on two sides of a broken network lets the same request in on both.
//   - What was confirmed is there after a crash.
//   - Nothing is evicted to make room. A cache is no record.
//   - Keys live as long as they are asked to.
//
// Whether a store keeps the contract is tried by auth/storetest: see the test.
package kv

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// Replays is a signing.Replays in the store.
func Replays(c *Client) signing.SetOnce {
	return func(ctx context.Context, key, value string, keep time.Time) (prior string, stored bool, err error) {
		// The store counts from now on its own clock, in whole seconds: rounded
		// up, and a second more for what clocks and the way there take.
		ttl := keep.Sub(c.Now()).Truncate(time.Second) + 2*time.Second
		stored, err = c.PutIfAbsent(ctx, "replays:"+key, value, ttl)
		if stored || err != nil {
			return "", stored, err
		}
		// Asked in a second call, which is right only because a key that is
		// there is never written again. One that has ended in between is an
		// error: then nothing is known, and the request is refused.
		prior, err = c.Get(ctx, "replays:"+key)
		return prior, false, err
	}
}

// Client stands for the client library of a store, with the two calls that are
// needed. It is safe for concurrent use.
type Client struct {
	Now func() time.Time

	mu      sync.Mutex
	entries map[string]entry
}

type entry struct {
	value string
	ends  time.Time
}

var errNoKey = errors.New("kv: no such key")

// PutIfAbsent sets key to value for the time of ttl, unless it is there.
func (c *Client) PutIfAbsent(ctx context.Context, key, value string, ttl time.Duration) (stored bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.live(key); ok {
		return false, nil
	}
	if c.entries == nil {
		c.entries = map[string]entry{}
	}
	c.entries[key] = entry{value, c.Now().Add(ttl)}
	return true, nil
}

// Get returns the value of a key.
func (c *Client) Get(ctx context.Context, key string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.live(key)
	if !ok {
		return "", errNoKey
	}
	return e.value, nil
}

func (c *Client) live(key string) (entry, bool) {
	e, ok := c.entries[key]
	if !ok || !c.Now().Before(e.ends) {
		return entry{}, false
	}
	return e, true
}
