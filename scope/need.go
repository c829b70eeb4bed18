package scope

// Verb is what is done to an object: the second segment of an object or admin
// chain. No verb implies another: who may update may not therefore read.
type Verb string

// The verbs of objects; admin chains know Read and Update.
const (
	Create Verb = "create"
	Read   Verb = "read"
	Update Verb = "update"
	Delete Verb = "delete"
)

// Need is one operation that is asked for. The zero Need, and one made of
// values outside the grammar, is not valid and never allowed, whatever the
// Set. Needs are comparable within one process.
type Need struct {
	shape shape
}

// Valid tells whether n was made of values of the grammar. A Guard answers 404
// when it is not: an object with such an identifier cannot exist.
func (n Need) Valid() bool { return n.shape.root != rootNone }

// String returns the need as a chain.
func (n Need) String() string { return n.shape.text() }

// Object needs verb v on objects of the name, which may carry a type as in
// c_note#c_short. The identifier "" means every instance, and the path "" the
// whole of it; a path is dot-separated. Values outside the grammar, and the star
// is one, make the zero Need.
func (g *Grammar) Object(v Verb, name, id, path string) (n Need) {
	column, ok := objectColumn(string(v))
	if ok && v != "*" && isObject(name) && (id == "" || g.isIdentifier(id)) {
		n.shape.object(column, name, id, path)
	}
	return n
}

// object makes of the zero shape what Object means, of a kind and an identifier of
// the grammar. It writes in place: to copy a shape that was just written is slow.
func (s *shape) object(c column, name, id, path string) {
	if id == "" && path != "" {
		id = "*"
	}
	if path != "" && !isPath(path) || len("object....")+len(columnNames[rootObject][c])+len(name)+len(id)+len(path) > maxLength {
		return
	}
	s.root, s.column = rootObject, c
	s.first, s.second, s.rest = name, id, path
}

// Script needs to run one script route. What cannot be one makes the zero Need,
// here and in View and Deployment.
func (g *Grammar) Script(route string) Need {
	if !g.isRoute(route) {
		return Need{}
	}
	return g.named(rootScript, columnRoute, route)
}

// View needs to run one view.
func (g *Grammar) View(name string) Need { return g.named(rootView, columnExecute, name) }

// Deployment needs to run one deployment.
func (g *Grammar) Deployment(id string) Need { return g.named(rootDeployment, columnExecute, id) }

func (g *Grammar) named(r root, c column, id string) Need {
	if !g.isNamed(id) || len(rootNames[r])+len(columnNames[r][c])+len(id)+2 > maxLength {
		return Need{}
	}
	return Need{shape{root: r, column: c, first: id}}
}

// Object is Grammar.Object of the standard grammar.
func Object(v Verb, name, id, path string) Need { return standard.Object(v, name, id, path) }

// Script is Grammar.Script of the standard grammar.
func Script(route string) Need { return standard.Script(route) }

// Runner needs to run ad-hoc scripts.
func Runner() Need { return Need{shape{root: rootScript, column: columnRunner}} }

// View is Grammar.View of the standard grammar.
func View(name string) Need { return standard.View(name) }

// Deployment is Grammar.Deployment of the standard grammar.
func Deployment(id string) Need { return standard.Deployment(id) }

// Admin needs administrative routes; v is Read or Update, and any other makes
// the zero Need.
func Admin(v Verb) Need {
	switch v {
	case Read:
		return Need{shape{root: rootAdmin, column: columnRead}}
	case Update:
		return Need{shape{root: rootAdmin, column: columnUpdate}}
	}
	return Need{}
}
