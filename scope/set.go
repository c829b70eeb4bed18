package scope

import (
	"iter"
	"slices"
)

// Set is a compiled list of chains, or several of them seen as one. It cannot
// be altered, is cheap to copy and safe for concurrent use. The zero Set
// permits nothing.
type Set struct {
	parts []*index
}

// Unscoped returns the Set of a caller that no scope limits, such as a session
// or a signed request. Its one chain has the source "unscoped".
func Unscoped() Set { return unscoped }

var unscoped, _ = Compile("unscoped", "*")

// Union returns a Set that permits what s or t permits. It is a view: nothing
// is compiled again.
func (s Set) Union(t Set) Set {
	if len(s.parts) == 0 {
		return t
	}
	if len(t.parts) == 0 {
		return s
	}
	parts := make([]*index, len(s.parts), len(s.parts)+len(t.parts))
	copy(parts, s.parts)
	for _, part := range t.parts {
		if !slices.Contains(s.parts, part) {
			parts = append(parts, part)
		}
	}
	return Set{parts}
}

// Allows tells whether one chain permits the whole of n. It does not allocate.
func (s Set) Allows(n Need) bool { return s.covers(&n.shape) }

func (s Set) covers(n *shape) bool {
	for _, part := range s.parts {
		if part.allowing(n) != 0 {
			return true
		}
	}
	return false
}

// Overlaps tells whether any part of n is permitted: one instance of many, one
// property of an object. It is true whenever Allows is.
func (s Set) Overlaps(n Need) bool {
	for _, part := range s.parts {
		if part.overlapping(&n.shape) {
			return true
		}
	}
	return false
}

// Missing returns the chains of t that no chain of s covers, each once: by
// them a token would exceed its minter. Chains that can match nothing permit
// nothing and are never missing.
func (s Set) Missing(t Set) []Chain {
	var missing []Chain
	seen := map[Chain]bool{}
	for c := range t.Chains() {
		grant := shapeOf(c.text)
		if grant.matchless() || s.covers(&grant) || seen[c] {
			continue
		}
		seen[c] = true
		missing = append(missing, c)
	}
	return missing
}

// Chains yields each chain with its source, in the order given.
func (s Set) Chains() iter.Seq2[Chain, string] {
	return func(yield func(Chain, string) bool) {
		for _, part := range s.parts {
			for _, c := range part.chains {
				if !yield(c, part.source) {
					return
				}
			}
		}
	}
}

// Unknown yields each chain that was dropped because the grammar does not know
// its root, as it was given, with its source.
func (s Set) Unknown() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, part := range s.parts {
			for _, c := range part.unknown {
				if !yield(c, part.source) {
					return
				}
			}
		}
	}
}
