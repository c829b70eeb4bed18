package scope

import "strings"

// cut splits a text at the first separator.
func cut(s string, separator byte) (before, after string, found bool) {
	if i := strings.IndexByte(s, separator); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// class is a set of alphabets that a byte, or some byte of a text, is outside of.
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

// isRoot reports whether s has the form of a root or a verb.
func isRoot(s string) bool { return isWord(s, notLower) && 'a' <= s[0] && s[0] <= 'z' }

// isObject reports whether s is an object name, with or without a type: c_note,
// c_note#c_memo.
func isObject(s string) bool {
	base, kind, typed := cut(s, '#')
	return isWord(base, notLower) && (!typed || isWord(kind, notLower))
}

// isProperty reports whether s is one segment of a property path: c_set, c_set[],
// c_set[]#c_foo, c_set#c_foo.
func isProperty(s string) bool {
	return s != "" && isPath(s) && strings.IndexByte(s, '.') < 0
}

// isPath reports whether s is a property path. The empty text is one.
func isPath(s string) bool {
	if s == "" {
		return true
	}
	// Nearly every path is short and has plain names. A list handler checks one for each
	// property of each item, so this case is fast.
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

// isToken reports whether some grammar could have s as an identifier.
func isToken(s string) bool { return s != "" && classify(s)&notToken == 0 }

// isIdentifier reports whether s is an identifier of the standard grammar: 24 hexadecimal
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
