package token

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	maxDepth   = 16 // of objects and arrays inside each other
	maxMembers = 64 // of one object; names are compared pair by pair
)

// What is wrong with a text that is not the JSON wanted. They are values, so
// that refusing costs no memory.
var (
	errSyntax    = errors.New("malformed JSON")
	errTrailing  = errors.New("data after the JSON value")
	errUTF8      = errors.New("JSON is not UTF-8")
	errSurrogate = errors.New("lone surrogate in a JSON string")
	errDuplicate = errors.New("duplicate name in a JSON object")
	errDepth     = errors.New("JSON nested too deep")
	errMembers   = errors.New("JSON object with too many members")
	errElements  = errors.New("JSON array with too many elements")
	errType      = errors.New("JSON value of the wrong type")
	errRange     = errors.New("number out of range")
)

// reader reads JSON as RFC 8259 writes it and no other way. Where the RFC
// leaves room it takes the narrow side: names are unique and exact, strings
// are Unicode, nothing follows the value. What it returns are parts of the
// text wherever no escape stands in between.
type reader struct {
	text  string
	pos   int
	depth int
}

// readObject reads a text that is one object, handing each member to member,
// which must consume the value.
func readObject(text string, member func(r *reader, name string) error) error {
	if !utf8.ValidString(text) {
		return errUTF8
	}
	r := &reader{text: text}
	r.space()
	if err := r.object(member); err != nil {
		return err
	}
	if r.space(); r.pos < len(r.text) {
		return errTrailing
	}
	return nil
}

func (r *reader) object(member func(r *reader, name string) error) error {
	if err := r.open('{'); err != nil {
		return err
	}
	var room [16]string
	seen := room[:0]
	for more := !r.take('}'); more; {
		name, err := r.string()
		if err != nil {
			return err
		}
		// Which of two equal names counts is up to each reader; so none does.
		if slices.Contains(seen, name) {
			return errDuplicate
		}
		if len(seen) == maxMembers {
			return errMembers
		}
		seen = append(seen, name)
		if r.space(); !r.take(':') {
			return errSyntax
		}
		r.space()
		if err := member(r, name); err != nil {
			return err
		}
		if more, err = r.next('}'); err != nil {
			return err
		}
	}
	r.depth--
	return nil
}

func (r *reader) array(element func(r *reader) error) error {
	if err := r.open('['); err != nil {
		return err
	}
	for more := !r.take(']'); more; {
		err := element(r)
		if err != nil {
			return err
		}
		if more, err = r.next(']'); err != nil {
			return err
		}
	}
	r.depth--
	return nil
}

// strings reads an array of no more than most strings.
func (r *reader) strings(most int) ([]string, error) {
	list := []string{}
	err := r.array(func(r *reader) error {
		s, err := r.string()
		if err != nil {
			return err
		}
		if len(list) == most {
			return errElements
		}
		list = append(list, s)
		return nil
	})
	return list, err
}

// open enters an object or an array and stands at its first element.
func (r *reader) open(bracket byte) error {
	if !r.take(bracket) {
		return r.unexpected()
	}
	if r.depth++; r.depth > maxDepth {
		return errDepth
	}
	r.space()
	return nil
}

// next stands behind an element: another one follows, or the end.
func (r *reader) next(end byte) (more bool, err error) {
	r.space()
	if r.take(end) {
		return false, nil
	}
	if !r.take(',') {
		return false, errSyntax
	}
	r.space()
	return true, nil
}

// skip passes over any value and returns its text.
func (r *reader) skip() (raw string, err error) {
	start := r.pos
	switch r.peek() {
	case '{':
		err = r.object(func(r *reader, _ string) error { _, err := r.skip(); return err })
	case '[':
		err = r.array(func(r *reader) error { _, err := r.skip(); return err })
	case '"':
		_, err = r.string()
	case 't', 'f':
		_, err = r.boolean()
	case 'n':
		err = r.word("null")
	default:
		_, err = r.number()
	}
	if err != nil {
		return "", err
	}
	return r.text[start:r.pos], nil
}

func (r *reader) boolean() (bool, error) {
	switch r.peek() {
	case 't':
		return true, r.word("true")
	case 'f':
		return false, r.word("false")
	}
	return false, r.unexpected()
}

