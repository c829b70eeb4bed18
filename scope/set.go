package scope

import (
	"iter"
	"slices"
	"strings"
)

// Set is a compiled list of chains, or several of them seen as one. It cannot
// be altered, is cheap to copy and safe for concurrent use. The zero Set
// permits nothing.
type Set struct {
	parts []*index
}

type index struct {
	source  string
	chains  []Chain
	unknown []string
}

func (x *index) add(s shape) { x.chains = append(x.chains, Chain{s.text()}) }

func matchless(text string) bool {
	segments := strings.Split(text, ".")
	return len(segments) > 3 && segments[0] == "object" &&
		(segments[1] == "create" && segments[3] != "*" || segments[1] == "delete" && len(segments) > 4)
}

// Unscoped returns the Set of a caller that no scope limits, such as a session
// or a signed request. Its one chain has the source "unscoped".
func Unscoped() Set { return Set{unscoped} }

var unscoped = []*index{{source: "unscoped", chains: []Chain{{"*"}}}}

// Union returns a Set that permits what s or t permits. It is a view: nothing
// is compiled again.
func (s Set) Union(t Set) Set {
	return Set{slices.Concat(s.parts, t.parts)}
}

// Allows tells whether the whole of n is permitted by one chain.
func (s Set) Allows(n Need) bool { return n.Valid() && s.Explain(n).Allowed }

// Overlaps tells whether any part of n is permitted: one instance of many, one
// property of an object. It is true whenever Allows is.
func (s Set) Overlaps(n Need) bool {
	if s.Allows(n) {
		return true
	}
	for c := range s.Chains() {
		if n.Valid() && !matchless(c.text) && unify(c.text, n.String()) {
			return true
		}
	}
	return false
}

func unify(c, d string) bool {
	for more, deeper := true, true; more && deeper; {
		var cs, ds string
		cs, c, more = strings.Cut(c, ".")
		ds, d, deeper = strings.Cut(d, ".")
		if !segmentCovers(cs, ds) && !segmentCovers(ds, cs) {
			return false
		}
	}
	return true
}

// Missing returns the chains of t that no chain of s covers, such as those by
// which a token would exceed its minter. Chains that can match nothing permit
// nothing and are never missing.
func (s Set) Missing(t Set) []Chain {
	var missing []Chain
	for d := range t.Chains() {
		covered := matchless(d.text)
		for c := range s.Chains() {
			covered = covered || !matchless(c.text) && c.Covers(d)
		}
		if !covered && !slices.Contains(missing, d) {
			missing = append(missing, d)
		}
	}
	return missing
}

// Chains yields each chain with its source, in the order given.
func (s Set) Chains() iter.Seq2[Chain, string] {
	return func(yield func(Chain, string) bool) {
		for _, part := range s.parts {
			for _, c := range part.chains {
				if !yield(c, part.source) {
					return
				}
			}
		}
	}
}

// Unknown yields each chain that was dropped because the grammar does not know
// its root, as it was given, with its source.
func (s Set) Unknown() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, part := range s.parts {
			for _, c := range part.unknown {
				if !yield(c, part.source) {
					return
				}
			}
		}
	}
}
