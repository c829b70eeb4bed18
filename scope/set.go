package scope

import (
	"iter"
	"slices"
)

// Set is a compiled list of chains, the union of several such lists, or what several such unions
// all permit. It is immutable, cheap to copy and safe for concurrent use. The zero Set
// permits nothing.
type Set struct {
	// One of the parts must permit an operation, and if there are nils between them, one before and
	// one after each nil.
	parts []*index
}

// Unscoped returns the Set of a caller that no scope limits, such as a session or a
// signed request. Its one chain has the source "unscoped".
func Unscoped() Set { return unscoped }

var unscoped, _ = Compile("unscoped", "*")

// Union returns a Set that permits what s or t permits. It compiles nothing again.
func (s Set) Union(t Set) Set {
	if first, others, both := s.split(); both {
		return first.Union(t).Intersect(others.Union(t))
	}
	if first, others, both := t.split(); both {
		return s.Union(first).Intersect(s.Union(others))
	}
	if len(s.parts) == 0 {
		return t
	}
	parts := slices.Clip(s.parts)
	for _, part := range t.parts {
		if !slices.Contains(s.parts, part) {
			parts = append(parts, part)
		}
	}
	return Set{parts}
}

// Allows reports whether one chain permits the whole of n. It does not allocate.
func (s Set) Allows(n Need) bool { return s.covers(&n.shape) }

func (s Set) covers(n *shape) bool {
	covered := false
	for _, part := range s.parts {
		switch {
		case part != nil:
			covered = covered || part.allowing(n) != 0
		case !covered:
			return false
		default:
			covered = false
		}
	}
	return covered
}

// Overlaps reports whether any part of n is permitted, such as one instance of many or
// one property of an object. It is true whenever Allows is.
func (s Set) Overlaps(n Need) bool { return s.overlaps(&n.shape) }

func (s Set) overlaps(n *shape) bool {
	first, others, both := s.split()
	if both {
		return first.overlapsWith(others, *n) || s.covers(n)
	}
	for _, part := range s.parts {
		if part.overlapping(n) {
			return true
		}
	}
	return false
}

// overlapsWith reports whether s, a union, and others permit something of a need in common.
func (s Set) overlapsWith(others Set, n shape) bool {
	for common := range s.common(others, &n) {
		if others.overlaps(&common) {
			return true
		}
	}
	return false
}

// instances returns the identifiers of the instances of which some part of the need is permitted.
// all reports whether that is every instance that the need means.
func (s Set) instances(n *shape) (ids []string, all bool) {
	first, others, both := s.split()
	if both {
		return first.instancesWith(others, n)
	}
	for _, part := range s.parts {
		more, whole := part.instances(n)
		if whole {
			return nil, true
		}
		ids = append(ids, more...)
	}
	return ids, false
}

// instancesWith is instances of what s, a union, and others permit.
func (s Set) instancesWith(others Set, n *shape) (ids []string, all bool) {
	for both := range s.common(others, n) {
		if both.head[0] != n.head[0] {
			continue // on one type only
		}
		more, whole := others.instances(&both)
		switch {
		case whole && (both.isEvery() || !n.isEvery()):
			return nil, true
		case whole:
			more = []string{both.head[1]}
		}
		ids = append(ids, more...)
	}
	return ids, false
}

// Missing returns the chains of t, in canonical form, that no chain of s covers, each once. A minter whose
// scope is s may not give them to a token. Chains that can match nothing permit nothing
// and are never missing. An intersection with too many pairs of chains is taken for
// its first Set.
func (s Set) Missing(t Set) []string {
	if first, _, both := t.split(); both && t.pairs() > maxPairs {
		t = first
	}
	var missing []string
	seen := map[string]bool{}
	for c := range t.Chains() {
		grant := shapeOf(c)
		if grant.matchesNothing() || s.covers(&grant) || seen[c] {
			continue
		}
		seen[c] = true
		missing = append(missing, c)
	}
	return missing
}

// Chains yields each chain in canonical form with its source, in the order given. For an intersection it
// yields what each chain of one Set has in common with each of the other. That may be a
// chain more than once. An intersection of more than 32,768 pairs of chains yields none.
func (s Set) Chains() iter.Seq2[string, string] {
	first, others, both := s.split()
	if both && s.pairs() > maxPairs {
		return Set{}.Chains()
	}
	return func(yield func(chain, source string) bool) {
		for _, part := range first.parts {
			for _, chain := range part.chains {
				if !both && !yield(chain, part.source) || both && !others.meets(chain, part.source, yield) {
					return
				}
			}
		}
	}
}

// meets yields what a chain has in common with each of s.
func (s Set) meets(chain, source string, yield func(chain, source string) bool) bool {
	for c, other := range s.Chains() {
		if both, ok := meet(chain, c); ok && !yield(both, source+" and "+other) {
			return false
		}
	}
	return true
}

// Unknown yields each chain that was dropped because the grammar does not know its root,
// with its source. The chain is as it was given.
func (s Set) Unknown() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, part := range s.parts {
			if part == nil {
				continue
			}
			for _, chain := range part.unknown {
				if !yield(chain, part.source) {
					return
				}
			}
		}
	}
}
