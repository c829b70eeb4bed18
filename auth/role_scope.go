package auth

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/internal/recent"
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
	set, err := compileOnce(&t.guard.recorded, t.guard.Scopes, source{string(t.Org.Key()), kind, name}, chains)
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
	set, err := intersectOnce(&t.guard.narrowed, source{string(t.Org.Key()), kind, name}, record, roles)
	if err != nil {
		t.notesOf().drop(fmt.Errorf("auth: %s %s: %w", kind, name, err))
	}
	return set
}

// sets caches compiled Sets of all orgs. Each org has a share: see recent.Groups. An entry is
// valid while the record that it is of is the same.
type sets[T any] struct {
	of   recent.Groups
	sets recent.Answers[source, T]
}

type source struct{ org, kind, name string }

// maxSets limits what each cache of Sets holds, in KiB.
const maxSets = 64 << 10

func (c *sets[T]) init() { c.of.Stale, c.of.Limit = 1, maxSets }

// find returns an entry. Entries have no age, so the time is always the same.
func (c *sets[T]) find(of source) (known T, ok bool) { return c.sets.Find(&c.of, time.Time{}, of) }

func (c *sets[T]) keep(of source, value T, bytes int) {
	c.sets.Keep(&c.of, 0, time.Time{}, of, recent.Found[T]{Value: value, Group: of.org, Cost: 1 + bytes/1024})
}

type recordedSet struct {
	chains []string
	set    scope.Set
	err    error
}

type narrowedSet struct {
	record, roles, both scope.Set
	err                 error
}

func compileOnce(c *sets[recordedSet], g *scope.Grammar, of source, chains []string) (scope.Set, error) {
	known, ok := c.find(of)
	if ok && slices.Equal(known.chains, chains) {
		return known.set, known.err
	}
	set, err := g.Compile(of.kind+" "+of.name, chains...)
	c.keep(of, recordedSet{slices.Clone(chains), set, err}, set.Size()+bytesOf(chains))
	return set, err
}

func intersectOnce(c *sets[narrowedSet], of source, record, roles scope.Set) (scope.Set, error) {
	known, ok := c.find(of)
	if ok && known.record.Is(record) && known.roles.Is(roles) {
		return known.both, known.err
	}
	both, err := record.Intersect(roles)
	// The Sets that it is of are kept alive, too, even if their records have changed.
	c.keep(of, narrowedSet{record, roles, both, err}, both.Size()+record.Size()+roles.Size())
	return both, err
}
