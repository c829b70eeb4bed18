package scope

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tenantkit/tenantkit/internal/ascii"
)

// Limits of what is parsed, so that hostile input costs little.
const (
	maxLength   = 512 // bytes of a chain
	maxSegments = 32  // segments of a chain
	maxPath     = maxSegments - 4
	maxChains   = 1024 // chains of a list
)

// Grammar defines which chains exist. The zero Grammar and a nil *Grammar are the
// standard grammar of section 5.5 of the interface. A Grammar must not be changed once
// used. It is safe for concurrent use if its Identifier is.
type Grammar struct {
	// Identifier reports whether a text is the identifier of an object. If it is nil, an
	// identifier is 24 hexadecimal digits or a UUID.
	//
	// It is only called with segments of letters, digits and any of _-~:@+=. It must
	// refuse every property name. Otherwise a chain that lacks the identifier has its
	// property read as the identifier.
	Identifier func(string) bool
}

func (g *Grammar) isIdentifier(s string) bool {
	if g == nil || g.Identifier == nil {
		return ascii.Hex.Holds(s, 24, 24) || ascii.IsUUID(s, ascii.Hex)
	}
	return isToken(s) && g.Identifier(s)
}

// isNamed reports whether s can identify a view or a deployment.
func (g *Grammar) isNamed(s string) bool { return isName(s) || g.isIdentifier(s) }

// isRoute reports whether s can identify a script route.
func (g *Grammar) isRoute(s string) bool { return s != "route" && s != "runner" && g.isNamed(s) }

// Parse reads one chain from a flag, a variable or a file, and returns its canonical text:
// trailing stars are cut and the aliases of script chains resolved. Chains of equal effect
// have equal canonical texts. An empty text means that nothing was set, so it is refused:
// everything is *. The error is a *SyntaxError. A root that the grammar does not know is an
// error, too.
func (g *Grammar) Parse(chain string) (canonical string, err error) {
	if chain == "" {
		return "", &SyntaxError{Expected: "a chain; everything is *"}
	}
	var s shape
	if err := s.known(chain, g.parse(chain, &s)); err != nil {
		return "", err
	}
	return s.canonical(chain), nil
}

// ParseNeed reads a need from text: a chain that names a root. A need without an identifier means every instance. A * in a need means everything
// that could stand there. ParseNeed returns a *SyntaxError for a text that does not
// parse, and for a root that the grammar does not know. It also refuses the empty chain,
// since nobody needs everything.
func (g *Grammar) ParseNeed(chain string) (n Need, err error) {
	err = g.parseNeed(chain, &n.shape)
	return n, err
}

// parseNeed writes in place, so that ParseNeed is inlined. To copy a shape just after it was
// written is slow.
func (g *Grammar) parseNeed(chain string, s *shape) error {
	problem := s.known(chain, g.parse(chain, s))
	if problem == nil && s.root == rootAll {
		problem = &SyntaxError{Got: chain, Expected: "a root; a need names what is asked for"}
	}
	if problem != nil {
		*s = shape{}
		return problem
	}
	return nil
}

// known returns err, or an error for a root that the grammar does not know.
func (s *shape) known(chain string, err *SyntaxError) *SyntaxError {
	if err == nil && s.root == rootUnknown {
		return fail(chain, 0, "a root of the grammar")
	}
	return err
}

// Compile makes a Set from a list of chains as it stands on the wire. The source, such as
// "token" or "role editor", is the name that Explain and Chains give.
//
// A nil or empty list grants nothing. The empty chain in a list, or *, grants everything.
// Chains of roots that the grammar does not know grant nothing. Set.Unknown lists them,
// and Vet reports them as errors.
//
// The error joins a *SyntaxError for each chain that does not parse, and the Set holds
// the others. Refuse a token on any error; a role may keep the rest. A list of more than
// 1024 chains is refused whole, with one *SyntaxError.
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
	return Set{x.alone[:]}, errors.Join(problems...)
}

func tooMany() *SyntaxError {
	return &SyntaxError{Index: maxChains, Expected: fmt.Sprintf("at most %d chains", maxChains)}
}

// Vet reports everything that is wrong with a list of chains that is about to be put into
// a token or stored with a role. It reports each chain that does not parse, and each that
// would silently grant nothing. Such a chain has a root that the grammar does not know,
// or it can match nothing, like object.delete.c_note.*.title. The error joins one
// *SyntaxError for each such chain. A list of more than 1024 chains gets one error.
func (g *Grammar) Vet(chains ...string) error {
	if len(chains) > maxChains {
		return tooMany()
	}
	var problems []error
	for i, chain := range chains {
		var s shape
		err := s.known(chain, g.parse(chain, &s))
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

// vet returns where s exceeds what can match, or nil if s can match something.
func (s *shape) vet() *SyntaxError {
	if !s.matchesNothing() {
		return nil
	}
	whole := *s
	whole.rest = ""
	expected := "no property; an object is deleted whole: "
	if s.column == columnCreate {
		whole.head[1] = ""
		expected = "no identifier; nothing has an identifier before it is created: "
	}
	text := whole.text()
	return fail(s.text(), strings.Count(text, ".")+1, expected+cutStars(text))
}

// standard is the grammar of the functions without a receiver.
var standard *Grammar

// ParseNeed is Grammar.ParseNeed of the standard grammar.
func ParseNeed(s string) (Need, error) { return standard.ParseNeed(s) }

// Compile is Grammar.Compile of the standard grammar.
func Compile(source string, chains ...string) (Set, error) {
	return standard.Compile(source, chains...)
}

// Vet is Grammar.Vet of the standard grammar.
func Vet(chains ...string) error { return standard.Vet(chains...) }
