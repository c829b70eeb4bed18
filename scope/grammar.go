package scope

import (
	"errors"
	"fmt"
)

// Bounds of what is parsed, so that hostile input costs little.
const (
	maxLength   = 512 // bytes of a chain
	maxSegments = 32  // of a chain
	maxPath     = maxSegments - 4
	maxChains   = 1024 // of a list
)

// Grammar says which chains there are. The zero Grammar, and a nil one, is the
// standard grammar of section 5.5 of the interface. A Grammar must not be
// changed once used; it is safe for concurrent use if its Identifier is.
type Grammar struct {
	// Identifier accepts the identifiers of objects. Nil: 24 hexadecimal
	// digits, or a UUID.
	//
	// It is asked about segments of letters, digits and any of _-~:@+= only.
	// It must refuse every property name, or a chain that forgot the
	// identifier reads a property as one.
	Identifier func(string) bool

	// Roots are an embedder's own, beside the standard ones.
	Roots map[string]Root
}

// Root is a root of an embedder's own. Its chains are the root itself, a verb,
// and the segments, in this order; a chain may stop anywhere, and * may stand
// for the verb and for each segment. The zero Root has chains of one segment.
type Root struct {
	Verbs    []Verb
	Segments []Segment
}

// Segment is the kind of segment that may stand in one place.
type Segment uint8

// The kinds of segments.
const (
	Name       Segment = iota + 1 // 1 to 40 of [A-Za-z0-9_-], or an identifier
	Identifier                    // what Grammar.Identifier accepts
)

// String says what the segment may be, as errors do.
func (k Segment) String() string {
	if k == Name {
		return "a name or an identifier"
	}
	return "an identifier"
}

// Validate reports roots that could never be used: a name outside
// [a-z][a-z0-9_-]{0,39} or one of the standard roots, verbs that are not such
// words, segments without verbs or of no known kind. Chains of such a root do
// not parse. The error joins one for each of them.
func (g *Grammar) Validate() error {
	if g == nil {
		return nil
	}
	var problems []error
	for name, root := range g.Roots {
		if err := root.validate(name); err != nil {
			problems = append(problems, fmt.Errorf("scope: root %q: %w", name, err))
		}
	}
	return errors.Join(problems...)
}

func (r Root) validate(name string) error {
	if !isRoot(name) || rootOf(name) != rootNone {
		return errors.New("not a name for an own root")
	}
	for _, verb := range r.Verbs {
		if !isRoot(string(verb)) {
			return fmt.Errorf("verb %q", verb)
		}
	}
	if len(r.Segments) > 0 && len(r.Verbs) == 0 {
		return errors.New("segments without verbs")
	}
	for _, segment := range r.Segments {
		if segment != Name && segment != Identifier {
			return fmt.Errorf("segment kind %d", segment)
		}
	}
	return nil
}

func rootOf(s string) root {
	switch s {
	case "object":
		return rootObject
	case "script":
		return rootScript
	case "view":
		return rootView
	case "deployment":
		return rootDeployment
	case "admin":
		return rootAdmin
	}
	return rootNone
}

// own returns the embedder's root of the name, if it can be used.
func (g *Grammar) own(name string) (Root, bool) {
	if g == nil {
		return Root{}, false
	}
	r, ok := g.Roots[name]
	return r, ok && r.validate(name) == nil
}

func (g *Grammar) isIdentifier(s string) bool {
	if g == nil || g.Identifier == nil {
		return isIdentifier(s)
	}
	return isToken(s) && g.Identifier(s)
}

// isNamed accepts what identifies a view or a deployment.
func (g *Grammar) isNamed(s string) bool { return isName(s) || g.isIdentifier(s) }

// isRoute accepts what identifies a script route.
func (g *Grammar) isRoute(s string) bool { return s != "route" && s != "runner" && g.isNamed(s) }

func (g *Grammar) isKind(k Segment, s string) bool {
	return g.isIdentifier(s) || k == Name && isName(s)
}

// Parse reads one chain as it stands on the wire, where the empty text is the
// empty chain: everything. For text from a flag or a file use
// Chain.UnmarshalText, to which nothing is not everything. The error is a
// *SyntaxError; a root that the grammar does not know is one.
func (g *Grammar) Parse(chain string) (Chain, error) {
	var s shape
	if err := g.parseKnown(chain, &s); err != nil {
		return Chain{}, err
	}
	return Chain{s.canonical(chain)}, nil
}

