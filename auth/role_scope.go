package auth

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/tenantkit/tenantkit/scope"
)

// Compile makes a Set from chains, in the Guard's grammar.
func (t *Tenant) Compile(source string, chains []string) (scope.Set, error) {
	return t.guard.Scopes.Compile(source, chains...)
}

// Vet refuses chains that must not be granted, in the Guard's grammar: those that do not
// parse, and those that can match nothing (see scope.Grammar.Vet). The error has
// DetailInvalidScope and a child for each wrong chain, up to 32. The Path of a child is path
// with the chain's index: scope[2].
func (t *Tenant) Vet(path string, chains []string) error {
	return ScopeError(path, t.guard.Scopes.Vet(chains...))
}

// ScopeError makes an *Error of the *scope.SyntaxErrors that err joins, as Tenant.Vet does.
// It returns nil for nil.
func ScopeError(path string, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Detail: DetailInvalidScope, Err: err}
	for i, problem := range syntaxErrors(err) {
		if i == maxExcess {
			break
		}
		e.Faults = append(e.Faults, &Error{
			Detail: DetailInvalidScope,
			Path:   fmt.Sprintf("%s[%d]", path, problem.Index),
			Reason: problem.Reason(),
		})
	}
	return e
}

// syntaxErrors returns all *scope.SyntaxErrors that are joined in an error.
func syntaxErrors(err error) (found []*scope.SyntaxError) {
	switch e := err.(type) {
	case *scope.SyntaxError:
		return []*scope.SyntaxError{e}
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			found = append(found, syntaxErrors(part)...)
		}
	case interface{ Unwrap() error }:
		return syntaxErrors(e.Unwrap())
	}
	return found
}

// RoleScope returns the union of the chains of these roles, each with the source "role NAME".
// It drops a chain that does not parse, and informs the Guard's observer. Unknown names add
// nothing. The error wraps ErrUnavailable.
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
		union = union.Union(t.CompileRecord("role", role.Name, role.Scope))
	}
	return union, nil
}

// CompileRecord returns the Set of the chains in a record of this org. It compiles them once
// while they stay the same. kind and name identify the record, such as "role" and the role's
// name, and are the source of its chains. A chain that does not parse is dropped, which only
// narrows the Set. The Guard's observer is informed of it.
func (t *Tenant) CompileRecord(kind, name string, chains []string) scope.Set {
	set, err := t.guard.recorded.compile(t.guard.Scopes, source{t.Org.Key(), kind, name}, chains)
	if err != nil {
		t.notesOf().drop(fmt.Errorf("auth: %s %s: %w", kind, name, err))
	}
	return set
}

// Narrow returns what both a record of this org and its caller's roles permit. roles is the
// result of RoleScope, and kind and name identify the record together with the caller. Narrow
// intersects the two once while they stay the same. If they have too many chains (see
// scope.Set.Intersect), nothing is permitted, and the Guard's observer is informed.
func (t *Tenant) Narrow(kind, name string, record, roles scope.Set) scope.Set {
	set, err := t.guard.narrowed.intersect(source{t.Org.Key(), kind, name}, record, roles)
	if err != nil {
		t.notesOf().drop(fmt.Errorf("auth: %s %s: %w", kind, name, err))
	}
	return set
}

// recordedSets caches the compiled chains of records, by their sources. An entry is valid
// while the record holds the same chains.
type recordedSets struct {
	mu   sync.RWMutex
	sets map[source]recordedSet
}

type source struct{ org, kind, name string }

type recordedSet struct {
	chains []string
	set    scope.Set
	err    error
}

const maxRecordedSets = 10_000

// narrowedSets caches intersections, by the names of their first Sets.
type narrowedSets struct {
	mu     sync.RWMutex
	sets   map[source]narrowedSet
	chains int // of all intersections together
}

// maxNarrowedChains limits what the cache holds to about 100 MB: two lists of 64 chains can
// have 4096 in common, for each account that a credential acts as.
const maxNarrowedChains = 100_000

type narrowedSet struct {
	record, roles, both scope.Set
	chains              int // of both
	err                 error
}

func (c *narrowedSets) intersect(of source, record, roles scope.Set) (scope.Set, error) {
	c.mu.RLock()
	known, ok := c.sets[of]
	c.mu.RUnlock()
	if ok && known.record.Is(record) && known.roles.Is(roles) {
		return known.both, known.err
	}
	both, err := record.Intersect(roles)
	c.put(of, narrowedSet{record, roles, both, countChains(both), err})
	return both, err
}

func (c *narrowedSets) put(of source, n narrowedSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	chains := c.chains + n.chains - c.sets[of].chains
	if c.sets == nil || len(c.sets) >= maxRecordedSets || chains > maxNarrowedChains {
		c.sets, chains = map[source]narrowedSet{}, n.chains // the next requests fill it again
	}
	c.sets[of], c.chains = n, chains
}

func countChains(s scope.Set) (n int) {
	for range s.Chains() {
		n++
	}
	for range s.Unknown() {
		n++
	}
	return n
}

func (c *recordedSets) compile(g *scope.Grammar, of source, chains []string) (scope.Set, error) {
	c.mu.RLock()
	known, ok := c.sets[of]
	c.mu.RUnlock()
	if ok && slices.Equal(known.chains, chains) {
		return known.set, known.err
	}
	set, err := g.Compile(of.kind+" "+of.name, chains...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sets == nil || len(c.sets) >= maxRecordedSets {
		c.sets = map[source]recordedSet{} // the next requests fill it again
	}
	c.sets[of] = recordedSet{slices.Clone(chains), set, err}
	return set, err
}
