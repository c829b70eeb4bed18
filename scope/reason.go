package scope

// Reason explains why a need is permitted or not.
type Reason struct {
	Allowed bool
	Chain   string // the one that allows, or else a nearest one; empty if no chain can match anything
	Source  string // of that chain
	Segment int    // if not allowed: the first segment of Chain that the need does not satisfy, from 0
}

// Explain decides as Allows does, and gives the reason. If several chains are equally
// near, it names one of them. Of an intersection it explains the first Set that does not
// permit n. A need that is not valid gets the zero Reason.
func (s Set) Explain(n Need) Reason {
	var best Reason
	if !n.Valid() {
		return best
	}
	for _, part := range s.parts {
		r := part.explain(n)
		if r.Allowed {
			return r
		}
		if best.Chain == "" || r.Segment > best.Segment {
			best = r
		}
	}
	return best
}

func (x *index) explain(n Need) Reason {
	if x.both != nil {
		if r := x.both.a.Explain(n); !r.Allowed {
			return r
		}
		return x.both.b.Explain(n)
	}
	need := &n.shape
	if chain := x.allowing(need); chain != 0 {
		return x.reason(true, chain, 0)
	}
	if chain, depth := x.nearest(nodeID(need.root), need, 0, need.rest); chain != 0 {
		return x.reason(false, chain, 2+depth)
	}
	if chain := x.nodes[need.root].anyPassing(); chain != 0 {
		return x.reason(false, chain, 1)
	}
	return x.reason(false, x.live, 0)
}

func (x *index) reason(allowed bool, chain link, segment int) Reason {
	if chain == 0 {
		return Reason{}
	}
	return Reason{Allowed: allowed, Chain: x.chains[chain-1], Source: x.source, Segment: segment}
}

// anyPassing returns a chain that passes through n in any column, or 0.
func (n *node) anyPassing() link {
	for _, chain := range n.passes {
		if chain != 0 {
			return chain
		}
	}
	return 0
}
