package auth

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/internal/recent"
)

// CachedDirectory remembers what another Directory has found. Cached makes one.
type CachedDirectory struct {
	Now func() time.Time // nil: time.Now; set before first use, for tests

	directory Directory

	of       recent.Groups // by org
	orgs     recent.Answers[string, *Org]
	apps     recent.Answers[string, *App]
	accounts recent.Answers[inOrg, *Account]
	roles    recent.Answers[inOrg, []Role]
}

// Cached wraps a Directory so that a look-up which succeeded is answered from
// memory for the given time: 2 s if stale is 0. Every request that starts more
// than stale after a change in d, a disabled account say, sees it, whichever
// process made the change. The process that made it calls Invalidate, and its next
// request sees it. Failures are not kept, "not found" neither.
//
// It keeps up to entries answers of each of the four kinds, 10,000 if entries
// is 0. When it is full, few of the new answers take the place of others: a name
// that is asked for once costs little, one that is asked for often is soon kept.
// It is safe for concurrent use, and a hit takes no lock.
func Cached(d Directory, stale time.Duration, entries int) *CachedDirectory {
	if stale <= 0 {
		stale = defaultStale
	}
	if entries <= 0 {
		entries = 10_000
	}
	return &CachedDirectory{directory: d, of: recent.Groups{Stale: stale, Limit: entries}}
}

// Invalidate forgets all that was found of an org: itself, its apps, accounts and
// roles. Call it after each write to one of them, also after a write that failed:
// it may have been made. No look-up that starts after Invalidate returns is
// answered with what was there before the write, whatever look-ups were under way.
// Answers of other orgs stay. It takes as long as a look-up in memory.
func (c *CachedDirectory) Invalidate(org string) { c.of.Forget(org) }

func (c *CachedDirectory) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

const defaultStale = 2 * time.Second

// Org implements Directory.
func (c *CachedDirectory) Org(ctx context.Context, code string) (*Org, error) {
	return c.orgs.Get(&c.of, c.now(), code, func() (*Org, string, error) {
		o, err := c.directory.Org(ctx, code)
		return o, code, err
	})
}

// App implements Directory.
func (c *CachedDirectory) App(ctx context.Context, clientKey string) (*App, error) {
	return c.apps.Get(&c.of, c.now(), clientKey, func() (*App, string, error) {
		a, err := c.directory.App(ctx, clientKey)
		if a == nil {
			return nil, "", err // of no org, if it is no error
		}
		return a, a.Org, err
	})
}

// Account implements Directory.
func (c *CachedDirectory) Account(ctx context.Context, org, id string) (*Account, error) {
	return c.accounts.Get(&c.of, c.now(), inOrg{org, id}, func() (*Account, string, error) {
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
	roles, err := c.roles.Get(&c.of, c.now(), inOrg{org, strings.Join(names, "\x00")}, func() ([]Role, string, error) {
		roles, err := c.directory.Roles(ctx, org, names)
		return roles, org, err
	})
	return slices.Clone(roles), err
}
