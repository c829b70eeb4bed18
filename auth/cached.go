package auth

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/internal/clock"
	"github.com/tenantkit/tenantkit/internal/recent"
)

// CachedDirectory caches what another Directory returned. Cached makes one.
type CachedDirectory struct {
	Now func() time.Time // nil: time.Now; set before first use, for tests

	directory Directory

	of       recent.Groups // by org
	orgs     recent.Answers[string, *Org]
	apps     recent.Answers[string, *App]
	accounts recent.Answers[inOrg, *Account]
	roles    recent.Answers[inOrg, []Role]
}

// Cached wraps a Directory so that a successful look-up is answered from memory for the
// time stale: 2 s if stale is 0. Every request that starts more than stale after a change
// in d sees the change, such as a disabled account. This holds whichever process made the
// change. The process that made it calls Invalidate, and its next request sees it. Failures
// are not cached, and neither is "not found".
//
// The cache keeps up to entries answers of each of the four kinds, 10,000 if entries is 0.
// When it is full, only few of the new answers replace others. So a name that is asked for
// once costs little, and one that is asked for often is soon cached. It is safe for
// concurrent use, and a hit takes no lock.
func Cached(d Directory, stale time.Duration, entries int) *CachedDirectory {
	return &CachedDirectory{directory: d, of: recent.Groups{
		Stale: cmp.Or(max(stale, 0), defaultStale),
		Limit: cmp.Or(max(entries, 0), 10_000),
	}}
}

// Invalidate removes all answers of an org by its Key: the org, its apps, accounts and roles.
// Call it after each write to one of them. Call it also after a write that failed, because
// the change may have been made. A look-up that starts after Invalidate returns gets
// nothing that was read before the write, even if other look-ups were running. Answers of
// other orgs stay. Invalidate takes as long as a look-up in memory.
func (c *CachedDirectory) Invalidate(org string) { c.of.Forget(org) }

func (c *CachedDirectory) now() time.Time { return clock.Now(c.Now) }

const defaultStale = 2 * time.Second

// Org implements Directory.
func (c *CachedDirectory) Org(ctx context.Context, code string) (*Org, error) {
	return c.orgs.Get(&c.of, c.now(), code, func() (*Org, string, error) {
		o, err := c.directory.Org(ctx, code)
		if o == nil {
			return nil, code, err
		}
		return o, o.Key(), err
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
	// No name that a directory knows contains NUL, so no two such lists share a key. A list
	// with a NUL is not cached.
	if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, "\x00") }) {
		return c.directory.Roles(ctx, org, names)
	}
	roles, err := c.roles.Get(&c.of, c.now(), inOrg{org, strings.Join(names, "\x00")}, func() ([]Role, string, error) {
		roles, err := c.directory.Roles(ctx, org, names)
		return roles, org, err
	})
	return slices.Clone(roles), err
}