func (r *reader) word(w string) error {
	if !strings.HasPrefix(r.text[r.pos:], w) {
		return errSyntax
	}
	r.pos += len(w)
	return nil
}

// integer reads a number written in digits alone: 1.0 and 1e3 are other
// types to half of the world's readers.
func (r *reader) integer(most int64) (int64, error) {
	digits, err := r.number()
	if err != nil {
		return 0, err
	}
	var n int64
	for i := range len(digits) {
		if !isDigit(digits[i]) {
			return 0, errType
		}
		n = n*10 + int64(digits[i]-'0')
		if n > most {
			return 0, errRange
		}
	}
	return n, nil
}

// number passes over a number as the grammar has it and returns its text.
func (r *reader) number() (string, error) {
	start := r.pos
	negative := r.take('-')
	if !negative && !isDigit(r.peek()) {
		return "", r.unexpected()
	}
	if !r.take('0') && !r.digits() {
		return "", errSyntax
	}
	if r.take('.') && !r.digits() {
		return "", errSyntax
	}
	if r.take('e') || r.take('E') {
		_ = r.take('+') || r.take('-')
		if !r.digits() {
			return "", errSyntax
		}
	}
	return r.text[start:r.pos], nil
}

func (r *reader) digits() bool {
	start := r.pos
	for isDigit(r.peek()) {
		r.pos++
	}
	return r.pos > start
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (r *reader) string() (string, error) {
	if !r.take('"') {
		return "", r.unexpected()
	}
	start := r.pos
	for ; r.pos < len(r.text); r.pos++ {
		switch c := r.text[r.pos]; {
		case c == '"':
			r.pos++
			return r.text[start : r.pos-1], nil
		case c == '\\':
			return r.escaped(r.text[start:r.pos])
		case c < ' ':
			return "", errSyntax
		}
	}
	return "", errSyntax
}

// escaped reads on from the first escape of a string.
func (r *reader) escaped(read string) (string, error) {
	s := []byte(read)
	for r.pos < len(r.text) {
		c := r.text[r.pos]
		r.pos++
		switch {
		case c == '"':
			return string(s), nil
		case c < ' ':
			return "", errSyntax
		case c != '\\':
			s = append(s, c)
			continue
		}
		char, err := r.escape()
		if err != nil {
			return "", err
		}
		s = utf8.AppendRune(s, char)
	}
	return "", errSyntax
}

// escape reads what follows a backslash.
func (r *reader) escape() (rune, error) {
	if r.pos == len(r.text) {
		return 0, errSyntax
	}
	c := r.text[r.pos]
	r.pos++
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		return r.codePoint()
	}
	return 0, errSyntax
}

// codePoint reads the digits of \uXXXX, and the second half of a pair.
func (r *reader) codePoint() (rune, error) {
	high, err := r.hex4()
	if err != nil || !utf16.IsSurrogate(high) {
		return high, err
	}
	if r.word(`\u`) != nil {
		return 0, errSurrogate
	}
	low, err := r.hex4()
	if err != nil {
		return 0, err
	}
	char := utf16.DecodeRune(high, low)
	if char == utf8.RuneError {
		return 0, errSurrogate
	}
	return char, nil
}

func (r *reader) hex4() (rune, error) {
	var char rune
	for range 4 {
		c := r.peek()
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, errSyntax
		}
		char = char<<4 | rune(c)
		r.pos++
	}
	return char, nil
}

func (r *reader) space() {
	for r.pos < len(r.text) && strings.IndexByte(" \t\r\n", r.text[r.pos]) >= 0 {
		r.pos++
	}
}

// peek is the byte to come, 0 at the end: no JSON token holds one.
func (r *reader) peek() byte {
	if r.pos < len(r.text) {
		return r.text[r.pos]
	}
	return 0
}

func (r *reader) take(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.pos++
	return true
}

// unexpected tells a value of another type from no value at all.
func (r *reader) unexpected() error {
	if strings.IndexByte(`{["tfn-0123456789`, r.peek()) >= 0 {
		return errType
	}
	return errSyntax
}
