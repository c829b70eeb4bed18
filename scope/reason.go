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
	if x.isBoth {
		if r := x.a.Explain(n); !r.Allowed {
			return r
		}
		return x.b.Explain(n)
	}
	chain, segment := x.allowing(&n.shape), 0
	allowed := chain != 0
	if !allowed {
		chain, segment = x.nearest(&n.shape)
	}
	if chain == 0 {
		return Reason{}
	}
	return Reason{Allowed: allowed, Chain: x.grants[chain-1].text, Source: x.source, Segment: segment}
}
