package scope

import "iter"

// intersection is what two Sets both permit. It is a part of a Set, beside lists.
type intersection struct{ a, b Set }

// maxPairs is how many pairs of chains one question about an intersection compares.
const maxPairs = 1 << 15

// Intersect returns a Set that permits what both s and t permit. It remembers both and
// compiles nothing, so decisions about an operation ask both. Overlaps and Part.IDs
// look for what a chain of s and a chain of t have in common. They compare at most
// 32,768 pairs of chains, and beyond that find nothing.
func (s Set) Intersect(t Set) Set {
	if len(s.parts) == 1 && s.parts[0].both != nil {
		both := s.parts[0].both
		s, t = both.a, both.b.Intersect(t)
	}
	x := new(struct {
		index
		intersection
	})
	x.intersection, x.both = intersection{s, t}, &x.intersection
	x.alone[0] = &x.index
	return Set{x.alone[:]}
}

func (i *intersection) covers(n *shape) bool { return i.a.covers(n) && i.b.covers(n) }

func (i *intersection) overlaps(n *shape) bool {
	for both := range i.common(n) {
		if i.b.overlaps(&both) {
			return true
		}
	}
	return i.covers(n)
}

// instances is as that of index.
func (i *intersection) instances(n *shape) (ids []string, all bool) {
	for both := range i.common(n) {
		if both.head[0] != n.head[0] {
			continue // on one type only
		}
		more, whole := i.b.instances(&both)
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

// common yields what each chain of a has in common with a need. It stops before a search
// for each in b would compare more than maxPairs.
func (i *intersection) common(n *shape) iter.Seq[shape] {
	return func(yield func(shape) bool) {
		left, each, text := maxPairs, i.b.pairs(), n.text()
		if each == 0 || i.a.pairs() > maxPairs {
			return
		}
		for c := range i.a.Chains() {
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

// chains yields what each chain of a has in common with each of b. With more than maxPairs
// pairs it yields nothing.
func (i *intersection) chains(yield func(chain, source string) bool) bool {
	if pairs := i.a.pairs() * i.b.pairs(); pairs == 0 || pairs > maxPairs {
		return true
	}
	for c, source := range i.a.Chains() {
		for d, other := range i.b.Chains() {
			both, ok := meet(c, d)
			if ok && !yield(both, source+" and "+other) {
				return false
			}
		}
	}
	return true
}

// pairs returns how many pairs of chains the intersections of s have, and how many chains
// there are in its lists. Beyond maxPairs it is maxPairs+1, so that no product overflows.
func (s Set) pairs() (n int) {
	for _, x := range s.parts {
		if n += len(x.chains); x.both != nil {
			n += x.both.a.pairs() * x.both.b.pairs()
		}
		n = min(n, maxPairs+1)
	}
	return n
}

// lists returns a Set that permits as much as s or more. It has the first Set of each
// intersection instead.
func (s Set) lists() (all Set) {
	for _, x := range s.parts {
		part := Set{[]*index{x}}
		if x.both != nil {
			part = x.both.a.lists()
		}
		all = all.Union(part)
	}
	return all
}
