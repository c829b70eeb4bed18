package scope

import "strings"

// index is one compiled list of chains: a trie with a level for each segment
// behind the verb, its edges in one hash table.
//
// A check is two probes at best (object name, identifier), whatever the number
// of chains, and a map for each node would cost twice the time. The verb is
// not a level but a column of each node, which halves the probes where grants
// name verbs and *; and since a node names the chain that ends at it and one
// that passes through it, Explain and Overlaps are the same walk as Allows.
// Where literals, stars and types lead on together a walk branches, but it
// stays within the trie, and so within the size of the list.
type index struct {
	source  string
	chains  []Chain
	unknown []string
	live    link   // the first chain that can match
	all     link   // one that is everything
	nodes   []node // the first are the roots, by number; 0 is none
	slots   []id   // open addressing, a power of two, at most half full
}

// link is a number of a chain counted from 1; 0 is none.
type link uint16

// id is a place in nodes. A list has at most maxChains·maxSegments of them.
type id uint16

type node struct {
	segment string
	hash    uint64 // of parent and segment together
	parent  id
	star    id // the edge *
	child   id // the first of the other edges; the next is its sibling
	sibling id
	typed   bool          // some child has a type
	ends    [columns]link // the first chain that ends here
	passes  [columns]link // the first that ends here or below and can match
}

func newIndex(source string, chains int) *index {
	x := &index{source: source, chains: make([]Chain, 0, chains)}
	x.nodes = make([]node, indexed, int(indexed)+chains+chains/4+2)
	size := 8
	for size < 2*cap(x.nodes) {
		size *= 2
	}
	x.slots = make([]id, size)
	return x
}

