package scope

import (
	"hash/maphash"
	"strings"
)

// root is the first segment of a chain, and what stands for it.
type root uint8

const (
	rootNone    root = iota // the zero value: nothing
	rootAll                 // the empty chain: everything
	rootUnknown             // well-formed, not in the grammar
	rootCustom              // from Grammar.Roots
	rootObject
	rootScript
	rootView
	rootDeployment
	rootAdmin
	roots
)

var rootNames = [roots]string{
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

var columnNames = [roots][columns]string{
	rootObject:     {"create", "read", "update", "delete", "*"},
	rootScript:     {"route", "runner", "", "", "*"},
	rootView:       {"execute", "", "", "", "*"},
	rootDeployment: {"execute", "", "", "", "*"},
	rootAdmin:      {"", "read", "update", "", "*"},
}

// columnOf returns the column of a verb under a standard root.
func columnOf(r root, verb string) (column, bool) {
	for c, name := range columnNames[r] {
		if name == verb && name != "" {
			return column(c), true
		}
	}
	return 0, false
}

// shape is a parsed chain in canonical form. For an object chain, first is the
// object name, second the identifier, rest the property path; for the other
// standard roots first is the identifier. A chain of a custom root begins with
// the root itself as first and has no column. "*" stands for any segment; what
// is absent is "".
type shape struct {
	root                  root
	column                column
	first, second, rest   string
	firstHash, secondHash uint64
}

// seed is the process's own, so that nobody can choose chains that collide.
var seed = maphash.MakeSeed()

func hash(segment string) uint64 { return maphash.String(seed, segment) }

// hashed fills in the hashes.
func (s shape) hashed() shape {
	if s.first != "" {
		s.firstHash = hash(s.first)
	}
	if s.second != "" {
		s.secondHash = hash(s.second)
	}
	return s
}

// matchless tells whether s, as a grant, can match nothing: what is about to
// be created has no identifier yet, and what is deleted is deleted whole.
func (s *shape) matchless() bool {
	if s.root != rootObject {
		return false
	}
	return s.column == columnCreate && s.second != "" && s.second != "*" ||
		s.column == columnDelete && s.rest != ""
}

// text returns the canonical chain.
func (s *shape) text() string {
	var segments []string
	switch s.root {
	case rootNone:
		return ""
	case rootAll:
		return "*"
	case rootCustom, rootUnknown:
	default:
		segments = append(segments, rootNames[s.root])
		if s.column != columnAny || s.first != "" {
			segments = append(segments, columnNames[s.root][s.column])
		}
	}
	for _, segment := range []string{s.first, s.second, s.rest} {
		if segment != "" {
			segments = append(segments, segment)
		}
	}
	return strings.Join(segments, ".")
}
