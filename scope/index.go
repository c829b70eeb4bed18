package scope

import "strings"

// index is one compiled list of chains: a trie with one depth for each segment after the
// verb. One hash table holds the edges of all nodes.
//
// A check takes two probes at best (object name, identifier), whatever the number of
// chains. A map for each node would take twice the time. The verb is not an edge but a
// column of each node, which halves the probes where grants name both verbs and *. Each
// node names a chain that ends at it and a chain that passes through it. So Explain and
// Overlaps walk the trie as Allows does. A walk branches where a literal, a star and a
// type all match. It visits only nodes of the trie, so the size of the list limits it.
type index struct {
	source  string
	chains  []Chain
	unknown []string
	live    link     // the first chain that can match
	all     link     // a chain that covers everything
	nodes   []node   // the roots first, by number; 0 is no node
	slots   []nodeID // open addressing, a power of two, at most half full
}

// link is the number of a chain, counted from 1; 0 is no chain.
type link uint16

// nodeID is an index into nodes. A list has at most maxChains·maxSegments of them.
type nodeID uint16

type node struct {
	segment string
	hash    uint64 // of the parent and the segment together
	parent  nodeID
	star    nodeID // the edge *
	child   nodeID // the first edge other than *; the next one is its sibling
	sibling nodeID
	typed   bool          // some child has a type
	ends    [columns]link // the first chain that ends here, by column
	passes  [columns]link // the first chain that ends here or below and can match, by column
}

func newIndex(source string, chains int) *index {
	x := &index{source: source, chains: make([]Chain, 0, chains)}
	x.nodes = make([]node, indexed, int(indexed)+chains+chains/4+2)
	size := 8
	for size < 2*cap(x.nodes) {
		size *= 2
	}
	x.slots = make([]nodeID, size)
	return x
}