// edge returns the node that a segment other than * leads to.
func (x *index) edge(parent id, h uint64, segment string) id {
	mask := uint64(len(x.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		at := x.slots[i]
		// The hash only finds: what grants is the segment itself.
		if n := &x.nodes[at]; at == 0 || n.hash == h && n.parent == parent && n.segment == segment {
			return at
		}
	}
}

func (x *index) insert(n id) {
	mask := uint64(len(x.slots) - 1)
	i := x.nodes[n].hash & mask
	for x.slots[i] != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = n
}

func (x *index) grow() {
	x.slots = make([]id, 2*len(x.slots))
	for n := int(indexed); n < len(x.nodes); n++ {
		if x.nodes[n].segment != "*" {
			x.insert(id(n))
		}
	}
}

// lead returns the node that the segment leads to, and makes it if need be.
func (x *index) lead(parent id, h uint64, segment string) id {
	if segment == "*" {
		if x.nodes[parent].star == 0 {
			x.nodes = append(x.nodes, node{segment: segment, hash: h, parent: parent})
			x.nodes[parent].star = id(len(x.nodes) - 1)
		}
		return x.nodes[parent].star
	}
	if n := x.edge(parent, h, segment); n != 0 {
		return n
	}
	n := id(len(x.nodes))
	up := &x.nodes[parent]
	made := node{segment: segment, hash: h, parent: parent, sibling: up.child}
	up.child = n
	up.typed = up.typed || strings.IndexByte(segment, '#') >= 0
	x.nodes = append(x.nodes, made)
	if 2*len(x.nodes) > len(x.slots) {
		x.grow()
	} else {
		x.insert(n)
	}
	return n
}

func (x *index) add(s *shape, text string) {
	x.chains = append(x.chains, Chain{text})
	if s.matchless() {
		return
	}
	chain := link(len(x.chains))
	if x.live == 0 {
		x.live = chain
	}
	if s.root == rootAll {
		x.all = chain
		return
	}
	at, h := id(s.root), uint64(s.root)
	x.pass(at, s, chain)
	next, rest := s.step(0, s.rest)
	for depth := 1; next.text != ""; depth++ {
		h = way(h, next.hash)
		at = x.lead(at, h, next.text)
		x.pass(at, s, chain)
		next, rest = s.step(depth, rest)
	}
	for c := range s.columns() {
		if ends := &x.nodes[at].ends[c]; *ends == 0 {
			*ends = chain
		}
	}
}

func (x *index) pass(at id, s *shape, chain link) {
	for c := range s.columns() {
		if passes := &x.nodes[at].passes[c]; *passes == 0 && !s.matchlessIn(c) {
			*passes = chain
		}
	}
}

// allowing returns the chain that covers the need, or 0.
func (x *index) allowing(need *shape) link {
	root := need.root
	switch {
	case root == rootNone:
		return 0
	case x.all != 0 || root >= indexed:
		return x.all
	}
	// Where neither a star nor a type can lead on as well, there is but one way.
	at, h, s := id(root), uint64(root), &need.head[0]
	for depth := range head {
		n := &x.nodes[at]
		if end := n.ends[need.column]; end != 0 || at == 0 {
			return end
		}
		if s.text == "" || n.star != 0 || need.typed {
			return x.match(at, h, need, depth, need.rest)
		}
		h = way(h, s.hash)
		at, s = x.edge(at, h, s.text), &need.head[1]
	}
	if need.rest == "" {
		return x.nodes[at].ends[need.column]
	}
	return x.match(at, h, need, head, need.rest)
}

// match returns the chain that covers what remains of the need, from the given
// depth on, or 0.
func (x *index) match(at id, h uint64, need *shape, depth int, rest string) link {
	n := &x.nodes[at]
	if end := n.ends[need.column]; end != 0 || at == 0 {
		return end
	}
	s, rest := need.step(depth, rest)
	if s.text == "" {
		return 0
	}
	literal := way(h, s.hash)
	if end := x.match(x.edge(at, literal, s.text), literal, need, depth+1, rest); end != 0 {
		return end
	}
	if base, _, found := cut(s.text, '#'); found {
		h2 := way(h, hash(base))
		if end := x.match(x.edge(at, h2, base), h2, need, depth+1, rest); end != 0 {
			return end
		}
	}
	return x.match(n.star, way(h, star.hash), need, depth+1, rest)
}

// hop is a step of a walk: a node, 0 when there is none, and its hash.
type hop struct {
	at id
	h  uint64
}

// hops returns the nodes whose edges cover the segment.
func (x *index) hops(at id, h uint64, s segment) [3]hop {
	literal := way(h, s.hash)
	hops := [3]hop{{x.edge(at, literal, s.text), literal}, {x.nodes[at].star, way(h, star.hash)}}
	if base, _, found := cut(s.text, '#'); found {
		h = way(h, hash(base))
		hops[2] = hop{x.edge(at, h, base), h}
	}
	return hops
}

// nearest returns the chain that shares the longest way with the need, and the
// depth up to which it does; -1 when no chain comes by.
func (x *index) nearest(at id, h uint64, need *shape, depth int, rest string) (link, int) {
	chain := x.nodes[at].passing(need.column)
	if chain == 0 {
		return 0, -1
	}
	s, rest := need.step(depth, rest) // behind its end a need means *, and takes those edges only
	reached := depth
	for _, hop := range x.hops(at, h, s) {
		if c, d := x.nearest(hop.at, hop.h, need, depth+1, rest); d > reached {
			chain, reached = c, d
		}
	}
	return chain, reached
}

// passing is passes, but also sees chains under * that can match nothing in
// the column: they come near all the same.
func (n *node) passing(c column) link {
	if n.passes[c] != 0 {
		return n.passes[c]
	}
	return n.passes[columnAny]
}

// overlapping tells whether some chain and the need have an operation in
// common.
func (x *index) overlapping(need *shape) bool {
	if x.allowing(need) != 0 {
		return true
	}
	for c := range need.columns() {
		if !need.matchlessIn(c) && x.meets(id(need.root), uint64(need.root), need, c, 0, need.rest) {
			return true
		}
	}
	return false
}

func (x *index) meets(at id, h uint64, need *shape, c column, depth int, rest string) bool {
	n := &x.nodes[at]
	if n.passes[c] == 0 {
		return false
	}
	s, rest := need.step(depth, rest)
	if s.text == "" || n.ends[c] != 0 {
		return true
	}
	for _, hop := range x.hops(at, h, s) {
		if x.meets(hop.at, hop.h, need, c, depth+1, rest) {
			return true
		}
	}
	if s.text != "*" && !n.typed {
		return false
	}
	// What the need's segment covers: every edge for *, and each x#t for x.
	for child := n.child; child != 0; child = x.nodes[child].sibling {
		below := &x.nodes[child]
		if s.text != "*" && !strings.HasPrefix(below.segment, s.text+"#") {
			continue
		}
		if x.meets(child, below.hash, need, c, depth+1, rest) {
			return true
		}
	}
	return false
}
