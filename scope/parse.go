package scope

import (
	"fmt"
	"slices"
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

// fail returns the error for a segment of a chain, counted from 0.
func fail(chain string, segment int, expected string) *SyntaxError {
	segments := strings.Split(chain, ".")
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
	case strings.Count(chain, ".") >= maxSegments:
		return fail(chain, maxSegments, "at most 32 segments")
	}
	chain = cutStars(chain)
	if chain == "" || chain == "*" {
		s.root = rootAll
		return nil
	}
	s.column = columnAny
	for i, at := 0, 0; at <= len(chain); i++ {
		segment := chain[at:]
		if end := strings.IndexByte(segment, '.'); end >= 0 {
			segment = segment[:end]
		}
		var expected string
		switch {
		case i == 0:
			expected = s.readRoot(segment)
		case s.root == rootObject && i > 1:
			expected = g.readObject(s, i, segment)
		default:
			expected = g.read(s, i, segment)
		}
		if expected != "" {
			return fail(chain, i, expected)
		}
		if s.root == rootScript {
			return g.script(chain, s)
		}
		if s.root == rootObject && i == 2+head {
			s.rest = chain[at:]
		}
		at += len(segment) + 1
	}
	return nil
}

// cutStars cuts trailing stars. They have no effect, because a chain covers by prefix.
func cutStars(text string) string {
	for len(text) > 2 && text[len(text)-1] == '*' && text[len(text)-2] == '.' {
		text = text[:len(text)-2]
	}
	return text
}

// read reads a segment after the root, counted from 0, into s. If the segment is wrong, it
// returns what could stand there.
func (g *Grammar) read(s *shape, i int, segment string) (expected string) {
	switch {
	case s.root == rootUnknown:
		if segment != "*" && !isProperty(segment) && !isToken(segment) {
			return "a segment or *"
		}
	case i == 1:
		return s.readVerb(segment)
	case s.root == rootAdmin || i > 2:
		return "nothing more"
	case !g.isNamed(segment):
		return "a name or an identifier"
	default:
		s.head[0] = segment
	}
	return ""
}

func (s *shape) readRoot(name string) (expected string) {
	if s.root = rootOf(name); s.root != rootNone {
		return ""
	}
	s.root = rootUnknown
	if !isRoot(name) {
		return "a root, in lower case"
	}
	return ""
}

func (s *shape) readVerb(verb string) (expected string) {
	var ok bool
	if s.column, ok = columnOf(s.root, verb); ok {
		return ""
	}
	verbs := slices.DeleteFunc(slices.Clone(columnNames[s.root][:columnAny]), func(name string) bool { return name == "" })
	expected = strings.Join(verbs, ", ") + " or *"
	if _, ok := columnOf(rootObject, verb); ok && s.root == rootDeployment {
		expected += "; deployments themselves are objects: object." + verb + ".deployment"
	}
	return expected
}

// readObject reads what follows the verb of an object chain.
func (g *Grammar) readObject(s *shape, i int, segment string) (expected string) {
	switch {
	case i >= 2+head:
		if !isProperty(segment) {
			return "a property"
		}
		return ""
	case i == 2 && !isObject(segment) && segment != "*":
		return "an object name or *"
	case i == 3 && !g.isIdentifier(segment) && segment != "*":
		if isProperty(segment) {
			return "an identifier or *; an identifier or * stands before a property: " + s.text() + ".*." + segment
		}
		return "an identifier or *"
	}
	s.head[i-2] = segment
	return ""
}

// script reads a chain of the root script, with the aliases of the interface.
func (g *Grammar) script(chain string, s *shape) *SyntaxError {
	_, after, more := cut(chain, '.')
	kind, after, named := cut(after, '.')
	at, executes := 1, kind == "execute"
	if executes {
		more = named
		kind, after, named = cut(after, '.')
		at++
	}
	if !more {
		return nil
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
