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
	column, ok := columnOf(rootObject, string(v))
	if !ok || v == "*" || id != "" && !g.isIdentifier(id) || !isObject(name) {
		return Need{}
	}
	n.shape = shape{root: rootObject, column: column, head: [head]string{name}}
	n.shape.setInstance(id, path)
	return n
}

// At returns the need for one instance. kind is the need for every instance of an object
// name, as Object and ParseNeed make it. At does not read its verb and name again. Any
// other kind, or a text that is no identifier, gives the zero Need.
func (g *Grammar) At(kind Need, id string) Need {
	s := &kind.shape
	if s.root != rootObject || s.head[0] == "" || s.head[1] != "" || !g.isIdentifier(id) {
		return Need{}
	}
	s.setInstance(id, "")
	return kind
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
	switch v {
	case Read:
		return Need{shape{root: rootAdmin, column: columnRead}}
	case Update:
		return Need{shape{root: rootAdmin, column: columnUpdate}}
	}
	return Need{}
}
