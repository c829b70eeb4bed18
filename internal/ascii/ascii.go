// Package ascii knows of which characters names, keys and other words consist.
package ascii

// Class is a set of ASCII characters. A byte above 127 is in no class. Has and Span also take the
// union of some; all others take one.
type Class uint32

// The classes.
const (
	Name       Class = 1 << iota // letters, digits, _ and -; base64url, too
	LowerName                    // the same in lower case
	Dotted                       // of names with dots between them
	Path                         // of names with slashes between them
	Identifier                   // of an object in a scope chain
	OrgKey                       // unreserved characters of a URL
	HeaderName                   // letters, digits and -
	Method                       // upper-case letters and -
	Visible                      // '!' to '~'
	Unquoted                     // visible, but neither quote nor backslash
	Alphanumeric
	Digit
	Hex
	LowerHex
	FieldKey   // of names in structured fields (RFC 8941)
	FieldToken // of tokens there
	FieldBytes // of byte sequences there
	FieldText  // of strings there, without escapes

	classCount = iota
)

var classes = func() (of [256]Class) {
	const digits, lower, upper = "0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for c := '!'; c <= '~'; c++ {
		of[c] |= Visible
		if c != '"' && c != '\\' {
			of[c] |= Unquoted | FieldText
		}
	}
	of[' '] |= FieldText
	for class, members := range map[Class]string{
		Name:         digits + lower + upper + "_-",
		LowerName:    digits + lower + "_-",
		Dotted:       digits + lower + upper + "_-.",
		Path:         digits + lower + upper + "_-/",
		Identifier:   digits + lower + upper + "_-~:@+=",
		OrgKey:       digits + lower + upper + "_-~.",
		HeaderName:   digits + lower + upper + "-",
		Method:       upper + "-",
		Alphanumeric: digits + lower + upper,
		Digit:        digits,
		Hex:          digits + "abcdefABCDEF",
		LowerHex:     digits + "abcdef",
		FieldKey:     digits + lower + "_-.*",
		FieldToken:   digits + lower + upper + "!#$%&'*+-.^_`|~:/",
		FieldBytes:   digits + lower + upper + "+/=",
	} {
		for _, c := range members {
			of[c] |= class
		}
	}
	for value, c := range "0123456789abcdef" {
		of[c] |= Class(value) << hexValue
	}
	return of
}()

// hexValue is the place of the value of a lower-case hexadecimal digit, above the classes.
const hexValue = 28

const _ uint = hexValue - classCount // does not compile if they meet

// DecodeHex decodes lower-case hexadecimal digits into all of dst. Like Only, it does not branch by
// what a character is.
func DecodeHex(dst []byte, text string) bool {
	if len(text) != 2*len(dst) {
		return false
	}
	all := LowerHex
	for i := range dst {
		high, low := classes[text[2*i]], classes[text[2*i+1]]
		all &= high & low
		dst[i] = byte(high>>hexValue<<4 | low>>hexValue)
	}
	return all != 0
}

// Has reports whether the class has the byte b.
func (c Class) Has(b byte) bool { return classes[b]&c != 0 }

// Holds reports whether text has least to most characters, all of the class.
func (c Class) Holds(text string, least, most int) bool {
	return least <= len(text) && len(text) <= most && c.Only(text)
}

// Only reports whether text has no character outside of the class. It takes four characters at
// once and does not branch by what one is, which halves the time for an identifier, a key or a nonce.
func (c Class) Only(text string) bool {
	for ; len(text) >= 4; text = text[4:] {
		c &= classes[text[0]] & classes[text[1]] & classes[text[2]] & classes[text[3]]
	}
	for i := range len(text) {
		c &= classes[text[i]]
	}
	return c != 0
}

// Span returns how many characters at the front of text are of the class.
func (c Class) Span(text string) int {
	for i := range len(text) {
		if !c.Has(text[i]) {
			return i
		}
	}
	return len(text)
}

// IsClientKey reports whether text can be a client key: 1 to 128 visible characters. So it is one
// word on one line wherever it is printed.
func IsClientKey(text string) bool { return Visible.Holds(text, 1, 128) }

// IsMethod reports whether text can be a method: upper-case letters and hyphens, as all registered
// ones are, and no longer than these. Methods are case-sensitive (RFC 9110, section 9.1), and a
// signature covers them in upper case.
func IsMethod(text string) bool { return Method.Holds(text, 1, 32) }

// IsName reports whether text is the name of a property or an object.
func IsName(text string) bool { return Name.Holds(text, 1, 40) }

// IsUUID reports whether text is a UUID with hyphens and these digits: Hex or LowerHex.
func IsUUID(text string, digits Class) bool {
	return len(text) == 36 && text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-' &&
		digits.Only(text[:8]+text[9:13]+text[14:18]+text[19:23]+text[24:])
}