// ParseNeed reads a need from text: a chain in the standard or an own root. A
// need without identifier means every instance, and one with * in a place
// means whatever could stand there. Refused with a *SyntaxError: what does not
// parse, a root that the grammar does not know, and the empty chain, since
// nobody needs everything.
func (g *Grammar) ParseNeed(chain string) (n Need, err error) {
	problem := g.parseKnown(chain, &n.shape)
	if problem == nil && n.shape.root == rootAll {
		problem = &SyntaxError{Got: chain, Expected: "a root", Hint: "a need names what is asked for"}
	}
	if problem != nil {
		return Need{}, problem
	}
	return n, nil
}

// parseKnown is parse for those who must know every root.
func (g *Grammar) parseKnown(chain string, s *shape) *SyntaxError {
	err := g.parse(chain, s)
	if err == nil && s.root == rootUnknown {
		p := parser{text: chain}
		return p.fail(0, "a root of the grammar", "")
	}
	return err
}

// Compile makes a Set from a list of chains as it stands on the wire. The
// source, such as "token" or "role editor", is what Explain and Chains name.
//
// A nil or empty list grants nothing; the empty chain in it, or *, grants
// everything. Chains of roots that the grammar does not know grant nothing and
// are listed by Set.Unknown; Vet reports them as errors.
//
// The error joins a *SyntaxError for each chain that does not parse, and the
// Set holds the others: refuse a token on any error; a role may keep the rest.
// A list of more than 1024 chains is refused whole, by one *SyntaxError.
func (g *Grammar) Compile(source string, chains ...string) (Set, error) {
	if len(chains) > maxChains {
		return Set{}, tooMany()
	}
	if len(chains) == 0 {
		return Set{}, nil
	}
	var problems []error
	x := newIndex(source, len(chains))
	for i, chain := range chains {
		var s shape
		switch err := g.parse(chain, &s); {
		case err != nil:
			err.Index = i
			problems = append(problems, err)
		case s.root == rootUnknown:
			x.unknown = append(x.unknown, chain)
		default:
			x.add(&s, s.canonical(chain))
		}
	}
	return Set{[]*index{x}}, errors.Join(problems...)
}

func tooMany() *SyntaxError {
	return &SyntaxError{Index: maxChains, Expected: fmt.Sprintf("at most %d chains", maxChains)}
}

// Vet reports, for those who write chains (minting a token, storing a role),
// everything that is wrong with a list: what does not parse, and what would
// silently grant nothing, because the grammar does not know its root or
// because it can match nothing, such as a property of objects to be deleted.
// The error joins one *SyntaxError for each such chain, or is one for a list of
// more than 1024.
func (g *Grammar) Vet(chains ...string) error {
	if len(chains) > maxChains {
		return tooMany()
	}
	var problems []error
	for i, chain := range chains {
		var s shape
		err := g.parseKnown(chain, &s)
		if err == nil {
			err = s.vet()
		}
		if err != nil {
			err.Index = i
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// vet tells where s, if it can match nothing, goes beyond what can.
func (s *shape) vet() *SyntaxError {
	if !s.matchless() {
		return nil
	}
	whole := *s
	whole.rest = ""
	expected, hint := "no property", "an object is deleted whole: "
	if s.column == columnCreate {
		whole.head[1] = segment{}
		expected, hint = "no identifier", "nothing has an identifier before it is created: "
	}
	p := parser{text: s.text()}
	return p.fail(len(whole.text())+1, expected, hint+fold(whole.text()))
}

// standard is the grammar of the functions that have no receiver.
var standard *Grammar

// Parse is Grammar.Parse of the standard grammar.
func Parse(s string) (Chain, error) { return standard.Parse(s) }

// MustParse is Parse for chains written in the program; it panics on an error.
func MustParse(s string) Chain {
	c, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return c
}

// ParseNeed is Grammar.ParseNeed of the standard grammar.
func ParseNeed(s string) (Need, error) { return standard.ParseNeed(s) }

// Compile is Grammar.Compile of the standard grammar.
func Compile(source string, chains ...string) (Set, error) {
	return standard.Compile(source, chains...)
}

// Vet is Grammar.Vet of the standard grammar.
func Vet(chains ...string) error { return standard.Vet(chains...) }
