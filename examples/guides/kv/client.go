package kv

import (
	"context"
	"errors"
	"sync"
	"time"
)

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

// Len returns how many keys there are.
func (c *Client) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}
