package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tenantkit/tenantkit/scope"
)

// Roles returns the roles of this org with these names; unknown names are left
// out. The error wraps ErrUnavailable.
func (t *Tenant) Roles(ctx context.Context, names []string) ([]Role, error) {
	roles, err := t.guard.Directory.Roles(ctx, t.Org.Code, names)
	if err != nil {
		return nil, unavailable("role", err)
	}
	return roles, nil
}

// Compile makes a Set of chains, in the Guard's grammar.
func (t *Tenant) Compile(source string, chains []string) (scope.Set, error) {
	return t.guard.Scopes.Compile(source, chains...)
}

// Vet reports all that is wrong with chains that are to be granted, in the
// Guard's grammar: see scope.Grammar.Vet.
func (t *Tenant) Vet(chains []string) error { return t.guard.Scopes.Vet(chains...) }

// RoleScope returns the union of the chains of these roles, each with the
// source "role NAME". A chain that does not parse is dropped, and the Guard's
// observer is told of it; unknown names add nothing. The error wraps
// ErrUnavailable.
func (t *Tenant) RoleScope(ctx context.Context, names []string) (scope.Set, error) {
	roles, err := t.Roles(ctx, names)
	if err != nil {
		return scope.Set{}, err
	}
	var union scope.Set
	for _, role := range roles {
		if len(role.Scope) == 0 {
			continue
		}
		set, err := t.guard.roles.compile(t.guard.Scopes, inOrg{t.Org.Code, role.Name}, role.Scope)
		if err != nil {
			t.drop(fmt.Errorf("auth: role %s: %w", role.Name, err))
		}
		union = union.Union(set)
	}
	return union, nil
}

// drop notes what was left out on the way, for the observer.
func (t *Tenant) drop(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropped = errors.Join(t.dropped, err)
}

// roleSets keeps the compiled chains of roles. An entry is good for as long as
// the directory returns the same chains.
type roleSets struct {
	mu   sync.RWMutex
	sets map[inOrg]roleSet
}

type roleSet struct {
	chains []string
	set    scope.Set
	err    error
}

const maxRoleSets = 10_000

func (c *roleSets) compile(g *scope.Grammar, role inOrg, chains []string) (scope.Set, error) {
	c.mu.RLock()
	known, ok := c.sets[role]
	c.mu.RUnlock()
	if ok && slices.Equal(known.chains, chains) {
		return known.set, known.err
	}
	set, err := g.Compile("role "+role.name, chains...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sets) >= maxRoleSets {
		clear(c.sets) // refilled by the requests that come
	}
	put(&c.sets, role, roleSet{slices.Clone(chains), set, err})
	return set, err
}
