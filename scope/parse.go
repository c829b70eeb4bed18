package scope

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/internal/ascii"
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

// fail returns the error for a segment of a chain, counted from 0, or the one for a chain of too many
// segments.
func fail(chain string, segment int, expected string) *SyntaxError {
	segments := strings.Split(chain, ".")
	if len(segments) > maxSegments {
		segment, expected = maxSegments, "at most 32 segments"
	}
	got := segments[segment]
	return &SyntaxError{
		Segment:  segment,
		Offset:   len(strings.Join(segments[:segment], ".")) + min(segment, 1),
		Got:      got[:min(len(got), 64)],
		Expected: expected,
	}
}

// parse reads a chain into s, which must be zero. A root that the grammar does not know
// gives rootUnknown, not an error.
func (g *Grammar) parse(chain string, s *shape) *SyntaxError {
	switch {
	case len(chain) > maxLength:
		return &SyntaxError{Offset: maxLength, Got: chain[:64], Expected: "at most 512 bytes"}
	case len(chain) > 2*maxSegments && strings.Count(chain, ".") >= maxSegments: // a shorter one fails at an empty segment
		return fail(chain, maxSegments, "")
	}
	text := cutStars(chain)
	if text == "" || text == "*" {
		s.root = rootAll
		return nil
	}
	name, after, more := cutWord(text)
	s.root, s.column = rootOf(name), columnAny
	switch {
	case s.root == rootNone:
		s.root = rootUnknown
		return parseUnknown(chain, text)
	case !more:
		return nil
	case s.root == rootScript:
		return g.script(chain, after, s)
	}
	verb, after, more := cutWord(after)
	var ok bool
	if s.column, ok = columnOf(s.root, verb); !ok {
		return fail(chain, 1, expectedVerb(s.root, verb))
	}
	if !more {
		return nil
	}
	if s.root == rootObject {
		return g.object(chain, after, s)
	}
	name, _, more = cut(after, '.')
	switch {
	case s.root == rootAdmin:
		return fail(chain, 2, "nothing more")
	case !g.isNamed(name):
		return fail(chain, 2, "a name or an identifier")
	case more:
		return fail(chain, 3, "nothing more")
	}
	s.head[0] = name
	return nil
}

// cutStars cuts trailing stars. They have no effect, because a chain covers by prefix.
func cutStars(text string) string {
	for len(text) > 2 && text[len(text)-1] == '*' && text[len(text)-2] == '.' {
		text = text[:len(text)-2]
	}
	return text
}

// parseUnknown checks the form of a chain whose root the grammar does not know.
func parseUnknown(chain, text string) *SyntaxError {
	segment, after, more := cut(text, '.')
	if !isRoot(segment) {
		return fail(chain, 0, "a root, in lower case")
	}
	for i := 1; more; i++ {
		segment, after, more = cut(after, '.')
		if segment != "*" && !isProperty(segment) && !isToken(segment) {
			return fail(chain, i, "a segment or *")
		}
	}
	return nil
}

// expectedVerb returns what could stand in place of a verb that the root does not have.
func expectedVerb(r root, verb string) string {
	verbs := slices.DeleteFunc(slices.Clone(columnNames[r][:columnAny]), func(name string) bool { return name == "" })
	expected := strings.Join(verbs, ", ") + " or *"
	if _, ok := columnOf(rootObject, verb); ok && r == rootDeployment {
		expected += "; deployments themselves are objects: object." + verb + ".deployment"
	}
	return expected
}

// object reads what follows the verb of an object chain.
func (g *Grammar) object(chain, text string, s *shape) *SyntaxError {
	lower := ascii.LowerName.Span(text) // most names end here, so that nothing is read twice
	tail, after, more := cutWord(text[lower:])
	name := text[:lower+len(tail)]
	if (tail != "" || lower == 0 || lower > maxName) && !isObject(name) && name != "*" {
		return fail(chain, 2, "an object name or *")
	}
	s.head[0] = name
	if !more {
		return nil
	}
	if g.isIdentifier(after) { // so end most chains
		s.head[1] = after
		return nil
	}
	id, after, more := cut(after, '.')
	if id != "*" && (!more || !g.isIdentifier(id)) { // without more it was refused just now
		expected := "an identifier or *"
		if isProperty(id) {
			expected += "; an identifier or * stands before a property: " + s.text() + ".*." + id
		}
		return fail(chain, 3, expected)
	}
	s.head[1], s.rest = id, after
	for i := 2 + head; more; i++ {
		var property string
		property, after, more = cut(after, '.')
		if !isProperty(property) {
			return fail(chain, i, "a property")
		}
	}
	return nil
}

// script reads what follows the root script, with the aliases of the interface.
func (g *Grammar) script(chain, text string, s *shape) *SyntaxError {
	kind, after, named := cut(text, '.')
	at, executes := 1, kind == "execute"
	if executes && !named {
		return nil
	}
	if executes {
		kind, after, named = cut(after, '.')
		at++
	}
	name, _, further := cut(after, '.')
	switch {
	case kind == "runner" && named:
		return fail(chain, at+1, "nothing more; the runner has no identifier: script.runner")
	case kind == "runner":
		s.column = columnRunner
	case kind != "route" && (kind != "*" || executes): // only a route has an identifier
		expected := "route, runner, execute or *"
		if g.isRoute(kind) {
			expected += "; one route is script.route." + kind
		}
		return fail(chain, at, expected)
	case named && !g.isRoute(name):
		return fail(chain, at+1, "the identifier of a route; the others are script.route and script.runner")
	case further:
		return fail(chain, at+2, "nothing more")
	default:
		s.column = columnRoute
		s.head[0] = name
	}
	return nil
}
