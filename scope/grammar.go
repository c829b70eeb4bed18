package scope

import (
	"errors"
	"fmt"
	"strings"
)

// Bounds of what is parsed, so that hostile input costs little.
const (
	maxLength   = 512  // bytes of a chain
	maxSegments = 32   // of a chain
	maxChains   = 1024 // of a list
)

// Grammar says which chains there are. The zero Grammar, and a nil one, is the
// standard grammar of section 5.5 of the interface. A Grammar must not be
// changed once used; it is safe for concurrent use.
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

// Validate reports roots that could never be used: a name outside
// [a-z][a-z0-9_-]{0,39} or one of the standard roots, verbs that are not such
// words, segments without verbs or of no known kind. Chains of such a root do
// not parse.
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
	if !isRoot(name) || standardRoot(name) != rootNone {
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

func isRoot(s string) bool { return isWord(s, notLower) && 'a' <= s[0] && s[0] <= 'z' }

func standardRoot(s string) root {
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

func (g *Grammar) isIdentifier(s string) bool {
	if g == nil || g.Identifier == nil {
		return isIdentifier(s)
	}
	return s != "" && classify(s)&notIdentifier == 0 && g.Identifier(s)
}

// isNamed accepts what may identify a script route, view or deployment.
func (g *Grammar) isNamed(s string) bool { return isName(s) || g.isIdentifier(s) }

// Parse reads one chain as it stands on the wire, where the empty text is the
// empty chain: everything. For text from a flag or a file use
// Chain.UnmarshalText, to which nothing is not everything. The error is a
// *SyntaxError; a root that the grammar does not know is one.
func (g *Grammar) Parse(s string) (Chain, error) {
	shape, err := g.parseKnown(s)
	if err != nil {
		return Chain{}, err
	}
	return Chain{shape.text()}, nil
}

// ParseNeed reads a need from text: a chain in the standard or an own root. A
// need without identifier means every instance, and one with * in a place
// means whatever could stand there. Refused with a *SyntaxError: what does not
// parse, a root that the grammar does not know, and the empty chain, since
// nobody needs everything.
func (g *Grammar) ParseNeed(s string) (Need, error) {
	shape, err := g.parseKnown(s)
	if err != nil {
		return Need{}, err
	}
	if shape.root == rootAll {
		return Need{}, &SyntaxError{Got: s, Expected: "a root", Hint: "a need names what is asked for"}
	}
	return Need{shape.hashed()}, nil
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
// A list of more than 1024 chains is refused whole.
func (g *Grammar) Compile(source string, chains ...string) (Set, error) {
	if len(chains) > maxChains {
		return Set{}, tooMany()
	}
	var problems []error
	x := &index{source: source}
	for i, text := range chains {
		shape, err := g.parse(text)
		switch {
		case err != nil:
			err.Index = i
			problems = append(problems, err)
		case shape.root == rootUnknown:
			x.unknown = append(x.unknown, text)
		default:
			x.add(shape)
		}
	}
	return Set{[]*index{x}}, errors.Join(problems...)
}

// Vet reports, for those who write chains (minting a token, storing a role),
// everything that is wrong with a list: what does not parse, and what would
// silently grant nothing, because the grammar does not know its root or
// because it can match nothing, such as a property of objects to be deleted.
// The error joins one *SyntaxError for each such chain.
func (g *Grammar) Vet(chains ...string) error {
	if len(chains) > maxChains {
		return tooMany()
	}
	var problems []error
	for i, text := range chains {
		shape, err := g.parseKnown(text)
		if err == nil {
			err = vet(&shape)
		}
		if err != nil {
			err.Index = i
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

func tooMany() *SyntaxError {
	return &SyntaxError{Index: maxChains, Expected: fmt.Sprintf("at most %d chains", maxChains)}
}

func vet(s *shape) *SyntaxError {
	if !s.matchless() {
		return nil
	}
	segments := strings.Split(s.text(), ".")
	at, expected := 3, "no identifier"
	hint := "an object has no identifier before it is created: object.create." + s.first
	if s.column == columnDelete {
		at, expected = 4, "no property"
		hint = "an object is deleted whole: " + strings.Join(segments[:4], ".")
	}
	return &SyntaxError{
		Segment: at, Offset: len(strings.Join(segments[:at], ".")) + 1,
		Got: segments[at], Expected: expected, Hint: "the chain can match nothing; " + hint,
	}
}
