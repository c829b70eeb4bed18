package signing

import "strings"

// class is a set of ASCII characters. A byte above 127 is in no class.
type class uint16

const (
	visible class = 1 << iota // '!' to '~'
	alphanumeric
	digit
	lowerHex
	fieldKey   // of names in structured fields (RFC 8941)
	fieldToken // of tokens there
	fieldBytes // of byte sequences there
	unquoted   // visible, but neither quote nor backslash
)

var classOf = func() (classes [256]class) {
	for c := '!'; c <= '~'; c++ {
		classes[c] |= visible
		if c != '"' && c != '\\' {
			classes[c] |= unquoted
		}
	}
	for class, members := range map[class]string{
		alphanumeric: alphabet,
		digit:        "0123456789",
		lowerHex:     "0123456789abcdef",
		fieldKey:     "0123456789abcdefghijklmnopqrstuvwxyz_-.*",
		fieldToken:   alphabet + "!#$%&'*+-.^_`|~:/",
		fieldBytes:   alphabet + "+/=",
	} {
		for _, c := range members {
			classes[c] |= class
		}
	}
	return classes
}()

// holds reports whether s has least to most characters, all of the class. The loop
// has no branch, because branches on random text, such as nonces and keys, are slow.
func (c class) holds(s string, least, most int) bool {
	if len(s) < least || len(s) > most {
		return false
	}
	for i := range len(s) {
		c &= classOf[s[i]]
	}
	return c != 0
}

// parseNumber reads least to most decimal digits, of which the first is not 0. Fifteen
// digits cannot overflow.
func parseNumber(s string, least, most int) (n int64, ok bool) {
	if !digit.holds(s, least, most) || s[0] == '0' {
		return 0, false
	}
	for i := range len(s) {
		n = n*10 + int64(s[i]-'0')
	}
	return n, true
}

// parseMillis reads Unix milliseconds: 12 to 15 digits, which are the years 1973 to 33658.
func parseMillis(s string) (ms int64, ok bool) { return parseNumber(s, 12, 15) }

// isMethod reports whether a method has only upper-case letters and hyphens. A
// lower-case method would be signed as another one. With a semicolon, a method could
// hold a part of the command.
func isMethod(method string) bool {
	return method != "" && len(method) <= maxMethod &&
		!strings.ContainsFunc(method, func(c rune) bool { return (c < 'A' || c > 'Z') && c != '-' })
}
