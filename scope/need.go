package scope

import "slices"

// Verb is what is done to an object: the second segment of an object or admin chain. No
// verb implies another: the right to update does not include the right to read.
type Verb string

// The verbs of objects. Admin chains have only Read and Update.
const (
	Create Verb = "create"
	Read   Verb = "read"
	Update Verb = "update"
	Delete Verb = "delete"
)

// Need is one requested operation. The zero Need is not valid, and no Set allows it.
// Values outside the grammar give the zero Need. Needs are comparable.
type Need struct {
	shape shape
}

// Valid reports whether n was made of values of the grammar. A Guard answers 404 if it
// was not: an object with such an identifier cannot exist.
func (n Need) Valid() bool { return n.shape.root != rootNone }

// String returns the need as a chain.
func (n Need) String() string { return n.shape.text() }

// Object returns the need for verb v on objects of the name, which may carry a type as in
// c_note#c_short. The identifier "" means every instance. The path is dot-separated; ""
// means the whole object. Values outside the grammar, such as *, give the zero Need.
func (g *Grammar) Object(v Verb, name, id, path string) (n Need) {
	g.setObject(&n.shape, v, name, id, path)
	return n
}

// setObject writes in place, so that Object is inlined, as parseNeed does.
func (g *Grammar) setObject(s *shape, v Verb, name, id, path string) {
	column, ok := columnOf(rootObject, string(v))
	if !ok || v == "*" || id != "" && !g.isIdentifier(id) || !isObject(name) {
		return
	}
	s.root, s.column, s.head[0] = rootObject, column, name
	s.setInstance(id, path)
}

// At returns the need for one instance. kind is the need for every instance of an object
// name, as Object and ParseNeed make it. At does not read its verb and name again. Any
// other kind, or a text that is no identifier, gives the zero Need.
func (g *Grammar) At(kind Need, id string) Need {
	g.setIdentifier(&kind.shape, id)
	return kind
}

func (g *Grammar) setIdentifier(s *shape, id string) {
	if s.root != rootObject || s.head[0] == "" || s.head[1] != "" || !g.isIdentifier(id) {
		*s = shape{}
		return
	}
	s.setInstance(id, "")
}

// setInstance makes a need for every instance one for an instance, and a path of it.
func (s *shape) setInstance(id, path string) {
	if id == "" && path != "" {
		id = "*"
	}
	if path != "" && !isPath(path) || len("object....")+len(columnNames[rootObject][s.column])+len(s.head[0])+len(id)+len(path) > maxLength {
		*s = shape{}
		return
	}
	s.head[1], s.rest = id, path
}

// Object is Grammar.Object of the standard grammar.
func Object(v Verb, name, id, path string) Need { return standard.Object(v, name, id, path) }

// Admin returns the need for administrative routes. v is Read or Update; any other verb
// gives the zero Need.
func Admin(v Verb) Need {
	column, ok := columnOf(rootAdmin, string(v))
	if !ok || v == "*" {
		return Need{}
	}
	return Need{shape{root: rootAdmin, column: column}}
}

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
	p.set.common(&p.need, func(both shape) bool {
		switch {
		case both.head[0] != p.need.head[0]: // on one type only
		case both.isEvery():
			all = true
		default:
			ids = append(ids, both.head[1])
		}
		return !all
	})
	if all {
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
func (p Part) Property(path string) bool { return p.set.Allows(p.Need("", path)) }

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
	whole bool // is permitted
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
