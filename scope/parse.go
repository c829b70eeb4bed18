package scope

import (
	"fmt"
	"strings"
)

// SyntaxError describes where and why a chain does not parse.
type SyntaxError struct {
	Index    int    // of the chain in the list given; 0 for a single chain
	Segment  int    // counted from 0
	Offset   int    // of the segment in the chain, in bytes
	Got      string // the segment, cut after 64 bytes; empty if the chain ends too early
	Expected string // what could stand there, and sometimes what was probably meant
}

// Reason describes the error within the chain. It counts segments from 1. This part of
// Error may be shown to the author of the chain.
func (e *SyntaxError) Reason() string {
	return fmt.Sprintf("segment %d: got %q, expected %s", e.Segment+1, e.Got, e.Expected)
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("scope: chain %d, %s", e.Index, e.Reason())
}

// parser reads one chain. Its methods take the offset at which a segment begins, and
// continue from there. The offset after the last segment is len(text)+1.
type parser struct {
	grammar *Grammar
	text    string // without trailing stars
}

// segment returns the segment that begins at an offset, and the offset of the next one.
func (p *parser) segment(at int) (segment string, next int) {
	rest := p.text[at:]
	if i := strings.IndexByte(rest, '.'); i >= 0 {
		return rest[:i], at + i + 1
	}
	return rest, len(p.text) + 1
}

func (p *parser) ended(at int) bool { return at > len(p.text) }

func (p *parser) fail(at int, expected string) *SyntaxError {
	got, _ := p.segment(at)
	return &SyntaxError{
		Segment:  strings.Count(p.text[:at], "."),
		Offset:   at,
		Got:      got[:min(len(got), 64)],
		Expected: expected,
	}
}

// parse reads a chain into s, which must be zero. A root that the grammar does not know
// gives rootUnknown, not an error.
func (g *Grammar) parse(text string, s *shape) *SyntaxError {
	if len(text) > maxLength || strings.Count(text, ".") >= maxSegments {
		return oversize(text)
	}
	p := parser{g, cutStars(text)}
	if p.text == "" || p.text == "*" {
		s.root = rootAll
		return nil
	}
	name, at := p.segment(0)
	s.root = rootOf(name)
	switch s.root {
	case rootObject:
		return p.object(at, s)
	case rootScript:
		return p.script(at, s)
	case rootView, rootDeployment, rootAdmin:
		return p.simple(at, s)
	}
	return p.unknown(name, at, s)
}

// oversize returns the error for a chain that is too long or has too many segments.
func oversize(text string) *SyntaxError {
	if len(text) > maxLength {
		return &SyntaxError{Offset: maxLength, Got: text[:64], Expected: "at most 512 bytes"}
	}
	p, at := parser{text: text}, 0
	for range maxSegments {
		_, at = p.segment(at)
	}
	return p.fail(at, "at most 32 segments")
}

// cutStars cuts trailing stars. They have no effect, because a chain covers by prefix.
func cutStars(text string) string {
	for len(text) > 2 && text[len(text)-1] == '*' && text[len(text)-2] == '.' {
		text = text[:len(text)-2]
	}
	return text
}

// verb reads the second segment, if there is one.
func (p *parser) verb(at int, s *shape) (next int, err *SyntaxError) {
	s.column = columnAny
	if p.ended(at) {
		return at, nil
	}
	verb, next := p.segment(at)
	var ok bool
	if s.column, ok = columnOf(s.root, verb); !ok {
		return 0, p.fail(at, verbsOf(s.root)+" or *"+verbHint(s.root, verb))
	}
	return next, nil
}

func (p *parser) object(at int, s *shape) *SyntaxError {
	nameAt, err := p.verb(at, s)
	if err != nil || p.ended(nameAt) {
		return err
	}
	name, idAt := p.segment(nameAt)
	if !isObject(name) && name != "*" {
		return p.fail(nameAt, "an object name or *")
	}
	s.head[0] = name
	if p.ended(idAt) {
		return nil
	}
	id, at := p.segment(idAt)
	if !p.grammar.isIdentifier(id) && id != "*" {
		return p.fail(idAt, "an identifier or *"+identifierHint(s, id))
	}
	s.head[1] = id
	if p.ended(at) {
		return nil
	}
	s.rest = p.text[at:]
	for !p.ended(at) {
		property, next := p.segment(at)
		if !isProperty(property) {
			return p.fail(at, "a property")
		}
		at = next
	}
	return nil
}

func identifierHint(s *shape, got string) string {
	if !isProperty(got) {
		return ""
	}
	return "; an identifier or * stands before a property: " + s.text() + ".*." + got
}

func (p *parser) script(at int, s *shape) *SyntaxError {
	s.column = columnAny
	if p.ended(at) {
		return nil
	}
	kind, next := p.segment(at)
	executes := kind == "execute"
	if executes {
		if p.ended(next) {
			return nil
		}
		at = next
		kind, next = p.segment(at)
	}
	switch {
	case kind == "runner":
		s.column = columnRunner
		return p.done(next, "; the runner has no identifier: script.runner")
	case kind == "route", kind == "*" && !executes: // only a route has an identifier
		s.column = columnRoute
		return p.named(next, s, p.grammar.isRoute, "the identifier of a route; the others are script.route and script.runner")
	case p.grammar.isRoute(kind):
		return p.fail(at, "route, runner, execute or *; one route is script.route."+kind)
	}
	return p.fail(at, "route, runner, execute or *")
}

// named reads the one segment that may follow, if it is there.
func (p *parser) named(at int, s *shape, is func(string) bool, expected string) *SyntaxError {
	if p.ended(at) {
		return nil
	}
	name, next := p.segment(at)
	if !is(name) {
		return p.fail(at, expected)
	}
	s.head[0] = name
	return p.done(next, "")
}

// simple reads view, deployment and admin chains.
func (p *parser) simple(at int, s *shape) *SyntaxError {
	at, err := p.verb(at, s)
	if err != nil {
		return err
	}
	if s.root == rootAdmin {
		return p.done(at, "")
	}
	return p.named(at, s, p.grammar.isNamed, "a name or an identifier")
}

func verbsOf(r root) string {
	var verbs []string
	for _, name := range columnNames[r][:columnAny] {
		if name != "" {
			verbs = append(verbs, name)
		}
	}
	return strings.Join(verbs, ", ")
}

func verbHint(r root, verb string) string {
	if _, ok := columnOf(rootObject, verb); !ok || r != rootDeployment {
		return ""
	}
	return "; deployments themselves are objects: object." + verb + ".deployment"
}

// done returns an error if there is a further segment.
func (p *parser) done(at int, hint string) *SyntaxError {
	if p.ended(at) {
		return nil
	}
	return p.fail(at, "nothing more"+hint)
}

// unknown checks the form of a chain whose root the grammar does not know.
func (p *parser) unknown(name string, at int, s *shape) *SyntaxError {
	if !isRoot(name) {
		return p.fail(0, "a root, in lower case")
	}
	s.root = rootUnknown
	for !p.ended(at) {
		segment, next := p.segment(at)
		if segment != "*" && !isProperty(segment) && !isToken(segment) {
			return p.fail(at, "a segment or *")
		}
		at = next
	}
	return nil
}
