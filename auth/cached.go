package auth

import (
	"cmp"
	"context"
	"errors"
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
	roles    recent.Answers[inOrg, *Role]  // by name; nil: there is none
	lists    recent.Answers[inOrg, []Role] // only look-ups under way, by names: none is kept
}

// Cached wraps a Directory so that a successful look-up is answered from memory for the
// time stale: 2 s if stale is 0. Every request that starts more than stale after a change
// in d sees the change, such as a disabled account. This holds whichever process made the
// change. The process that made it calls Invalidate, and its next request sees it. Failures
// are not cached, and neither is "not found".
//
// The cache keeps up to 10,000 answers of each of the four kinds. An answer of more than 1 KiB
// counts for each KiB. Roles are kept by name. Each org has an equal
// share, and may use room that no other org needs. If an org has used its share up, only few
// of its new answers replace others, and only its own. So a name that is asked for once costs
// little, and one that is asked for often is soon cached.
//
// It is safe for concurrent use, and a hit takes no lock. Requests that ask for the same thing
// at once share one look-up in d.
func Cached(d Directory, stale time.Duration) *CachedDirectory {
	return &CachedDirectory{directory: d, of: recent.Groups{Stale: cmp.Or(max(stale, 0), 2*time.Second), Limit: 10_000}}
}

// Invalidate removes all answers of an org by its Key: the org, its apps, accounts and roles.
// Call it after each write to one of them. Call it also after a write that failed, because
// the change may have been made. A look-up that starts after Invalidate returns gets
// nothing that was read before the write, even if other look-ups were running. Answers of
// other orgs stay. Invalidate takes time for each answer that it removes, some 100 ns, and look-ups
// in d wait for it.
func (c *CachedDirectory) Invalidate(org OrgKey) { c.of.Forget(string(org)) }

// TokensFrom returns the Account.TokensFrom that ends every token signed until a change of the
// account, whose TokensFrom was former. It is ahead of the change by the time that c keeps answers:
// for that long, other instances may sign by an older record. It is one second further ahead,
// because iat is in whole seconds. Until then, an instance that knows the change sets the iat of new
// tokens to it. Some tokens may have former as their iat, so the result is later. Read former where
// you store the result: an answer of c may be too old. Ten changes within a second may move it ten
// seconds ahead.
//
// If the clocks of instances differ by more than that second, some tokens may survive. A token
// that was signed by a fast clock stays valid if its iat is not before TokensFrom.
func (c *CachedDirectory) TokensFrom(former, changed time.Time) time.Time {
	from := changed.Add(c.of.Stale + 2*time.Second - 1).Truncate(time.Second) // rounded up
	next := former.Add(2*time.Second - 1).Truncate(time.Second)
	if from.Before(next) {
		return next
	}
	return from
}

// Org implements Directory.
func (c *CachedDirectory) Org(ctx context.Context, code string) (*Org, error) {
	return cached(ctx, c, &c.orgs, code, strings.Clone, c.directory.Org, func(o *Org) (OrgKey, int) {
		return o.Key(), len(o.Code) + len(o.ID) + bytesOf(o.FormerCodes)
	})
}

// App implements Directory.
func (c *CachedDirectory) App(ctx context.Context, clientKey string) (*App, error) {
	return cached(ctx, c, &c.apps, clientKey, strings.Clone, c.directory.App, func(a *App) (OrgKey, int) {
		return a.Org, len(a.ClientKey) + len(a.Org) + len(a.Name)
	})
}

// Account implements Directory.
func (c *CachedDirectory) Account(ctx context.Context, org OrgKey, id string) (*Account, error) {
	look := func(ctx context.Context, of inOrg) (*Account, error) {
		return c.directory.Account(ctx, of.org, of.name)
	}
	return cached(ctx, c, &c.accounts, inOrg{org, id}, inOrg.clone, look, func(a *Account) (OrgKey, int) {
		return org, len(a.ID) + len(a.Org) + len(a.Person) + bytesOf(a.Roles)
	})
}

// cached returns a kept answer, or looks it up. The key is cloned before it is kept, because it
// may be a part of a whole request.
func cached[K comparable, V any](ctx context.Context, c *CachedDirectory, in *recent.Answers[K, *V], key K, clone func(K) K,
	look func(context.Context, K) (*V, error), of func(*V) (org OrgKey, bytes int)) (*V, error) {
	now := clock.Now(c.Now)
	if known, ok := in.Find(&c.of, now, key); ok {
		return known, nil
	}
	key = clone(key)
	return in.Get(ctx, &c.of, now, key, func() (found recent.Found[*V], err error) {
		if found.Value, err = look(ctx, key); err == nil && found.Value == nil {
			err = errNeither
		}
		if err == nil {
			org, bytes := of(found.Value)
			found.Group, found.Cost = string(org), 1+bytes/1024
		}
		return found, err
	})
}

// errNeither is the error for a Directory that returns neither a result nor an error.
var errNeither = errors.New("neither a result nor an error")

func bytesOf(texts []string) (bytes int) {
	for _, text := range texts {
		bytes += 16 + len(text)
	}
	return bytes
}

// Roles implements Directory. It asks for all names that it does not know in one look-up.
func (c *CachedDirectory) Roles(ctx context.Context, org OrgKey, names []string) ([]Role, error) {
	// No name that a directory knows contains NUL, so no two lists without one are the same
	// when joined. A list with a NUL is not cached.
	if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, "\x00") }) {
		return c.directory.Roles(ctx, org, names)
	}
	now := clock.Now(c.Now)
	var roles []Role
	var unknown []string
	for _, name := range names {
		switch role, ok := c.roles.Find(&c.of, now, inOrg{org, name}); {
		case !ok:
			unknown = append(unknown, strings.Clone(name))
		case role != nil:
			roles = append(slices.Grow(roles, len(names)-len(roles)), *role)
		}
	}
	if unknown == nil {
		return roles, nil
	}
	found, err := c.lists.Get(ctx, &c.of, now, inOrg{org, strings.Join(unknown, "\x00")}, func() (recent.Found[[]Role], error) {
		return c.askForRoles(ctx, org, unknown, now)
	})
	return append(roles, found...), err
}

// askForRoles keeps each role by its name, and nil for a name that no role has.
func (c *CachedDirectory) askForRoles(ctx context.Context, org OrgKey, names []string, now time.Time) (recent.Found[[]Role], error) {
	since := c.of.Forgets()
	roles, err := c.directory.Roles(ctx, org, names)
	if err != nil {
		return recent.Found[[]Role]{}, err
	}
	for _, name := range names {
		found := recent.Found[*Role]{Group: string(org), Cost: 1 + len(name)/1024}
		if i := slices.IndexFunc(roles, func(r Role) bool { return r.Name == name }); i >= 0 {
			role := roles[i]
			found.Value = &role
			found.Cost += bytesOf(role.Scope) / 1024
		}
		c.roles.Keep(&c.of, since, now, inOrg{org, name}, found)
	}
	return recent.Found[[]Role]{Value: roles, Group: string(org), Cost: recent.NotKept}, nil
}

func (k inOrg) clone() inOrg {
	return inOrg{OrgKey(strings.Clone(string(k.org))), strings.Clone(k.name)}
}
