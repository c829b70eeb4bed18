package scope

import (
	"iter"
	"slices"
)

// Set is a compiled list of chains, the union of several such lists, or what two Sets
// both permit. It is immutable, cheap to copy and safe for concurrent use. The zero Set
// permits nothing.
type Set struct {
	parts []*index
	also  *Set // if not nil, this Set must permit the same
}

// Unscoped returns the Set of a caller that no scope limits, such as a session or a
// signed request. Its one chain has the source "unscoped".
func Unscoped() Set { return unscoped }

var unscoped, _ = Compile("unscoped", "*")

// Union returns a Set that permits what s or t permits. It compiles nothing again.
func (s Set) Union(t Set) Set {
	switch {
	case len(s.parts) == 0:
		return t
	case len(t.parts) == 0:
		return s
	case s.also == nil && t.also == nil:
		return Set{parts: union(s.parts, t.parts)}
	}
	// What (a and b) or (c and d) permits is what all of a or c, a or d, b or c, and b or d
	// permit.
	var all Set
	for a := range s.each() {
		for b := range t.each() {
			all = Set{union(a.parts, b.parts), all.orNil()}
		}
	}
	return all
}

func union(s, t []*index) []*index {
	parts := make([]*index, len(s), len(s)+len(t))
	copy(parts, s)
	for _, part := range t {
		if !slices.Contains(s, part) {
			parts = append(parts, part)
		}
	}
	return parts
}

// Intersect returns a Set that permits what both s and t permit. It remembers both and
// compiles nothing. So decisions about an operation ask both. Overlaps and Grant.IDs
// look for what a chain of s and a chain of t have in common. They compare at most
// 32,768 pairs of chains, and beyond that find nothing.
func (s Set) Intersect(t Set) Set {
	if s.also != nil {
		t = s.also.Intersect(t)
	}
	return Set{s.parts, &t}
}

// maxPairs is how many pairs of chains one question compares.
const maxPairs = 1 << 15

// each yields the unions of lists that must all permit an operation.
func (s Set) each() iter.Seq[Set] {
	return func(yield func(Set) bool) {
		for t := &s; t != nil && yield(Set{parts: t.parts}); t = t.also {
		}
	}
}

func (s Set) orNil() *Set {
	if s.parts == nil {
		return nil
	}
	return &s
}

// pairs returns how many combinations there are of one chain of each union.
func (s *Set) pairs() int {
	n := 0
	for _, part := range s.parts {
		n += len(part.chains)
	}
	if s.also != nil {
		n = min(n*s.also.pairs(), 2*maxPairs)
	}
	return n
}

// Allows reports whether one chain permits the whole of n. It does not allocate.
func (s Set) Allows(n Need) bool { return s.covers(&n.shape) }

func (s *Set) covers(n *shape) bool {
	for ; s != nil; s = s.also {
		if !slices.ContainsFunc(s.parts, func(x *index) bool { return x.allowing(n) != 0 }) {
			return false
		}
	}
	return true
}

// Overlaps reports whether any part of n is permitted, such as one instance of many or
// one property of an object. It is true whenever Allows is.
func (s Set) Overlaps(n Need) bool { return s.overlaps(&n.shape) }

func (s *Set) overlaps(n *shape) bool {
	if s.also == nil {
		return slices.ContainsFunc(s.parts, func(x *index) bool { return x.overlapping(n) })
	}
	if s.covers(n) {
		return true
	}
	for both := range s.common(n) {
		if s.also.overlaps(&both) {
			return true
		}
	}
	return false
}

// instances is as that of index.
func (s *Set) instances(n *shape) (ids []string, all bool) {
	if s.also == nil {
		for _, part := range s.parts {
			more, whole := part.instances(n)
			if whole {
				return nil, true
			}
			ids = append(ids, more...)
		}
		return ids, false
	}
	for both := range s.common(n) {
		if both.head[0] != n.head[0] {
			continue // on one type only
		}
		more, whole := s.also.instances(&both)
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

// common yields what each chain of the first lists has in common with a need. It stops
// before a search for each in the other lists would compare more than maxPairs.
func (s *Set) common(n *shape) iter.Seq[shape] {
	return func(yield func(shape) bool) {
		left, each, text := maxPairs, s.also.pairs(), n.text()
		for _, part := range s.parts {
			for _, c := range part.chains {
				common, ok := meet(c.text, text)
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
}

// Missing returns the chains of t that no chain of s covers, each once. A minter whose
// scope is s may not give them to a token. Chains that can match nothing permit nothing
// and are never missing. If t is an intersection with too many pairs of chains, Missing
// takes it for its first Set.
func (s Set) Missing(t Set) []Chain {
	if t.pairs() > maxPairs {
		t.also = nil
	}
	var missing []Chain
	seen := map[Chain]bool{}
	for c := range t.Chains() {
		grant := shapeOf(c.text)
		if grant.matchesNothing() || s.covers(&grant) || seen[c] {
			continue
		}
		seen[c] = true
		missing = append(missing, c)
	}
	return missing
}

// Chains yields each chain with its source, in the order given. For an intersection it
// yields what each chain of one Set has in common with each of the other. That may be a
// chain more than once.
func (s Set) Chains() iter.Seq2[Chain, string] {
	list := func(x *index) []Chain { return x.chains }
	if s.also == nil {
		return sourced(s.parts, list)
	}
	return func(yield func(Chain, string) bool) {
		for c, source := range sourced(s.parts, list) {
			for d, other := range s.also.Chains() {
				both, ok := meet(c.text, d.text)
				if ok && !yield(Chain{both}, source+" and "+other) {
					return
				}
			}
		}
	}
}

// Unknown yields each chain that was dropped because the grammar does not know its root,
// with its source. The chain is as it was given.
func (s Set) Unknown() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for each := range s.each() {
			for chain, source := range sourced(each.parts, func(x *index) []string { return x.unknown }) {
				if !yield(chain, source) {
					return
				}
			}
		}
	}
}

// sourced yields the elements that list returns for each part, with the source of the
// part.
func sourced[T any](parts []*index, list func(*index) []T) iter.Seq2[T, string] {
	return func(yield func(T, string) bool) {
		for _, part := range parts {
			for _, each := range list(part) {
				if !yield(each, part.source) {
					return
				}
			}
		}
	}
}
