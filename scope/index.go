package scope

import "strings"

// index is one compiled list of chains, unless both is set: a trie with one depth for each segment after the
// verb. Nodes with many children have a map of them. Go seeds its maps, so nobody can
// write chains that collide in one.
//
// A check takes a few probes (object name, identifier), whatever the number of chains.
// The verb is not an edge but a column of each node, which halves the probes where grants
// name both verbs and *. Each node names a chain that ends at it and a chain that passes
// through it. So Explain and Overlaps walk the trie as Allows does. A walk branches where
// a literal, a star and a type all match. It visits only nodes of the trie, so the size
// of the list limits it.
type index struct {
	source  string
	chains  []string // canonical
	unknown []string
	live    link   // the first chain that can match
	all     link   // a chain that covers everything
	nodes   []node // the roots first, by number; 0 is no node
	both    *intersection
	alone   [1]*index // this one, as the only one of a Set
}

// link is the number of a chain, counted from 1; 0 is no chain.
type link uint16

// nodeID is an index into nodes. A list has at most maxChains·maxSegments of them.
type nodeID uint16

type node struct {
	segment string
	star    nodeID            // the edge *
	child   nodeID            // the first edge other than *; the next one is its sibling
	sibling nodeID            // 0 for the last one
	many    map[string]nodeID // the same children, if they are more than few
	count   uint16            // of the children
	typed   bool              // some child has a type
	ends    [columns]link     // the first chain that ends here, by column
	passes  [columns]link     // the first chain that ends here or below and can match, by column
}

func newIndex(source string, chains int) *index {
	x := &index{
		source: source,
		chains: make([]string, 0, chains),
		nodes:  make([]node, indexed, int(indexed)+chains+chains/4+2),
	}
	x.alone[0] = x
	return x
}

// few is how many children are searched without a map.
const few = 8

// edge returns the node that the edge of a segment other than * leads to, or 0.
func (x *index) edge(parent nodeID, segment string) nodeID {
	n := &x.nodes[parent]
	if n.many != nil {
		return n.many[segment]
	}
	child := n.child
	for child != 0 && x.nodes[child].segment != segment {
		child = x.nodes[child].sibling
	}
	return child
}

// ensureEdge returns the node that the segment leads to. It adds the node if it is
// missing.
func (x *index) ensureEdge(parent nodeID, segment string) nodeID {
	at := x.nodes[parent].star
	if segment != "*" {
		at = x.edge(parent, segment)
	}
	if at != 0 {
		return at
	}
	at = nodeID(len(x.nodes))
	x.nodes = append(x.nodes, node{segment: segment})
	up := &x.nodes[parent]
	if segment == "*" {
		up.star = at
		return at
	}
	x.nodes[at].sibling, up.child = up.child, at
	up.typed = up.typed || strings.IndexByte(segment, '#') >= 0
	if up.count++; up.count > few {
		x.mapChildren(up)
	}
	return at
}

// mapChildren adds the children of a node to its map. Only the first is new, unless the
// map is.
func (x *index) mapChildren(n *node) {
	if n.many != nil {
		n.many[x.nodes[n.child].segment] = n.child
		return
	}
	n.many = make(map[string]nodeID, 2*few)
	for child := n.child; child != 0; child = x.nodes[child].sibling {
		n.many[x.nodes[child].segment] = child
	}
}