// edge returns the node that the edge of a segment other than * leads to, or 0.
func (x *index) edge(parent nodeID, h uint64, segment string) nodeID {
	mask := uint64(len(x.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		at := x.slots[i]
		// The hash only finds the node. The comparison of the segment decides.
		if n := &x.nodes[at]; at == 0 || n.hash == h && n.parent == parent && n.segment == segment {
			return at
		}
	}
}

func (x *index) insert(n nodeID) {
	mask := uint64(len(x.slots) - 1)
	i := x.nodes[n].hash & mask
	for x.slots[i] != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = n
}

func (x *index) grow() {
	x.slots = make([]nodeID, 2*len(x.slots))
	for n := int(indexed); n < len(x.nodes); n++ {
		if x.nodes[n].segment != "*" {
			x.insert(nodeID(n))
		}
	}
}

// ensureEdge returns the node that the segment leads to. It adds the node if it is
// missing.
func (x *index) ensureEdge(parent nodeID, h uint64, segment string) nodeID {
	if segment == "*" {
		if x.nodes[parent].star == 0 {
			x.nodes = append(x.nodes, node{segment: segment, hash: h, parent: parent})
			x.nodes[parent].star = nodeID(len(x.nodes) - 1)
		}
		return x.nodes[parent].star
	}
	if n := x.edge(parent, h, segment); n != 0 {
		return n
	}
	n := nodeID(len(x.nodes))
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
	if s.matchesNothing() {
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
	at, h := nodeID(s.root), uint64(s.root)
	x.pass(at, s, chain)
	next, rest := s.step(0, s.rest)
	for depth := 1; next.text != ""; depth++ {
		h = childHash(h, next.hash)
		at = x.ensureEdge(at, h, next.text)
		x.pass(at, s, chain)
		next, rest = s.step(depth, rest)
	}
	for c := range s.columns() {
		if ends := &x.nodes[at].ends[c]; *ends == 0 {
			*ends = chain
		}
	}
}

func (x *index) pass(at nodeID, s *shape, chain link) {
	for c := range s.columns() {
		if passes := &x.nodes[at].passes[c]; *passes == 0 && !s.matchesNothingIn(c) {
			*passes = chain
		}
	}
}

// allowing returns a chain that covers the need, or 0.
func (x *index) allowing(need *shape) link {
	root := need.root
	switch {
	case root == rootNone:
		return 0
	case x.all != 0 || root >= indexed:
		return x.all
	}
	// Without a star edge and without a type, only one path through the trie can match.
	at, h, s := nodeID(root), uint64(root), &need.head[0]
	for depth := range head {
		n := &x.nodes[at]
		if end := n.ends[need.column]; end != 0 || at == 0 {
			return end
		}
		if s.text == "" || n.star != 0 || need.typed {
			return x.match(at, h, need, depth, need.rest)
		}
		h = childHash(h, s.hash)
		at, s = x.edge(at, h, s.text), &need.head[1]
	}
	if need.rest == "" {
		return x.nodes[at].ends[need.column]
	}
	return x.match(at, h, need, head, need.rest)
}

// match returns a chain that covers the rest of the need from the given depth on, or 0.
func (x *index) match(at nodeID, h uint64, need *shape, depth int, rest string) link {
	n := &x.nodes[at]
	if end := n.ends[need.column]; end != 0 || at == 0 {
		return end
	}
	s, rest := need.step(depth, rest)
	if s.text == "" {
		return 0
	}
	literal := childHash(h, s.hash)
	if end := x.match(x.edge(at, literal, s.text), literal, need, depth+1, rest); end != 0 {
		return end
	}
	if base, _, found := cut(s.text, '#'); found {
		h2 := childHash(h, hash(base))
		if end := x.match(x.edge(at, h2, base), h2, need, depth+1, rest); end != 0 {
			return end
		}
	}
	return x.match(n.star, childHash(h, star.hash), need, depth+1, rest)
}

// hop is one step of a walk: a node, or 0 for none, and its hash.
type hop struct {
	at nodeID
	h  uint64
}

// hops returns the nodes whose edges cover the segment.
func (x *index) hops(at nodeID, h uint64, s segment) [3]hop {
	literal := childHash(h, s.hash)
	hops := [3]hop{{x.edge(at, literal, s.text), literal}, {x.nodes[at].star, childHash(h, star.hash)}}
	if base, _, found := cut(s.text, '#'); found {
		h = childHash(h, hash(base))
		hops[2] = hop{x.edge(at, h, base), h}
	}
	return hops
}

// nearest returns the chain that shares the longest prefix with the need, and the length
// of that prefix in segments. The length is -1 if no chain shares a prefix.
func (x *index) nearest(at nodeID, h uint64, need *shape, depth int, rest string) (link, int) {
	chain := x.nodes[at].passing(need.column)
	if chain == 0 {
		return 0, -1
	}
	s, rest := need.step(depth, rest) // after its end a need means *, and takes only star edges
	reached := depth
	for _, hop := range x.hops(at, h, s) {
		if c, d := x.nearest(hop.at, hop.h, need, depth+1, rest); d > reached {
			chain, reached = c, d
		}
	}
	return chain, reached
}

// passing returns the chain of passes. It also returns a chain with the verb * that can
// match nothing in the column: such a chain may still be the nearest.
func (n *node) passing(c column) link {
	if n.passes[c] != 0 {
		return n.passes[c]
	}
	return n.passes[columnAny]
}

// overlapping reports whether some chain and the need have an operation in common.
func (x *index) overlapping(need *shape) bool {
	if x.allowing(need) != 0 {
		return true
	}
	for c := range need.columns() {
		if !need.matchesNothingIn(c) && x.overlaps(nodeID(need.root), uint64(need.root), need, c, 0, need.rest) {
			return true
		}
	}
	return false
}

func (x *index) overlaps(at nodeID, h uint64, need *shape, c column, depth int, rest string) bool {
	n := &x.nodes[at]
	if n.passes[c] == 0 {
		return false
	}
	s, rest := need.step(depth, rest)
	if s.text == "" || n.ends[c] != 0 {
		return true
	}
	for _, hop := range x.hops(at, h, s) {
		if x.overlaps(hop.at, hop.h, need, c, depth+1, rest) {
			return true
		}
	}
	if s.text != "*" && !n.typed {
		return false
	}
	// Follow the edges that the need's segment covers: every edge for *, and each x#t for
	// x.
	for child := n.child; child != 0; child = x.nodes[child].sibling {
		below := &x.nodes[child]
		if s.text != "*" && !strings.HasPrefix(below.segment, s.text+"#") {
			continue
		}
		if x.overlaps(child, below.hash, need, c, depth+1, rest) {
			return true
		}
	}
	return false
}
