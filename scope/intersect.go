package scope

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
	if x.isBoth {
		left, each := maxPairs, x.b.pairs()
		few := x.a.common(need, func(shape) bool {
			left -= each
			return left >= 0
		})
		return !few || x.a.common(need, func(both shape) bool { return x.b.common(&both, yield) })
	}
	for i := range x.grants {
		both, ok := x.grants[i].meet(need)
		if ok && !both.matchesNothing() && !yield(both) {
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
