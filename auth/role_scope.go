package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	err := t.guard.Scopes.Vet(chains...)
	if err == nil {
		return nil
	}
	all := []error{err} // of too many chains
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	e := &Error{Detail: DetailInvalidScope, Err: err}
	for _, err := range all[:min(len(all), maxExcess)] {
		if wrong, ok := errors.AsType[*scope.SyntaxError](err); ok {
			e.Faults = append(e.Faults, &Error{Detail: e.Detail, Path: fmt.Sprintf("%s[%d]", path, wrong.Index), Reason: wrong.Reason()})
		}
	}
	return e
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
	known := t.guard.recorded.compile(t.guard.Scopes, source{string(t.Org.Key()), kind, name}, chains)
	if known.err != nil {
		t.notesOf().drop(fmt.Errorf("auth: %s %s: %w", kind, name, known.err))
	}
	return known.set
}

// recordedSets caches what was compiled for records of all orgs. Each org has a share: see
// recent.Groups. Entries have no age, so the time is always the same.
type recordedSets struct {
	of   recent.Groups
	sets recent.Answers[source, recordedSet]
}

type source struct{ org, kind, name string }

// maxSets limits what the cache holds, in KiB.
const maxSets = 64 << 10

// recordedSet is valid while its record has the same chains.
type recordedSet struct {
	chains []string
	set    scope.Set
	err    error
}

func (c *recordedSets) compile(g *scope.Grammar, of source, chains []string) recordedSet {
	known, ok := c.sets.Find(&c.of, time.Time{}, of)
	if ok && slices.Equal(known.chains, chains) {
		return known
	}
	// Those of a token are parts of its text, which may be much longer.
	of.name = strings.Clone(of.name)
	kept := make([]string, len(chains))
	for i, chain := range chains {
		kept[i] = strings.Clone(chain)
	}
	set, err := g.Compile(of.kind+" "+of.name, kept...)
	known = recordedSet{kept, set, err}
	c.sets.Keep(&c.of, 0, time.Time{}, of, recent.Found[recordedSet]{Value: known, Group: of.org, Cost: 1 + (len(of.name)+sizeOf(kept))/1024})
	return known
}

// sizeOf returns about how many bytes a compiled list takes at most: its strings, and for
// each segment a node with its entry in a map.
func sizeOf(chains []string) (bytes int) {
	for _, chain := range chains {
		bytes += 64 + len(chain) + 160*(1+strings.Count(chain, "."))
	}
	return bytes
}
