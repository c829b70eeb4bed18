// Package kv records accepted requests in a key-value store that the library does
// not know. The store must be able to write a key only if it is absent.
//
// signing.SetOnce does the rest. Its comment says what the store must guarantee.
// Look for these points in the manual of your store:
//
//   - One node decides the conditional write. A store that accepts writes on both
//     sides of a network partition lets the same request in on both.
//   - A confirmed write survives a crash.
//   - Nothing is evicted to make room. So a cache is not suitable.
//   - A key lives for the requested time.
//
// auth/storetest checks whether a store keeps the contract: see the test.
package kv

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// Replays returns a signing.Replays that uses the store.
func Replays(c *Client) signing.SetOnce {
	return func(ctx context.Context, key, value string, keep time.Time) (prior string, stored bool, err error) {
		// The store counts the time from now on its own clock, in whole seconds. So
		// the time is rounded up. One more second covers the delay and the
		// difference of the clocks.
		ttl := keep.Sub(c.Now()).Truncate(time.Second) + 2*time.Second
		stored, err = c.PutIfAbsent(ctx, "replays:"+key, value, ttl)
		if stored || err != nil {
			return "", stored, err
		}
		// A second call reads the value. This is correct only because an existing
		// key is never written again. If the key has expired in between, Get
		// returns an error. Then nothing is known, and the request is refused.
		prior, err = c.Get(ctx, "replays:"+key)
		return prior, false, err
	}
}

// Client stands for the client library of a store, with the two calls that Replays
// needs. It is safe for concurrent use.
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

// PutIfAbsent sets key to value for the time ttl, unless the key exists.
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
