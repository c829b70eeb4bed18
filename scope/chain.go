package scope

import (
	"strings"

	"github.com/tenantkit/tenantkit/internal/ascii"
)

// covers reports whether c, as a grant, covers d: whether it is a prefix of d by segments.
func covers(c, d string) bool {
	for more := true; more; {
		var asked, granted string
		var deeper bool
		granted, c, more = cut(c, '.')
		asked, d, deeper = cut(d, '.')
		if !segmentCovers(granted, asked) || more && !deeper {
			return false
		}
	}
	return true
}

// meet returns the chain that covers what both c and d cover. ok is false if that is
// nothing.
func meet(c, d string) (both string, ok bool) {
	switch {
	case covers(c, d):
		return d, true
	case covers(d, c):
		return c, true
	}
	var segments []string
	for c != "" && d != "" {
		var a, b string
		a, c, _ = cut(c, '.')
		b, d, _ = cut(d, '.')
		switch {
		case segmentCovers(a, b):
			segments = append(segments, b)
		case segmentCovers(b, a):
			segments = append(segments, a)
		default:
			return "", false
		}
	}
	if rest := c + d; rest != "" { // one of them is empty
		segments = append(segments, rest)
	}
	return strings.Join(segments, "."), true
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

// cut splits a text at the first separator.
func cut(s string, separator byte) (before, after string, found bool) {
	if i := strings.IndexByte(s, separator); i >= 0 {
		return s[:i], s[i+1:], true
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
	base, kind, typed := cut(s, '#')
	return isLower(base) && (!typed || isLower(kind))
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

// isIdentifier reports whether s is an identifier of the standard grammar: 24 hexadecimal
// digits, or a UUID.
func isIdentifier(s string) bool {
	return ascii.Hex.Holds(s, 24, 24) || ascii.IsUUID(s, ascii.Hex)
}
