package scope

import "strings"

// Reason says why a need is permitted or not.
type Reason struct {
	Allowed bool
	Chain   Chain  // the chain that allows; else the one that comes nearest, zero when the Set has none
	Source  string // of that chain
	Segment int    // if not allowed: the first segment of Chain that the need does not satisfy, from 0
}

// Explain decides as Allows does, and says why.
func (s Set) Explain(n Need) Reason {
	best := Reason{}
	need := n.String()
	for c, source := range s.Chains() {
		if !n.Valid() || matchless(c.text) {
			continue
		}
		if covers(c.text, need) {
			return Reason{Allowed: true, Chain: c, Source: source}
		}
		if at := fails(c.text, need); best.Chain == (Chain{}) || at > best.Segment {
			best = Reason{Chain: c, Source: source, Segment: at}
		}
	}
	return best
}

func fails(c, need string) int {
	cs, ns := strings.Split(c, "."), strings.Split(need, ".")
	for i := range cs {
		if i == len(ns) || !segmentCovers(cs[i], ns[i]) {
			return i
		}
	}
	return len(cs)
}
