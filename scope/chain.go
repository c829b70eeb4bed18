package scope

import (
	"cmp"
	"strings"

	"github.com/tenantkit/tenantkit/internal/ascii"
)

// meet returns the chain that covers what both s and t cover. ok is false if that is
// nothing.
func (s *shape) meet(t *shape) (both shape, ok bool) {
	switch {
	case s.root == rootAll:
		return *t, true
	case t.root == rootAll:
		return *s, true
	case s.root != t.root:
		return shape{}, false
	}
	both.root, both.column = s.root, min(s.column, t.column) // columnAny is the greatest
	if s.column != t.column && max(s.column, t.column) != columnAny {
		return shape{}, false
	}
	for i := range head {
		if both.head[i], ok = meetSegments(s.head[i], t.head[i]); !ok {
			return shape{}, false
		}
	}
	both.rest, ok = meetPaths(s.rest, t.rest)
	return both, ok
}

// meetSegments returns what both segments cover. An absent one covers everything.
func meetSegments(a, b string) (both string, ok bool) {
	switch {
	case a == "" || b == "":
		return a + b, true
	case segmentCovers(a, b):
		return b, true
	}
	return a, segmentCovers(b, a)
}

// meetPaths is meetSegments for property paths.
func meetPaths(c, d string) (both string, ok bool) {
	if c == "" || d == "" {
		return c + d, true
	}
	a, c, _ := cut(c, '.')
	b, d, _ := cut(d, '.')
	segment, ok := meetSegments(a, b)
	if !ok {
		return "", false
	}
	rest, ok := meetPaths(c, d)
	if rest != "" {
		segment += "." + rest
	}
	return segment, ok
}

// satisfied returns how many leading segments of s a need satisfies. After its end a need
// means *.
func (s *shape) satisfied(need *shape) int {
	switch {
	case s.root != need.root:
		return 0
	case s.column != need.column && s.column != columnAny:
		return 1
	}
	for depth, rest, asked := 0, s.rest, need.rest; ; depth++ {
		var granted, wanted string
		granted, rest = s.step(depth, rest)
		wanted, asked = need.step(depth, asked)
		if granted == "" || !segmentCovers(granted, cmp.Or(wanted, "*")) {
			return 2 + depth
		}
	}
}

// segmentCovers reports whether granted is equal to asked, is *, or is asked without its
// type.
func segmentCovers(granted, asked string) bool {
	if granted == "*" || granted == asked {
		return true
	}
	kind, longer := strings.CutPrefix(asked, granted)
	return longer && kind[0] == '#' && strings.IndexByte(granted, '#') < 0
}

// cut is strings.Cut at one byte, which is faster.
func cut(s string, separator byte) (before, after string, found bool) {
	if i := strings.IndexByte(s, separator); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// cutWord cuts at a dot. A root, a verb or a name is so short that an inlined loop is faster than
// a call of cut.
func cutWord(s string) (word, after string, found bool) {
	for i := range len(s) {
		if s[i] == '.' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

const maxName = 40

func isName(s string) bool { return ascii.Name.Holds(s, 1, maxName) }

func isLower(s string) bool { return ascii.LowerName.Holds(s, 1, maxName) }

// isRoot reports whether s has the form of a root or a verb.
func isRoot(s string) bool { return isLower(s) && 'a' <= s[0] && s[0] <= 'z' }

// isObject reports whether s is an object name, with or without a type: c_note,
// c_note#c_memo.
func isObject(s string) bool {
	if isLower(s) { // nearly every name has no type
		return true
	}
	base, kind, typed := cut(s, '#')
	return typed && isLower(base) && isLower(kind)
}

// isProperty reports whether s is one segment of a property path: c_set, c_set[],
// c_set[]#c_foo, c_set#c_foo.
func isProperty(s string) bool {
	name, kind, typed := cut(s, '#')
	return isName(strings.TrimSuffix(name, "[]")) && (!typed || isName(kind))
}

// isPath reports whether s is a property path. The empty text is one.
func isPath(s string) bool {
	// Nearly every path is one plain name. A list handler checks one for each property of each item.
	if s == "" || isName(s) {
		return true
	}
	for segment := range strings.SplitSeq(s, ".") {
		if !isProperty(segment) {
			return false
		}
	}
	return strings.Count(s, ".") < maxPath
}

// isToken reports whether some grammar could have s as an identifier.
func isToken(s string) bool { return s != "" && ascii.Identifier.Only(s) }
