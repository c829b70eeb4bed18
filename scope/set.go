package scope

import (
	"iter"
	"slices"
)

// Set is a compiled list of chains, the union of several such lists, or what two Sets
// both permit. It is immutable, cheap to copy and safe for concurrent use. The zero Set
// permits nothing.
type Set struct {
	parts []*index // permit what one of them permits
}

// Unscoped returns the Set of a caller that no scope limits, such as a session or a
// signed request. Its one chain has the source "unscoped".
func Unscoped() Set { return unscoped }

var unscoped, _ = Compile("unscoped", "*")

// Union returns a Set that permits what s or t permits. It compiles nothing again.
func (s Set) Union(t Set) Set {
	if len(s.parts) == 0 {
		return t
	}
	if len(t.parts) == 0 {
		return s
	}
	parts := append(make([]*index, 0, len(s.parts)+len(t.parts)), s.parts...)
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
	for _, x := range s.parts {
		if x.isBoth && x.a.covers(n) && x.b.covers(n) || !x.isBoth && x.allowing(n) != 0 {
			return true
		}
	}
	return false
}

// Overlaps reports whether any part of n is permitted, such as one instance of many or
// one property of an object. It is true whenever Allows is.
func (s Set) Overlaps(n Need) bool {
	return n.Valid() && (s.Allows(n) || !s.common(&n.shape, func(shape) bool { return false }))
}

// Missing returns the chains of t, in canonical form, that no chain of s covers, each once. A minter whose
// scope is s may not give them to a token. Chains that can match nothing permit nothing
// and are never missing. An intersection with too many pairs of chains is taken for
// its first Set.
func (s Set) Missing(t Set) []string {
	var missing []string
	seen := map[string]bool{}
	t.each(true, func(c grant, _ string) bool {
		if c.matchesNothing() || s.covers(&c.shape) || seen[c.chain()] {
			return true
		}
		seen[c.chain()] = true
		missing = append(missing, c.chain())
		return true
	})
	return missing
}

// Chains yields each chain in canonical form with its source, in the order given. For an intersection it
// yields what each chain of one Set has in common with each of the other. That may be a
// chain more than once. An intersection of more than 32,768 pairs of chains yields none.
func (s Set) Chains() iter.Seq2[string, string] {
	return func(yield func(chain, source string) bool) {
		s.each(false, func(c grant, source string) bool { return yield(c.chain(), source) })
	}
}

// Unknown yields each chain that was dropped because the grammar does not know its root,
// with its source. The chain is as it was given.
func (s Set) Unknown() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) { s.eachUnknown(yield) }
}

func (s Set) eachUnknown(yield func(string, string) bool) bool {
	for _, part := range s.parts {
		for _, chain := range part.unknown {
			if !yield(chain, part.source) {
				return false
			}
		}
		if !part.a.eachUnknown(yield) || !part.b.eachUnknown(yield) {
			return false
		}
	}
	return true
}
