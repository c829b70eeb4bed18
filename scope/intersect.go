package scope

import (
	"iter"
	"slices"
)

// maxPairs is how many pairs of chains one question about an intersection compares.
const maxPairs = 1 << 15

// Intersect returns a Set that permits what both s and t permit. It remembers both and
// compiles nothing, so decisions about an operation ask both. Overlaps and Part.IDs
// look for what a chain of s and a chain of t have in common. They compare at most
// 32,768 pairs of chains, and beyond that find nothing.
func (s Set) Intersect(t Set) Set { return Set{slices.Concat(s.parts, between, t.parts)} }

// between separates the unions of an intersection.
var between = []*index{nil}

// split returns the first union of s, and the Set of the others. both is false without others.
func (s Set) split() (first, others Set, both bool) {
	i := slices.Index(s.parts, nil)
	if i < 0 {
		return s, Set{}, false
	}
	return Set{s.parts[:i]}, Set{s.parts[i+1:]}, true
}

// common yields what each chain of s, a union, has in common with a need. It stops before a search
// for each in others would compare more than maxPairs.
func (s Set) common(others Set, n *shape) iter.Seq[shape] {
	return func(yield func(shape) bool) {
		left, each, text := maxPairs, others.pairs(), n.text()
		for c := range s.Chains() {
			common, ok := meet(c, text)
			if !ok {
				continue
			}
			if left -= each; left < 0 {
				return
			}
			if both := shapeOf(common); !both.matchesNothing() && !yield(both) {
				return
			}
		}
	}
}

// pairs is how many chains there are in a union, and how many pairs of them in an intersection.
// Beyond maxPairs it is maxPairs+1, so that no product overflows.
func (s Set) pairs() int {
	first, others, both := s.split()
	n := 0
	for _, x := range first.parts {
		n += len(x.chains)
	}
	if both {
		n *= others.pairs()
	}
	return min(n, maxPairs+1)
}
