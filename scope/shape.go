package scope

import (
	"iter"
	"strings"
)

// root is the first segment of a chain, and what stands for it.
type root uint8

const (
	rootNone root = iota // the zero value: nothing
	rootOwn              // from Grammar.Roots
	rootObject
	rootScript
	rootView
	rootDeployment
	rootAdmin
	indexed     // the roots above have a node each in an index
	rootAll     // the empty chain: everything
	rootUnknown // well-formed, not in the grammar
)

var rootNames = [indexed]string{
	rootObject: "object", rootScript: "script", rootView: "view",
	rootDeployment: "deployment", rootAdmin: "admin",
}

// column is the second segment of a chain under a standard root. Roots share
// the numbers, since columns of different roots never meet.
type column uint8

const (
	columnCreate column = iota
	columnRead
	columnUpdate
	columnDelete
	columnAny // *
	columns

	columnRoute   = columnCreate
	columnRunner  = columnRead
	columnExecute = columnCreate
)

var columnNames = [indexed][columns]string{
	rootObject:     {"create", "read", "update", "delete", "*"},
	rootScript:     {"route", "runner", "", "", "*"},
	rootView:       {"execute", "", "", "", "*"},
	rootDeployment: {"execute", "", "", "", "*"},
	rootAdmin:      {"", "read", "update", "", "*"},
}

// objectColumn is columnOf for an object.
func objectColumn(verb string) (column, bool) {
	switch verb {
	case "create":
		return columnCreate, true
	case "read":
		return columnRead, true
	case "update":
		return columnUpdate, true
	case "delete":
		return columnDelete, true
	}
	return columnAny, verb == "*"
}

// columnOf returns the column of a verb under a standard root.
func columnOf(r root, verb string) (column, bool) {
	for c, name := range &columnNames[r] {
		if name == verb {
			return column(c), verb != ""
		}
	}
	return 0, false
}

// shape is a parsed chain in canonical form. The first and second of an object
// chain are its name and identifier, the rest its property path; the first of the
// other standard roots is an identifier. A chain of an own root has no column,
// and the root itself is the first segment. "*" stands for any segment, and
// what is absent is empty.
//
// The head is hashed beforehand: most needs end there.
type shape struct {
	root   root
	column column
	typed  bool // the first segment has a type
	head   [2]segment
	rest   string
}

// head is the number of segments before the rest: the first and the second.
const head = 2

// step returns the segment at a depth behind the column, none at the end, and
// what of the rest is left behind it. It begins with s.rest.
func (s *shape) step(depth int, rest string) (segment, string) {
	switch depth {
	case 0:
		return s.head[0], rest
	case 1:
		return s.head[1], rest
	}
	return step(rest)
}

func step(path string) (segment, string) {
	text, rest, _ := cut(path, '.')
	return newSegment(text), rest
}

// columns yields the columns that s stands in as a grant.
func (s *shape) columns() iter.Seq[column] {
	first, last := s.column, s.column
	if first == columnAny {
		first = 0
	}
	return func(yield func(column) bool) {
		for c := first; c <= last; c++ {
			if !yield(c) {
				return
			}
		}
	}
}

// matchless tells whether s, as a grant, can match nothing.
func (s *shape) matchless() bool { return s.matchlessIn(s.column) }

// matchlessIn tells whether s can match nothing when it stands in column c:
// what is about to be created has no identifier yet, and what is deleted is
// deleted whole.
func (s *shape) matchlessIn(c column) bool {
	if s.root != rootObject {
		return false
	}
	return c == columnCreate && s.head[1].text != "" && s.head[1].text != "*" || c == columnDelete && s.rest != ""
}

// text returns the canonical chain.
func (s *shape) text() string {
	var segments []string
	switch s.root {
	case rootNone:
		return ""
	case rootAll:
		return "*"
	case rootOwn, rootUnknown:
	default:
		segments = append(segments, rootNames[s.root])
		if s.column != columnAny || s.head[0].text != "" {
			segments = append(segments, columnNames[s.root][s.column])
		}
	}
	for _, segment := range []string{s.head[0].text, s.head[1].text, s.rest} {
		if segment != "" {
			segments = append(segments, segment)
		}
	}
	return strings.Join(segments, ".")
}

// canonical returns s as text, given the text it was parsed from.
func (s *shape) canonical(chain string) string {
	if s.root == rootAll || s.root == rootScript {
		return s.text()
	}
	return fold(chain)
}

// shapeOf takes canonical text apart, of whatever grammar it is.
func shapeOf(text string) shape {
	if text == "*" {
		return shape{root: rootAll}
	}
	name, rest, _ := cut(text, '.')
	r := rootOf(name)
	if r == rootNone {
		return splitOff(rootOwn, text)
	}
	verb, rest, _ := cut(rest, '.')
	c := columnAny
	if verb != "" {
		c, _ = columnOf(r, verb)
	}
	s := splitOff(r, rest)
	s.column = c
	return s
}

// splitOff makes a shape from the segments behind the column.
func splitOff(r root, text string) shape {
	first, rest, _ := cut(text, '.')
	second, rest, _ := cut(rest, '.')
	typed := strings.IndexByte(first, '#') >= 0
	return shape{root: r, typed: typed, head: [2]segment{newSegment(first), newSegment(second)}, rest: rest}
}
