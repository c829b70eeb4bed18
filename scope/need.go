package scope

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
// Values outside the grammar give the zero Need. Needs are comparable within one process.
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
	g.object(&n.shape, v, name, id, path)
	return n
}

// object and instanceOf write in place, so that Object and At are inlined. Copying a
// shape just after it was written is slow.
func (g *Grammar) object(s *shape, v Verb, name, id, path string) {
	column, ok := objectColumn(string(v))
	if !ok || v == "*" || id != "" && !g.isIdentifier(id) {
		return
	}
	typed, ok := isObject(name)
	if !ok {
		return
	}
	s.root, s.column, s.typed, s.head[0] = rootObject, column, typed, newSegment(name)
	s.setInstance(id, path)
}

// At returns the need for one instance. kind is the need for every instance of an object
// name, as Object and ParseNeed make it. At does not read its verb and name again. Any
// other kind, or a text that is no identifier, gives the zero Need.
func (g *Grammar) At(kind Need, id string) Need {
	g.instanceOf(&kind.shape, id)
	return kind
}

func (g *Grammar) instanceOf(s *shape, id string) {
	if s.root != rootObject || s.head[0].text == "" || s.head[1].text != "" || !g.isIdentifier(id) {
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
	if path != "" && !isPath(path) || len("object....")+len(columnNames[rootObject][s.column])+len(s.head[0].text)+len(id)+len(path) > maxLength {
		*s = shape{}
		return
	}
	s.head[1], s.rest = newSegment(id), path
}

// Script returns the need to run one script route. Script, View and Deployment return the
// zero Need for a text that cannot be a name or an identifier.
func (g *Grammar) Script(route string) Need {
	if !g.isRoute(route) {
		return Need{}
	}
	return g.named(rootScript, columnRoute, route)
}

// View returns the need to run one view.
func (g *Grammar) View(name string) Need { return g.named(rootView, columnExecute, name) }

// Deployment returns the need to run one deployment.
func (g *Grammar) Deployment(id string) Need { return g.named(rootDeployment, columnExecute, id) }

func (g *Grammar) named(r root, c column, id string) Need {
	if !g.isNamed(id) || len(rootNames[r])+len(columnNames[r][c])+len(id)+2 > maxLength {
		return Need{}
	}
	return Need{shape{root: r, column: c, head: [2]segment{newSegment(id)}}}
}

// Object is Grammar.Object of the standard grammar.
func Object(v Verb, name, id, path string) Need { return standard.Object(v, name, id, path) }

// Script is Grammar.Script of the standard grammar.
func Script(route string) Need { return standard.Script(route) }

// Runner returns the need to run ad-hoc scripts.
func Runner() Need { return Need{shape{root: rootScript, column: columnRunner}} }

// View is Grammar.View of the standard grammar.
func View(name string) Need { return standard.View(name) }

// Deployment is Grammar.Deployment of the standard grammar.
func Deployment(id string) Need { return standard.Deployment(id) }

// Admin returns the need for administrative routes. v is Read or Update; any other verb
// gives the zero Need.
func Admin(v Verb) Need {
	switch v {
	case Read:
		return Need{shape{root: rootAdmin, column: columnRead}}
	case Update:
		return Need{shape{root: rootAdmin, column: columnUpdate}}
	}
	return Need{}
}
