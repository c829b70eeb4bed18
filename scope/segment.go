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

// class says of a byte, or of all bytes of a text together, which alphabets it
// falls outside of.
type class uint8

const (
	notLower class = 1 << iota // [a-z0-9_-]
	notName                    // [A-Za-z0-9_-]
	notHex                     // [A-Fa-f0-9]
	notToken                   // [A-Za-z0-9_-] and ~:@+=
)

var classes = func() (t [256]class) {
	const lower, upper, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	alphabets := map[class]string{
		notLower: lower + digits + "_-",
		notName:  lower + upper + digits + "_-",
		notHex:   "abcdefABCDEF" + digits,
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
	base, kind, typed := strings.Cut(s, "#")
	return typed && isWord(base, notLower) && isWord(kind, notLower)
}

// isProperty accepts one segment of a property path: c_set, c_set[],
// c_set[]#c_foo, c_set#c_foo.
func isProperty(s string) bool {
	if isName(s) {
		return true
	}
	base, kind, typed := strings.Cut(s, "#")
	return isName(strings.TrimSuffix(base, "[]")) && (!typed || isName(kind))
}

// isPath accepts a property path; none at all is one.
func isPath(s string) bool {
	for n := 0; s != ""; n++ {
		segment, rest, more := strings.Cut(s, ".")
		if !isProperty(segment) || more && rest == "" || n == maxPath {
			return false
		}
		s = rest
	}
	return true
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
