package auth

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// Cached wraps a Directory so that a look-up which succeeded is answered from
// memory for the given time: 2 s if stale is 0. That time is the promise: a
// change in d, a disabled account say, is seen by every request that starts
// later than stale after it. Failures are not kept, "not found" neither.
//
// It keeps up to entries answers of each of the four kinds, 10,000 if entries
// is 0, and drops any of them when it is full. It is safe for concurrent use.
func Cached(d Directory, stale time.Duration, entries int) Directory {
	if stale <= 0 {
		stale = defaultStale
	}
	if entries <= 0 {
		entries = 10_000
	}
	return &cached{
		directory: d,
		orgs:      recent[string, *Org]{stale: stale, limit: entries},
		apps:      recent[string, *App]{stale: stale, limit: entries},
		accounts:  recent[inOrg, *Account]{stale: stale, limit: entries},
		roles:     recent[inOrg, []Role]{stale: stale, limit: entries},
	}
}

const defaultStale = 2 * time.Second

type cached struct {
	directory Directory
	orgs      recent[string, *Org]
	apps      recent[string, *App]
	accounts  recent[inOrg, *Account]
	roles     recent[inOrg, []Role]
}

func (c *cached) Org(ctx context.Context, code string) (*Org, error) {
	return c.orgs.get(code, func() (*Org, error) { return c.directory.Org(ctx, code) })
}

func (c *cached) App(ctx context.Context, clientKey string) (*App, error) {
	return c.apps.get(clientKey, func() (*App, error) { return c.directory.App(ctx, clientKey) })
}

func (c *cached) Account(ctx context.Context, org, id string) (*Account, error) {
	return c.accounts.get(inOrg{org, id}, func() (*Account, error) { return c.directory.Account(ctx, org, id) })
}

func (c *cached) Roles(ctx context.Context, org string, names []string) ([]Role, error) {
	// NUL cannot stand in a name that a directory knows, so that no two lists
	// share a key: a name that holds one is not worth keeping.
	if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, "\x00") }) {
		return c.directory.Roles(ctx, org, names)
	}
	roles, err := c.roles.get(inOrg{org, strings.Join(names, "\x00")}, func() ([]Role, error) {
		return c.directory.Roles(ctx, org, names)
	})
	return slices.Clone(roles), err
}

// recent keeps answers for a time that is counted from before they were asked
// for, so that a slow look-up is not kept for longer than the promise.
type recent[K comparable, V any] struct {
	stale time.Duration
	limit int

	mu      sync.RWMutex
	answers map[K]answer[V]
}

type answer[V any] struct {
	value V
	until time.Time
}

func (c *recent[K, V]) get(key K, ask func() (V, error)) (V, error) {
	now := time.Now()
	c.mu.RLock()
	known, ok := c.answers[key]
	c.mu.RUnlock()
	if ok && now.Before(known.until) {
		return known.value, nil
	}
	value, err := ask()
	if err != nil {
		return value, err
	}
	c.put(key, answer[V]{value, now.Add(c.stale)})
	return value, nil
}

func (c *recent[K, V]) put(key K, a answer[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers == nil {
		c.answers = make(map[K]answer[V])
	}
	if known, ok := c.answers[key]; ok && known.until.After(a.until) {
		return // a slower look-up must not put an older answer back
	}
	if len(c.answers) >= c.limit {
		for victim := range c.answers {
			delete(c.answers, victim)
			break
		}
	}
	c.answers[key] = a
}