func (x *index) add(s *shape, text string) {
	x.chains = append(x.chains, text)
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
	at := nodeID(s.root)
	x.pass(at, s, chain)
	next, rest := s.step(0, s.rest)
	for depth := 1; next != ""; depth++ {
		at = x.ensureEdge(at, next)
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

func (x *index) covers(need *shape) bool {
	if x.both != nil {
		return x.both.covers(need)
	}
	return x.allowing(need) != 0
}

// allowing returns a chain that covers the need, or 0.
func (x *index) allowing(need *shape) link {
	switch root := need.root; {
	case root == rootNone:
		return 0
	case x.all != 0 || root >= indexed:
		return x.all
	}
	return x.match(nodeID(need.root), need, 0, need.rest)
}

// match returns a chain that covers the rest of the need from the given depth on, or 0.
func (x *index) match(at nodeID, need *shape, depth int, rest string) link {
	if end := x.nodes[at].ends[need.column]; end != 0 {
		return end
	}
	s, rest := need.step(depth, rest)
	if s == "" {
		return 0
	}
	if next := x.edge(at, s); next != 0 {
		if end := x.match(next, need, depth+1, rest); end != 0 {
			return end
		}
	}
	if star := x.nodes[at].star; star != 0 {
		if end := x.match(star, need, depth+1, rest); end != 0 {
			return end
		}
	}
	base, _, typed := cut(s, '#')
	if !typed {
		return 0
	}
	next := x.edge(at, base)
	if next == 0 {
		return 0
	}
	return x.match(next, need, depth+1, rest)
}

// hops returns the nodes whose edges cover the segment, and 0 for none.
func (x *index) hops(at nodeID, segment string) [3]nodeID {
	hops := [3]nodeID{x.edge(at, segment), x.nodes[at].star}
	if base, _, found := cut(segment, '#'); found {
		hops[2] = x.edge(at, base)
	}
	return hops
}

// nearest returns the chain that shares the longest prefix with the need, and the length
// of that prefix in segments. The length is -1 if no chain shares a prefix.
func (x *index) nearest(at nodeID, need *shape, depth int, rest string) (link, int) {
	chain := x.nodes[at].passing(need.column)
	if chain == 0 {
		return 0, -1
	}
	s, rest := need.step(depth, rest) // after its end a need means *, and takes only star edges
	reached := depth
	for _, next := range x.hops(at, s) {
		if c, d := x.nearest(next, need, depth+1, rest); d > reached {
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
	if x.both != nil {
		return x.both.overlaps(need)
	}
	if x.allowing(need) != 0 {
		return true
	}
	for c := range need.columns() {
		if !need.matchesNothingIn(c) && x.overlaps(nodeID(need.root), need, c, 0, need.rest) {
			return true
		}
	}
	return false
}

func (x *index) overlaps(at nodeID, need *shape, c column, depth int, rest string) bool {
	n := &x.nodes[at]
	if n.passes[c] == 0 {
		return false
	}
	s, rest := need.step(depth, rest)
	if s == "" || n.ends[c] != 0 {
		return true
	}
	for _, next := range x.hops(at, s) {
		if x.overlaps(next, need, c, depth+1, rest) {
			return true
		}
	}
	if s != "*" && !n.typed {
		return false
	}
	// Follow the edges that the need's segment covers: every edge for *, and each x#t for
	// x.
	for child := n.child; child != 0; child = x.nodes[child].sibling {
		if segmentCovers(s, x.nodes[child].segment) && x.overlaps(child, need, c, depth+1, rest) {
			return true
		}
	}
	return false
}

// instances returns the identifiers of the instances of which some part of the need is
// permitted. all reports whether that is every instance that the need means.
func (x *index) instances(need *shape) (ids []string, all bool) {
	if x.both != nil {
		return x.both.instances(need)
	}
	if x.allowing(need) != 0 {
		return nil, true
	}
	every := need.isEvery()
	for _, kind := range x.hops(nodeID(need.root), need.head[0]) {
		n := &x.nodes[kind]
		if !every {
			all = all || x.overlaps(kind, need, need.column, 1, need.rest)
			continue
		}
		if x.overlaps(n.star, need, need.column, head, need.rest) {
			return nil, true
		}
		for child := n.child; child != 0; child = x.nodes[child].sibling {
			if x.overlaps(child, need, need.column, head, need.rest) {
				ids = append(ids, x.nodes[child].segment)
			}
		}
	}
	return ids, all
}
