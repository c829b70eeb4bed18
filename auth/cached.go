package auth

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// CachedDirectory remembers what another Directory has found. Cached makes one.
type CachedDirectory struct {
	Now func() time.Time // nil: time.Now; set before first use, for tests

	directory Directory
	stale     time.Duration
	entries   int

	orgs     recent[string, *Org]
	apps     recent[string, *App]
	accounts recent[inOrg, *Account]
	roles    recent[inOrg, []Role]

	forgets atomic.Uint64 // counts calls of Invalidate
	mu      sync.Mutex
	current map[string]*generation // by org
	floor   uint64                 // before that count any org may have been forgotten
}

// Cached wraps a Directory so that a look-up which succeeded is answered from
// memory for the given time: 2 s if stale is 0. That time is the promise: every
// request that starts more than stale after a change in d, a disabled account say,
// sees it, whichever process made the change. The process that made it calls
// Invalidate, and its next request sees it. Failures are not kept, "not found"
// neither.
//
// It keeps up to entries answers of each of the four kinds, 10,000 if entries
// is 0, and drops any of them when it is full. It is safe for concurrent use.
func Cached(d Directory, stale time.Duration, entries int) *CachedDirectory {
	if stale <= 0 {
		stale = defaultStale
	}
	if entries <= 0 {
		entries = 10_000
	}
	return &CachedDirectory{directory: d, stale: stale, entries: entries}
}

// Invalidate forgets all that was found of an org: itself, its apps, accounts and
// roles. Call it after each write to one of them, also after a write that failed:
// it may have been made. No look-up that starts after Invalidate returns is
// answered with what was there before the write, whatever look-ups were under way.
// Answers of other orgs stay. It takes as long as a look-up in memory.
func (c *CachedDirectory) Invalidate(org string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if of := c.current[org]; of != nil {
		of.over.Store(true)
	}
	c.begin(org, c.forgets.Add(1))
}

// generation is all that was found of an org between two calls of Invalidate.
type generation struct {
	since uint64 // how many calls there were, of any org; none but of this one count
	over  atomic.Bool
}

// generation returns the one that an answer of the org belongs to, or nil if the
// org may have been forgotten since that count: the answer may be what a change has
// made out of date. What is forgotten of other orgs makes no difference.
func (c *CachedDirectory) generation(org string, since uint64) *generation {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.current[org]
	switch {
	case since < c.floor || of != nil && since < of.since:
		return nil
	case of != nil:
		return of
	}
	return c.begin(org, c.floor)
}

// begin begins a generation. Where there are too many, all are over, to be refilled by
// the requests that come; of a look-up that is under way then, nothing is known.
func (c *CachedDirectory) begin(org string, since uint64) *generation {
	if _, ok := c.current[org]; !ok && len(c.current) >= c.entries {
		for _, of := range c.current {
			of.over.Store(true)
		}
		clear(c.current)
		c.floor = c.forgets.Load()
	}
	of := &generation{since: since}
	put(&c.current, org, of)
	return of
}

func (c *CachedDirectory) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

const defaultStale = 2 * time.Second

// Org implements Directory.
func (c *CachedDirectory) Org(ctx context.Context, code string) (*Org, error) {
	return c.orgs.get(c, code, func() (*Org, string, error) {
		o, err := c.directory.Org(ctx, code)
		return o, code, err
	})
}

// App implements Directory.
func (c *CachedDirectory) App(ctx context.Context, clientKey string) (*App, error) {
	return c.apps.get(c, clientKey, func() (*App, string, error) {
		a, err := c.directory.App(ctx, clientKey)
		if a == nil {
			return nil, "", err // of no org, if it is no error
		}
		return a, a.Org, err
	})
}

// Account implements Directory.
func (c *CachedDirectory) Account(ctx context.Context, org, id string) (*Account, error) {
	return c.accounts.get(c, inOrg{org, id}, func() (*Account, string, error) {
		a, err := c.directory.Account(ctx, org, id)
		return a, org, err
	})
}

// Roles implements Directory.
func (c *CachedDirectory) Roles(ctx context.Context, org string, names []string) ([]Role, error) {
	// NUL cannot stand in a name that a directory knows, so that no two lists
	// share a key: a name that holds one is not worth keeping.
	if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, "\x00") }) {
		return c.directory.Roles(ctx, org, names)
	}
	roles, err := c.roles.get(c, inOrg{org, strings.Join(names, "\x00")}, func() ([]Role, string, error) {
		roles, err := c.directory.Roles(ctx, org, names)
		return roles, org, err
	})
	return slices.Clone(roles), err
}

// recent keeps answers of one kind for a time that is counted from before they
// were asked for, so that a slow look-up is not kept for longer than the promise.
type recent[K comparable, V any] struct {
	mu      sync.RWMutex
	answers map[K]answer[V]
}

type answer[V any] struct {
	value V
	until time.Time
	of    *generation
}

// get answers a look-up of c. What it asks for comes with the org it belongs to.
func (r *recent[K, V]) get(c *CachedDirectory, key K, ask func() (V, string, error)) (V, error) {
	now := c.now()
	r.mu.RLock()
	known, ok := r.answers[key]
	r.mu.RUnlock()
	if ok && known.isFresh(now, c.stale) {
		return known.value, nil
	}
	forgets := c.forgets.Load() // before asking: see generation
	value, org, err := ask()
	if err != nil {
		return value, err
	}
	if of := c.generation(org, forgets); of != nil {
		r.put(key, answer[V]{value, now.Add(c.stale), of}, c.entries)
	}
	return value, nil
}

func (a *answer[V]) isFresh(now time.Time, stale time.Duration) bool {
	left := a.until.Sub(now)
	return 0 < left && left <= stale && !a.of.over.Load() // more is left where the clock was set back
}

func (r *recent[K, V]) put(key K, a answer[V], limit int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.answers[key]
	if ok && known.until.After(a.until) && !known.of.over.Load() {
		return // a slower look-up must not put an older answer back
	}
	if !ok && len(r.answers) >= limit {
		for victim := range r.answers {
			delete(r.answers, victim)
			break
		}
	}
	put(&r.answers, key, a)
}
