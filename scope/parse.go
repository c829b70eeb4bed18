package scope

import (
	"slices"
	"strings"
)

// parser walks the segments of one chain.
type parser struct {
	grammar *Grammar
	rest    string // behind the current segment; meaningful while more
	more    bool
	got     string // the current segment
	segment int
	offset  int
}

func (p *parser) next() bool {
	if !p.more {
		return false
	}
	p.offset += len(p.got)
	p.segment++
	if p.segment > 0 {
		p.offset++
	}
	p.got, p.rest, p.more = strings.Cut(p.rest, ".")
	return true
}

func (p *parser) fail(expected, hint string) *SyntaxError {
	return &SyntaxError{
		Segment: p.segment, Offset: p.offset,
		Got: p.got[:min(len(p.got), 64)], Expected: expected, Hint: hint,
	}
}

// parseKnown is parse for those who must know every root.
func (g *Grammar) parseKnown(s string) (shape, *SyntaxError) {
	sh, err := g.parse(s)
	if err == nil && sh.root == rootUnknown {
		p := parser{got: sh.first}
		return shape{}, p.fail("a root of the grammar", "")
	}
	return sh, err
}

func (g *Grammar) parse(s string) (shape, *SyntaxError) {
	if len(s) > maxLength {
		return shape{}, &SyntaxError{Segment: 0, Offset: maxLength, Got: s[:64], Expected: "at most 512 bytes"}
	}
	if strings.Count(s, ".") >= maxSegments {
		return shape{}, &SyntaxError{Segment: maxSegments, Expected: "at most 32 segments"}
	}
	text := fold(s)
	if text == "" || text == "*" {
		return shape{root: rootAll}, nil
	}
	p := parser{grammar: g, rest: text, more: true, segment: -1}
	p.next()
	switch r := standardRoot(p.got); r {
	case rootObject:
		return p.object()
	case rootScript:
		return p.script()
	case rootView, rootDeployment, rootAdmin:
		return p.simple(r)
	}
	if g != nil {
		if own, ok := g.Roots[p.got]; ok && own.validate(p.got) == nil {
			return p.own(own, text)
		}
	}
	return p.unknown(text)
}

// fold cuts trailing stars: a chain covers by prefix, so they say nothing.
func fold(s string) string {
	for len(s) > 2 && strings.HasSuffix(s, ".*") {
		s = s[:len(s)-2]
	}
	return s
}

func (p *parser) object() (shape, *SyntaxError) {
	s := shape{root: rootObject, column: columnAny}
	if !p.next() {
		return s, nil
	}
	var ok bool
	if s.column, ok = columnOf(rootObject, p.got); !ok {
		return shape{}, p.fail("create, read, update, delete or *", "")
	}
	if !p.next() {
		return s, nil
	}
	if s.first = p.got; s.first != "*" && !isObject(s.first) {
		return shape{}, p.fail("an object name or *", "")
	}
	if !p.next() {
		return s, nil
	}
	if s.second = p.got; s.second != "*" && !p.grammar.isIdentifier(s.second) {
		hint := ""
		if isProperty(p.got) {
			hint = "an identifier or * stands before a property: object." + columnNames[rootObject][s.column] + "." + s.first + ".*." + p.got
		}
		return shape{}, p.fail("an identifier or *", hint)
	}
	s.rest = p.rest
	for p.next() {
		if !isProperty(p.got) {
			return shape{}, p.fail("a property", "")
		}
	}
	return s, nil
}

func (p *parser) script() (shape, *SyntaxError) {
	s := shape{root: rootScript, column: columnAny}
	if !p.next() {
		return s, nil
	}
	executes := p.got == "execute"
	if executes && !p.next() {
		return s, nil
	}
	switch p.got {
	case "route":
		s.column = columnRoute
	case "runner":
		s.column = columnRunner
	case "*":
		if executes {
			return shape{}, p.fail("route or runner", "")
		}
		s.column = columnRoute // only a route has an identifier
	default:
		hint := ""
		if executes && p.grammar.isNamed(p.got) {
			hint = "one route is script.route." + p.got
		}
		return shape{}, p.fail("route, runner, execute or *", hint)
	}
	if !p.next() {
		return s, nil
	}
	if s.column == columnRunner {
		return shape{}, p.fail("nothing after runner", "")
	}
	if s.first = p.got; p.got == "route" || p.got == "runner" || !p.grammar.isNamed(p.got) {
		return shape{}, p.fail("the identifier of a route", "")
	}
	if p.next() {
		return shape{}, p.fail("nothing after the identifier", "")
	}
	return s, nil
}

// simple parses view, deployment and admin chains.
func (p *parser) simple(r root) (shape, *SyntaxError) {
	s := shape{root: r, column: columnAny}
	if !p.next() {
		return s, nil
	}
	var ok bool
	if s.column, ok = columnOf(r, p.got); !ok {
		return shape{}, p.fail(verbsOf(r), objectHint(r, p.got))
	}
	if !p.next() {
		return s, nil
	}
	if r == rootAdmin {
		return shape{}, p.fail("nothing after the verb", "")
	}
	if s.first = p.got; !p.grammar.isNamed(p.got) {
		return shape{}, p.fail("a name or an identifier", "")
	}
	if p.next() {
		return shape{}, p.fail("nothing after the identifier", "")
	}
	return s, nil
}

func verbsOf(r root) string {
	if r == rootAdmin {
		return "read, update or *"
	}
	return "execute or *"
}

func objectHint(r root, verb string) string {
	if _, ok := columnOf(rootObject, verb); ok && r == rootDeployment {
		return "deployments themselves are objects: object." + verb + ".deployment"
	}
	return ""
}

func (p *parser) own(r Root, text string) (shape, *SyntaxError) {
	for i := -1; p.next(); i++ {
		switch {
		case i >= len(r.Segments) || i < 0 && len(r.Verbs) == 0:
			return shape{}, p.fail("nothing more", "")
		case p.got == "*":
		case i < 0 && !slices.Contains(r.Verbs, Verb(p.got)):
			return shape{}, p.fail("a verb of the root or *", "")
		case i >= 0 && r.Segments[i] == Name && !p.grammar.isNamed(p.got):
			return shape{}, p.fail("a name, an identifier or *", "")
		case i >= 0 && r.Segments[i] == Identifier && !p.grammar.isIdentifier(p.got):
			return shape{}, p.fail("an identifier or *", "")
		}
	}
	return split(rootCustom, text), nil
}

// unknown checks the form of a chain whose root the grammar does not know.
func (p *parser) unknown(text string) (shape, *SyntaxError) {
	if !isRoot(p.got) {
		return shape{}, p.fail("a root, in lower case", "")
	}
	for p.next() {
		if p.got != "*" && !isProperty(p.got) && (p.got == "" || classify(p.got)&notIdentifier != 0) {
			return shape{}, p.fail("a segment or *", "")
		}
	}
	return split(rootUnknown, text), nil
}

// split makes a shape of segments without a column.
func split(r root, text string) shape {
	s := shape{root: r}
	s.first, s.rest, _ = strings.Cut(text, ".")
	s.second, s.rest, _ = strings.Cut(s.rest, ".")
	return s
}
