package scope

import "strings"

// class says of a byte, or of all bytes of a text together, which alphabets it
// falls outside of.
type class uint8

const (
	notLower      class = 1 << iota // [a-z0-9_-]
	notName                         // [A-Za-z0-9_-]
	notHex                          // [A-Fa-f0-9]
	notIdentifier                   // [A-Za-z0-9_-] and ~:@+=
)

var classes = func() (t [256]class) {
	const lower, upper, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	alphabets := map[class]string{
		notLower:      lower + digits + "_-",
		notName:       lower + upper + digits + "_-",
		notHex:        "abcdefABCDEF" + digits,
		notIdentifier: lower + upper + digits + "_-~:@+=",
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

// isTyped accepts a word, optionally followed by # and a type in the same
// alphabet.
func isTyped(s string, not class) bool {
	if base, kind, typed := strings.Cut(s, "#"); typed {
		return isWord(base, not) && isWord(kind, not)
	}
	return isWord(s, not)
}

func isObject(s string) bool { return isTyped(s, notLower) }

// isProperty accepts one segment of a property path: c_set, c_set[],
// c_set[]#c_foo, c_set#c_foo.
func isProperty(s string) bool {
	base, kind, typed := strings.Cut(s, "#")
	return isName(strings.TrimSuffix(base, "[]")) && (!typed || isName(kind))
}

func isPath(s string) bool {
	for s != "" {
		segment, rest, more := strings.Cut(s, ".")
		if !isProperty(segment) || more && rest == "" {
			return false
		}
		s = rest
	}
	return true
}

// isIdentifier accepts the identifiers of the standard grammar: 24 hexadecimal
// digits, or a UUID.
func isIdentifier(s string) bool {
	switch len(s) {
	case 24:
		return classify(s)&notHex == 0
	case 36:
		return s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' &&
			classify(s[:8])&notHex == 0 && classify(s[9:13])&notHex == 0 && classify(s[14:18])&notHex == 0 &&
			classify(s[19:23])&notHex == 0 && classify(s[24:])&notHex == 0
	}
	return false
}
