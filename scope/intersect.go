package scope

import "cmp"

// maxPairs is how many pairs of chains one question about an intersection compares.
const maxPairs = 1 << 15

// Intersect returns a Set that permits what both s and t permit. It remembers both and
// compiles nothing, so decisions about an operation ask both. Overlaps and Part.IDs
// look for what a chain of s and a chain of t have in common. They compare at most
// 32,768 pairs of chains, and beyond that find nothing.
func (s Set) Intersect(t Set) Set {
	x := &index{isBoth: true, a: s, b: t}
	x.alone[0] = x
	return Set{x.alone[:]}
}

// common passes to yield what the chains of s have in common with a need, unless that can
// match nothing. It stops when yield returns false, and then returns false.
func (s Set) common(need *shape, yield func(shape) bool) bool {
	for _, part := range s.parts {
		if !part.common(need, yield) {
			return false
		}
	}
	return true
}

func (x *index) common(need *shape, yield func(shape) bool) bool {
	switch {
	case x.isBoth:
		left, each := maxPairs, x.b.pairs()
		few := x.a.common(need, func(shape) bool {
			left -= each
			return left >= 0
		})
		return !few || x.a.common(need, func(both shape) bool { return x.b.common(&both, yield) })
	case x.all != 0:
		return need.matchesNothing() || yield(*need)
	}
	return x.meet(nodeID(need.root), need, 0, need.rest, yield)
}

// meet passes to yield what the chains from a node on have in common with a need, of which
// the rest from the given depth on is left.
func (x *index) meet(at nodeID, need *shape, depth int, rest string, yield func(shape) bool) bool {
	n := &x.nodes[at]
	for c, end := range n.ends {
		if end == 0 || need.column != column(c) && need.column != columnAny {
			continue
		}
		both, ok := x.grants[end-1].meet(need)
		if ok && !both.matchesNothing() && !yield(both) {
			return false
		}
	}
	s, rest := need.step(depth, rest)
	next := [...]nodeID{n.star, 0, 0}
	if s != "" && s != "*" {
		base, _, typed := cut(s, '#')
		if next[1] = x.edge(at, s); typed {
			next[2] = x.edge(at, base)
		}
	}
	for _, to := range next {
		if to != 0 && !x.meet(to, need, depth+1, rest, yield) {
			return false
		}
	}
	if s != "" && s != "*" && !n.typed {
		return true
	}
	for to := n.child; to != 0; to = x.nodes[to].sibling { // what s covers, beside itself
		if segment := x.nodes[to].segment; segment != s && segmentCovers(cmp.Or(s, "*"), segment) && !x.meet(to, need, depth+1, rest, yield) {
			return false
		}
	}
	return true
}

// each passes to yield each chain of s with its source, and for an intersection what each
// chain of one Set has in common with each of the other. If these are too many pairs, it
// passes nothing, or with more the chains of the first Set, which permit as much or more.
func (s Set) each(more bool, yield func(chain grant, source string) bool) bool {
	for _, x := range s.parts {
		switch {
		case x.isBoth && x.pairs() <= maxPairs:
			if !x.a.each(more, func(c grant, source string) bool {
				return x.b.each(more, func(d grant, other string) bool {
					both, ok := c.meet(&d.shape)
					return !ok || yield(grant{shape: both}, source+" and "+other)
				})
			}) {
				return false
			}
		case more && !x.a.each(more, yield):
			return false
		}
		for i := range x.grants {
			if !yield(x.grants[i], x.source) {
				return false
			}
		}
	}
	return true
}

// pairs returns how many chains a list has, or how many pairs of chains an intersection
// has. Beyond maxPairs it is more than that, but no product overflows.
func (x *index) pairs() int { return len(x.grants) + x.a.pairs()*x.b.pairs() }

func (s Set) pairs() (n int) {
	for _, x := range s.parts {
		n = min(n+x.pairs(), maxPairs+1)
	}
	return n
}
