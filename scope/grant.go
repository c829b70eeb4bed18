package scope

import "slices"

// Grant answers what a list handler asks about one verb on one kind of object.
// The zero Grant permits nothing.
type Grant struct {
	set  Set
	need shape // the whole kind of object
}

// On returns what s permits of verb v on objects of the name. Of a name
// without type it leaves out what is permitted on one type only, as Allows
// does. Values outside the grammar make the zero Grant.
func (s Set) On(v Verb, object string) Grant { return Grant{s, Object(v, object, "", "").shape} }

// IDs returns the identifiers of the instances of which any part is permitted,
// sorted; or all, when it is every instance. It belongs into the query, before
// the limit, so that pages stay full.
func (g Grant) IDs() (ids []string, all bool) {
	for _, part := range g.set.parts {
		if part.allowing(&g.need) != 0 {
			return nil, true
		}
		for _, hop := range part.hops(id(g.need.root), uint64(g.need.root), g.need.head[0]) {
			kind := &part.nodes[hop.at]
			if part.nodes[kind.star].passes[g.need.column] != 0 {
				return nil, true
			}
			for child := kind.child; child != 0; child = part.nodes[child].sibling {
				if n := &part.nodes[child]; n.passes[g.need.column] != 0 {
					ids = append(ids, n.segment)
				}
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), false
}

// Property tells whether the path is permitted on every instance, so that a
// list may be filtered and sorted by it. The path "" is the whole object.
func (g Grant) Property(path string) bool {
	if path == "" {
		return g.set.covers(&g.need)
	}
	return g.of("*", path)
}

// Of returns a function that tells whether a path is permitted on one
// instance. The path "" is the whole of it.
func (g Grant) Of(id string) func(path string) bool {
	if !isToken(id) {
		return func(string) bool { return false }
	}
	return func(path string) bool { return g.of(id, path) }
}

func (g Grant) of(id, path string) bool {
	need := g.need
	need.head[1] = newSegment(id)
	need.rest = path
	return isPath(path) && g.set.covers(&need)
}
