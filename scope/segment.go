package scope

import (
	"hash/maphash"
	"strings"
)

// segment is one segment behind the verb, with its hash. The zero segment is
// none.
type segment struct {
	text string
	hash uint64
}

// seed is the process's own, so that nobody can choose segments that collide.
var seed = maphash.MakeSeed()

func hash(text string) uint64 { return maphash.String(seed, text) }

func newSegment(text string) segment {
	if text == "" {
		return segment{}
	}
	return segment{text, hash(text)}
}

// cut splits a text at the first separator.
func cut(s string, separator byte) (before, after string, found bool) {
	if i := strings.IndexByte(s, separator); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// class says of a byte, or of all bytes of a text together, which alphabets it
// falls outside of.
type class uint8

const (
	notLower class = 1 << iota // [a-z0-9_-]
	notName                    // [A-Za-z0-9_-]
	notHex                     // [A-Fa-f0-9]
	notPlain                   // [A-Za-z0-9_-] and the dot
	notToken                   // [A-Za-z0-9_-] and ~:@+=
)

var classes = func() (t [256]class) {
	const lower, upper, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	alphabets := map[class]string{
		notLower: lower + digits + "_-",
		notName:  lower + upper + digits + "_-",
		notHex:   "abcdefABCDEF" + digits,
		notPlain: lower + upper + digits + "_-.",
		notToken: lower + upper + digits + "_-~:@+=",
	}
	for c := range t {
		for not, alphabet := range alphabets {
			if strings.IndexByte(alphabet, byte(c)) < 0 {
				t[c] |= not
			}
		}
	}
	return t
}()

func classify(s string) (c class) {
	for ; len(s) >= 4; s = s[4:] {
		c |= classes[s[0]] | classes[s[1]] | classes[s[2]] | classes[s[3]]
	}
	for i := range len(s) {
		c |= classes[s[i]]
	}
	return c
}

const maxName = 40

func isWord(s string, not class) bool {
	return s != "" && len(s) <= maxName && classify(s)&not == 0
}

func isName(s string) bool { return isWord(s, notName) }

// isRoot accepts the names of roots and verbs.
func isRoot(s string) bool { return isWord(s, notLower) && 'a' <= s[0] && s[0] <= 'z' }

// isObject accepts an object name and its type, if any: c_note, c_note#c_memo.
func isObject(s string) bool {
	if isWord(s, notLower) {
		return true
	}
	base, kind, typed := cut(s, '#')
	return typed && isWord(base, notLower) && isWord(kind, notLower)
}

// isProperty accepts one segment of a property path: c_set, c_set[],
// c_set[]#c_foo, c_set#c_foo.
func isProperty(s string) bool {
	return s != "" && isPath(s) && strings.IndexByte(s, '.') < 0
}

// isPath accepts a property path; none at all is one.
func isPath(s string) bool {
	if s == "" {
		return true
	}
	// Nearly every path is a short one of plain names, which a list handler
	// asks about for each property of each item.
	if len(s) <= maxName && classify(s)&notPlain == 0 {
		return strings.IndexByte(s, '.') < 0 || s[0] != '.' && s[len(s)-1] != '.' && !strings.Contains(s, "..")
	}
	segments, run := 1, 0 // run counts the bytes of a name or a type
	listed, typed := false, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case classes[c]&notName == 0 && run < maxName && !listed:
			run++
		case run == 0:
			return false
		case c == '.':
			segments, run, listed, typed = segments+1, 0, false, false
		case c == '#' && !typed:
			run, listed, typed = 0, false, true
		case !listed && !typed && strings.HasPrefix(s[i:], "[]"):
			listed = true
			i++
		default:
			return false
		}
	}
	return run > 0 && segments <= maxPath
}

// isToken accepts what may be an identifier of some grammar.
func isToken(s string) bool { return s != "" && classify(s)&notToken == 0 }

// isIdentifier accepts the identifiers of the standard grammar: 24 hexadecimal
// digits, or a UUID.
func isIdentifier(s string) bool {
	switch len(s) {
	case 24:
		return classify(s)&notHex == 0
	case 36:
		return s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' &&
			(classify(s[:8])|classify(s[9:13])|classify(s[14:18])|classify(s[19:23])|classify(s[24:]))&notHex == 0
	}
	return false
}
