package scope

import "slices"

// Part answers what a list handler asks about one verb on one object name. The zero
// Part permits nothing.
type Part struct {
	set  Set
	need shape // every instance of the object name
}

// On returns what s permits of verb v on objects of the name. For a name without a type
// it leaves out what is permitted on one type only, as Allows does. Values outside the
// grammar give the zero Part.
func (s Set) On(v Verb, object string) Part { return Part{s, Object(v, object, "", "").shape} }

// IDs returns the sorted identifiers of the instances of which any part is permitted. all
// reports whether that is every instance. Put the identifiers into the query, before the
// limit, so that pages stay full.
func (p Part) IDs() (ids []string, all bool) {
	if p.need.root == rootNone {
		return nil, false
	}
	if ids, all = p.set.instances(&p.need); all {
		return nil, true
	}
	slices.Sort(ids)
	return slices.Compact(ids), false
}

// Need returns the need for a path of one instance. Pass it to Set.Allows, or name it in
// an error. The identifier "" means every instance, or an instance that is about to be
// created. Any other identifier is accepted if some grammar could have it. The path "" is
// the whole instance. A text that is no identifier or no path gives the zero Need, and so
// does the zero Part.
func (p Part) Need(id, path string) (n Need) {
	if p.need.root == rootNone || id != "" && !isToken(id) {
		return Need{}
	}
	n.shape = p.need
	n.shape.setInstance(id, path)
	return n
}

// Property reports whether the path is permitted on every instance, so that a list may be
// filtered and sorted by it. The path "" is the whole object.
func (p Part) Property(path string) bool {
	need := p.need
	need.head[1], need.rest = "*", path
	return isPath(path) && p.set.covers(&need)
}

// Of returns a function that reports whether a path is permitted on one instance. The
// path "" is the whole instance. Any identifier is accepted if some grammar could have
// it.
func (p Part) Of(id string) func(path string) bool {
	i := p.at(id) // so that Of is inlined, and its result not allocated
	return i.permits
}

// instance is a Part with one instance of its object name.
type instance struct {
	set   Set
	need  shape
	whole bool
}

func (p *Part) at(id string) instance {
	if !isToken(id) {
		return instance{}
	}
	i := instance{set: p.set, need: p.need}
	i.need.head[1] = id
	i.whole = i.set.covers(&i.need)
	return i
}

func (i *instance) permits(path string) bool {
	need := i.need
	need.rest = path
	return isPath(path) && (i.whole || i.set.covers(&need))
}
