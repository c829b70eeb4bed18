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

// Need returns the need for a path of one instance, to ask Set.Allows or to say
// what is missing. The identifier "" means every instance, or one that is about
// to be created; any other will do that could be one in some grammar. The path ""
// is the whole of it. What is no identifier or no path makes the zero Need, and so
// does the zero Grant.
func (g Grant) Need(id, path string) (n Need) {
	if g.need.root == rootNone || id != "" && !isToken(id) {
		return Need{}
	}
	n.shape = g.need
	n.shape.at(id, path)
	return n
}

// Property tells whether the path is permitted on every instance, so that a
// list may be filtered and sorted by it. The path "" is the whole object.
func (g Grant) Property(path string) bool {
	need := g.need
	need.head[1], need.rest = star, path
	return isPath(path) && g.set.covers(&need)
}

// Of returns a function that tells whether a path is permitted on one
// instance. The path "" is the whole of it. Any identifier will do that could
// be one in some grammar.
func (g Grant) Of(id string) func(path string) bool {
	i := g.instance(id)
	return i.permits
}

// instance caches the nodes reached for one identifier; checks of its paths
// continue there.
type instance struct {
	whole  bool
	need   shape
	places [4]place // enough for most sets without an allocation
	taken  int      // of places
	more   []place
}

type place struct {
	part *index
	hop
}

func (g Grant) instance(id string) (i instance) {
	i.need = g.need
	i.need.head[1] = newSegment(id)
	if !isToken(id) {
		return instance{}
	}
	if i.whole = g.set.covers(&i.need); i.whole {
		return i
	}
	for _, part := range g.set.parts {
		i.enter(part)
	}
	return i
}

// enter adds the nodes of the instance that chains of one list go on from.
func (i *instance) enter(part *index) {
	for _, kind := range part.hops(id(i.need.root), uint64(i.need.root), i.need.head[0]) {
		for _, at := range part.hops(kind.at, kind.h, i.need.head[1]) {
			if at.at == 0 {
				continue
			}
			if i.taken < len(i.places) {
				i.places[i.taken] = place{part, at}
				i.taken++
			} else {
				i.more = append(i.more, place{part, at})
			}
		}
	}
}

func (i *instance) permits(path string) bool {
	return (i.whole || i.reaches(path)) && isPath(path)
}

func (i *instance) reaches(path string) bool {
	for n := range i.taken {
		if i.places[n].reaches(&i.need, path) {
			return true
		}
	}
	for n := range i.more {
		if i.more[n].reaches(&i.need, path) {
			return true
		}
	}
	return false
}

func (p *place) reaches(need *shape, path string) bool {
	return p.part.match(p.at, p.h, need, head, path) != 0
}
