package scope

import "slices"

// Grant answers what a list handler asks about one verb on one object name. The zero
// Grant permits nothing.
type Grant struct {
	set  Set
	need shape // every instance of the object name
}

// On returns what s permits of verb v on objects of the name. For a name without a type
// it leaves out what is permitted on one type only, as Allows does. Values outside the
// grammar give the zero Grant.
func (s Set) On(v Verb, object string) Grant { return Grant{s, Object(v, object, "", "").shape} }

// IDs returns the sorted identifiers of the instances of which any part is permitted. all
// reports whether that is every instance. Put the identifiers into the query, before the
// limit, so that pages stay full.
func (g Grant) IDs() (ids []string, all bool) {
	for _, part := range g.set.parts {
		if part.allowing(&g.need) != 0 {
			return nil, true
		}
		for _, hop := range part.hops(nodeID(g.need.root), uint64(g.need.root), g.need.head[0]) {
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

// Need returns the need for a path of one instance. Pass it to Set.Allows, or name it in
// an error. The identifier "" means every instance, or an instance that is about to be
// created. Any other identifier is accepted if some grammar could have it. The path "" is
// the whole instance. A text that is no identifier or no path gives the zero Need, and so
// does the zero Grant.
func (g Grant) Need(id, path string) (n Need) {
	if g.need.root == rootNone || id != "" && !isToken(id) {
		return Need{}
	}
	n.shape = g.need
	n.shape.setInstance(id, path)
	return n
}

// Property reports whether the path is permitted on every instance, so that a list may be
// filtered and sorted by it. The path "" is the whole object.
func (g Grant) Property(path string) bool {
	need := g.need
	need.head[1], need.rest = star, path
	return isPath(path) && g.set.covers(&need)
}

// Of returns a function that reports whether a path is permitted on one instance. The
// path "" is the whole instance. Any identifier is accepted if some grammar could have
// it.
func (g Grant) Of(id string) func(path string) bool {
	i := g.instance(id)
	return i.permits
}

// instance caches the nodes that the walks for one identifier have reached. Checks of its
// paths continue there.
type instance struct {
	whole  bool
	need   shape
	starts [4]start // enough for most sets without an allocation
	used   int      // number of used elements of starts
	more   []start
}

type start struct {
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

// enter adds the nodes of one list at which checks of the instance's paths continue.
func (i *instance) enter(part *index) {
	for _, kind := range part.hops(nodeID(i.need.root), uint64(i.need.root), i.need.head[0]) {
		for _, at := range part.hops(kind.at, kind.h, i.need.head[1]) {
			if at.at == 0 {
				continue
			}
			if i.used < len(i.starts) {
				i.starts[i.used] = start{part, at}
				i.used++
			} else {
				i.more = append(i.more, start{part, at})
			}
		}
	}
}

func (i *instance) permits(path string) bool {
	return (i.whole || i.reaches(path)) && isPath(path)
}

func (i *instance) reaches(path string) bool {
	for n := range i.used {
		if i.starts[n].reaches(&i.need, path) {
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

func (p *start) reaches(need *shape, path string) bool {
	return p.part.match(p.at, p.h, need, head, path) != 0
}
