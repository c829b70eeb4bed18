package scope

import "strings"

// index is one compiled list of chains, or what two Sets both permit.
//
// Allows walks a tree with one depth for each segment after the verb. It takes a few probes
// (object name, identifier), whatever the number of chains. It branches where a literal, a
// star and a type all match, and visits only nodes of the tree. The verb is not an edge but
// a column of each node, which halves the probes where grants name both verbs and *. Go
// seeds its maps, so nobody can write chains that collide.
//
// What chains have in common with a need is found in the tree, too. Explain compares each
// chain with the need.
type index struct {
	source  string
	grants  []grant
	unknown []string // chains of roots that the grammar does not know
	all     link     // a chain that covers everything
	wide    bool     // some node has many children
	nodes   []node   // the roots first, by number; 0 is no node

	isBoth bool // what a and b both permit; there is no list
	a, b   Set

	alone [1]*index // this one, as the only one of a Set
}

// grant is one chain of a list.
type grant struct {
	shape
	text string // canonical; empty for what chains have in common
}

// chain returns the canonical text.
func (g *grant) chain() string {
	if g.text == "" {
		return g.shape.text()
	}
	return g.text
}

// link is the number of a chain, counted from 1; 0 is no chain.
type link uint16

// nodeID is an index into nodes. A list has at most maxChains·maxSegments of them.
type nodeID uint16

type node struct {
	segment string
	many    map[string]nodeID // the children by segment, if they are more than few
	child   nodeID            // where the latest edge other than * leads to; the next one is its sibling
	sibling nodeID            // 0 for the last one
	count   uint16            // of the children, which are those
	star    nodeID            // where the edge * leads to
	ends    [columns]link     // the first chain that ends here, by column
	typed   bool              // some child has a type
}

// few is how many children of a node are searched without a map.
const few = 8

func newIndex(source string, chains int) *index {
	x := &index{
		source: source,
		grants: make([]grant, 0, chains),
		nodes:  make([]node, roots, int(roots)+chains+chains/4+2),
	}
	x.alone[0] = x
	return x
}

func (x *index) add(s *shape, text string) {
	x.grants = append(x.grants, grant{*s, text})
	chain := link(len(x.grants))
	switch {
	case s.matchesNothing():
		return
	case s.root == rootAll:
		x.all = chain
		return
	}
	at := nodeID(s.root)
	next, rest := s.step(0, s.rest)
	for depth := 1; next != ""; depth++ {
		at = x.ensureEdge(at, next)
		next, rest = s.step(depth, rest)
	}
	first := s.column
	if first == columnAny {
		first = 0
	}
	for c := first; c <= s.column; c++ {
		if ends := &x.nodes[at].ends[c]; *ends == 0 {
			*ends = chain
		}
	}
}

// edge returns where the edge of a segment other than * leads to, or 0.
func (x *index) edge(from nodeID, segment string) nodeID {
	n := &x.nodes[from]
	if n.many != nil {
		return n.many[segment]
	}
	to := n.child
	for to != 0 && x.nodes[to].segment != segment {
		to = x.nodes[to].sibling
	}
	return to
}

// ensureEdge returns where the edge of a segment leads to. It adds the edge if it is missing.
func (x *index) ensureEdge(from nodeID, segment string) nodeID {
	to := x.nodes[from].star
	if segment != "*" {
		to = x.edge(from, segment)
	}
	if to != 0 {
		return to
	}
	to = nodeID(len(x.nodes))
	x.nodes = append(x.nodes, node{segment: segment})
	n := &x.nodes[from]
	if segment == "*" {
		n.star = to
		return to
	}
	x.nodes[to].sibling, n.child = n.child, to
	n.typed = n.typed || strings.IndexByte(segment, '#') >= 0
	switch n.count++; {
	case n.many != nil:
		n.many[segment] = to
	case n.count > few:
		room := 2 * few
		if !x.wide { // most chains differ in one place, such as the identifier
			x.wide, room = true, cap(x.grants)
		}
		n.many = make(map[string]nodeID, room)
		for child := to; child != 0; child = x.nodes[child].sibling {
			n.many[x.nodes[child].segment] = child
		}
	}
	return to
}

// allowing returns a chain that covers the need, or 0.
func (x *index) allowing(need *shape) link {
	switch {
	case need.root == rootNone:
		return 0
	case x.all != 0:
		return x.all
	}
	return x.match(nodeID(need.root), need, 0, need.rest)
}

// match returns a chain that covers the rest of the need from the given depth on, or 0.
func (x *index) match(at nodeID, need *shape, depth int, rest string) link {
	n := &x.nodes[at]
	if end := n.ends[need.column]; end != 0 {
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
	if n.star != 0 {
		if end := x.match(n.star, need, depth+1, rest); end != 0 {
			return end
		}
	}
	if i := strings.IndexByte(s, '#'); i >= 0 {
		if next := x.edge(at, s[:i]); next != 0 {
			return x.match(next, need, depth+1, rest)
		}
	}
	return 0
}

// nearest returns the chain of which a need satisfies the most leading segments, and their
// number; 0 if no chain can match anything.
func (x *index) nearest(need *shape) (nearest link, most int) {
	for i := range x.grants {
		g := &x.grants[i]
		if n := g.satisfied(need); (nearest == 0 || n > most) && !g.matchesNothing() {
			nearest, most = link(i+1), n
		}
	}
	return nearest, most
}
