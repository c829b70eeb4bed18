package scope

import (
	"slices"
	"strings"
)

// root is the first segment of a chain, or one of the special cases.
type root uint8

const (
	rootNone root = iota // the zero value: no chain
	rootObject
	rootScript
	rootView
	rootDeployment
	rootAdmin
	rootAll     // the empty chain: everything
	rootUnknown // well-formed, but not in the grammar
	roots
)

var rootNames = [...]string{
	rootObject: "object", rootScript: "script", rootView: "view",
	rootDeployment: "deployment", rootAdmin: "admin",
}

// rootOf returns the root of a name, or rootNone.
func rootOf(s string) root {
	for r, name := range &rootNames {
		if name == s {
			return root(r)
		}
	}
	return rootNone
}

// column is the second segment of a chain under a root. Different roots share
// the numbers, since their columns never meet.
type column uint8

const (
	columnCreate column = iota
	columnRead
	columnUpdate
	columnDelete
	columnAny // *
	columns

	columnRoute  = columnCreate
	columnRunner = columnRead
)

var columnNames = [roots][columns]string{
	rootObject:     {"create", "read", "update", "delete", "*"},
	rootScript:     {"route", "runner", "", "", "*"},
	rootView:       {"execute", "", "", "", "*"},
	rootDeployment: {"execute", "", "", "", "*"},
	rootAdmin:      {"", "read", "update", "", "*"},
}

// columnOf returns the column of a verb under a root.
func columnOf(r root, verb string) (column, bool) {
	for c, name := range &columnNames[r] {
		if name == verb {
			return column(c), verb != ""
		}
	}
	return 0, false
}

// shape is a parsed chain in canonical form. The first two segments of an object chain
// are its name and its identifier, and the rest is its property path. The first segment
// of another root is an identifier. "*" stands for any segment. An absent segment is empty.
type shape struct {
	root   root
	column column
	head   [head]string
	rest   string
}

// head is the number of segments before the rest.
const head = 2

// step returns the segment at a depth after the column, and what remains of rest after
// it. At the end it returns "". Depths 0 and 1 do not consume rest; the first call passes
// s.rest.
func (s *shape) step(depth int, rest string) (segment, after string) {
	if depth < head {
		return s.head[depth], rest
	}
	segment, after, _ = cut(rest, '.')
	return segment, after
}

// isEvery reports whether s means every instance of an object name.
func (s *shape) isEvery() bool { return s.head[1] == "" || s.head[1] == "*" }

// matchesNothing reports whether s, as a grant, can match nothing. An object that is about
// to be created has no identifier yet, and an object is deleted whole.
func (s *shape) matchesNothing() bool {
	return s.root == rootObject && (s.column == columnCreate && !s.isEvery() || s.column == columnDelete && s.rest != "")
}

// text returns the canonical chain.
func (s *shape) text() string {
	if s.root == rootAll {
		return "*"
	}
	verb := columnNames[s.root][s.column]
	if s.column == columnAny && s.head[0] == "" {
		verb = ""
	}
	segments := []string{rootNames[s.root], verb, s.head[0], s.head[1], s.rest}
	return strings.Join(slices.DeleteFunc(segments, func(segment string) bool { return segment == "" }), ".")
}

// canonical returns the canonical text of s, which was parsed from chain.
func (s *shape) canonical(chain string) string {
	if s.root == rootAll || s.root == rootScript {
		return s.text()
	}
	return cutStars(chain)
}
