// Package strictjson reads JSON that access decisions depend on: tokens, keys and
// filters. If two programs read a text differently, an attacker can exploit the
// difference. So a Reader accepts only texts that all programs read in one way.
//
// encoding/json also accepts every text that a Reader accepts, with the same values.
// In addition to what encoding/json refuses, a Reader refuses:
//
//   - A name that occurs twice in one object, however it is escaped, unless the
//     caller checks this itself. RFC 8259, section 4, leaves open which of them
//     counts, and RFC 7493, section 2.3, forbids it. A check could read one value,
//     and the code behind it the other.
//   - Bytes that are not UTF-8, and half of a surrogate pair. encoding/json replaces
//     both by U+FFFD, so that different texts become equal (RFC 7493, section 2.1).
//   - NUL in a string, unless the caller allows it. Some databases cut a text there,
//     others refuse it.
//   - Objects and arrays that are nested too deeply, and objects with too many
//     members. The caller sets these limits.
//
// Names are case-sensitive, while encoding/json ignores the case of field names.
// Numbers keep all their digits, which a float64 does not.
//
// The caller bounds the length of a text, and checks the types of its values.
package strictjson

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The reasons for which a text is refused. They are fixed values, so that a refusal
// allocates nothing.
var (
	// encoding/json refuses these too.
	ErrValue    = errors.New("not a JSON value")
	ErrNumber   = errors.New("not a JSON number")
	ErrString   = errors.New("a string does not end")
	ErrControl  = errors.New("a control character in a string")
	ErrEscape   = errors.New("a bad escape")
	ErrName     = errors.New("a name is missing")
	ErrColon    = errors.New("a colon is missing")
	ErrComma    = errors.New("a comma is missing")
	ErrTrailing = errors.New("something follows the value")

	// encoding/json accepts these.
	ErrUTF8      = errors.New("not UTF-8")
	ErrSurrogate = errors.New("half of a surrogate pair")
	ErrNUL       = errors.New("NUL in a string")
	ErrDuplicate = errors.New("a name occurs twice")
	ErrDepth     = errors.New("nested too deeply")
	ErrMembers   = errors.New("an object with too many members")

	// ErrType: a value has another type than the one asked for.
	ErrType = errors.New("a value of the wrong type")
)

// Limits are the bounds of a text, and what it may contain.
type Limits struct {
	Depth    int  // of objects and arrays inside each other
	Members  int  // of one object; at most about 1000, as names are compared pair by pair
	AllowNUL bool // whether a string may have \u0000

	// AllowDuplicates is for a caller that checks for duplicate names itself.
	AllowDuplicates bool

	// AllowReplaced reads what is not UTF-8 as it is, and half of a surrogate pair as U+FFFD, like
	// encoding/json.
	AllowReplaced bool
}

// Reader reads one JSON text from its start to its end. It is positioned at a value,
// and each method reads that value.
//
// The first failure ends the text: loops end, and all values read afterwards are
// meaningless. Call End before using any value. If the body of a loop leaves a value
// unread, that is a failure too.
//
// A string without an escape is returned as a part of the text, without a copy.
type Reader struct {
	text   string // up to the failure, if there was one
	pos    int
	depth  int
	err    error
	limits Limits
}

// New returns a Reader that is positioned at the value of text.
func New(text string, limits Limits) Reader {
	r := Reader{text: text, limits: limits}
	if !limits.AllowReplaced && !utf8.ValidString(text) {
		r.Fail(ErrUTF8)
	}
	r.space()
	return r
}

// Check returns why a text is refused, or nil if it is one value of any type.
func Check(text string, limits Limits) error {
	r := New(text, limits)
	r.Skip()
	return r.End()
}

// Fail refuses the text for the caller's reason. Later failures are ignored.
//
//go:noinline
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err, r.text = err, r.text[:r.pos]
	}
}

// End returns why the text is refused, or nil if it was read to its end.
func (r *Reader) End() error {
	if r.space(); r.pos < len(r.text) {
		r.Fail(ErrTrailing)
	}
	return r.err
}

// Offset returns how many bytes were read, up to the failure if there was one.
// It is 0 for a text that is not UTF-8.
func (r *Reader) Offset() int { return r.pos }

// Kind returns the first byte of the value: one of { [ " t f n. It returns '0' for
// any number, and 0 if there is no value.
func (r *Reader) Kind() byte {
	switch c := r.peek(); c {
	case '{', '[', '"', 't', 'f', 'n':
		return c
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return '0'
	}
	return 0
}

// Object reads an object: for name := range r.Object. The body of the loop must
// read the value of each member.
func (r *Reader) Object(yield func(name string) bool) {
	if !r.open('{') {
		return
	}
	var room [16]string
	seen := room[:0]
	for more := !r.take('}'); more; more = r.more('}') {
		if r.peek() != '"' {
			r.Fail(ErrName)
			return
		}
		name := r.Text()
		switch {
		case !r.limits.AllowDuplicates && slices.Contains(seen, name):
			r.Fail(ErrDuplicate)
		case len(seen) == r.limits.Members:
			r.Fail(ErrMembers)
		}
		seen = append(seen, name)
		if r.space(); !r.take(':') {
			r.Fail(ErrColon)
			return
		}
		if r.space(); !yield(name) {
			return
		}
	}
	r.depth--
}

// Array reads an array: for range r.Array. The body of the loop must read each
// element.
func (r *Reader) Array(yield func() bool) {
	if !r.open('[') {
		return
	}
	for more := !r.take(']'); more; more = r.more(']') {
		if !yield() {
			return
		}
	}
	r.depth--
}

// Text reads a string.
func (r *Reader) Text() string {
	if !r.take('"') {
		r.unexpected()
		return ""
	}
	var text []byte // what is before start, if there was an escape
	start := r.pos
	for {
		for r.pos < len(r.text) && r.text[r.pos] >= ' ' && r.text[r.pos] != '"' && r.text[r.pos] != '\\' {
			r.pos++
		}
		plain := r.text[start:r.pos]
		switch {
		case r.take('"'):
			if text == nil {
				return plain
			}
			return string(append(text, plain...))
		case r.take('\\'):
			text = utf8.AppendRune(append(text, plain...), r.escape())
			start = r.pos
		case r.pos < len(r.text):
			r.Fail(ErrControl)
			return ""
		default:
			r.Fail(ErrString)
			return ""
		}
	}
}

// Number reads a number of any size and returns its text.
func (r *Reader) Number() string {
	if r.Kind() != '0' {
		r.unexpected()
		return ""
	}
	start := r.pos
	r.take('-')
	if r.take('0') == r.digits() || r.take('.') && !r.digits() {
		r.Fail(ErrNumber)
	}
	if r.take('e') || r.take('E') {
		if _ = r.take('+') || r.take('-'); !r.digits() {
			r.Fail(ErrNumber)
		}
	}
	return r.text[start:r.pos]
}

// IsNumber reports whether text is a JSON number and nothing else.
func IsNumber(text string) bool {
	r := Reader{text: text}
	r.Number()
	return r.err == nil && r.pos == len(text)
}

// Bool reads true or false.
func (r *Reader) Bool() bool {
	switch r.peek() {
	case 't':
		return r.word("true")
	case 'f':
		r.word("false")
	default:
		r.unexpected()
	}
	return false
}

// Skip reads a value of any type and returns its text.
func (r *Reader) Skip() string {
	start := r.pos
	switch r.peek() {
	case '{':
		for range r.Object {
			r.Skip()
		}
	case '[':
		for range r.Array {
			r.Skip()
		}
	case '"':
		r.Text()
	case 't', 'f':
		r.Bool()
	case 'n':
		r.word("null")
	default:
		r.Number()
	}
	return r.text[start:r.pos]
}

// open enters an object or an array. The Reader is then at its first member or
// element.
func (r *Reader) open(bracket byte) bool {
	switch {
	case r.peek() != bracket:
		r.unexpected()
	case r.depth == r.limits.Depth:
		r.Fail(ErrDepth)
	default:
		r.pos++
		r.depth++
		r.space()
		return true
	}
	return false
}

// more reads the comma or the bracket after a member or element. It reports whether
// another one follows.
func (r *Reader) more(end byte) bool {
	r.space()
	switch r.peek() {
	case ',':
		r.pos++
		r.space()
		return true
	case end:
		r.pos++
	default:
		r.Fail(ErrComma)
	}
	return false
}

func (r *Reader) word(w string) bool {
	if !strings.HasPrefix(r.text[r.pos:], w) {
		r.Fail(ErrValue)
		return false
	}
	r.pos += len(w)
	return true
}

func (r *Reader) digits() bool {
	start := r.pos
	for r.pos < len(r.text) && '0' <= r.text[r.pos] && r.text[r.pos] <= '9' {
		r.pos++
	}
	return r.pos > start
}

// escape reads what follows a backslash.
func (r *Reader) escape() rune {
	if r.take('u') {
		return r.codePoint()
	}
	i := strings.IndexByte(`"\/bfnrt`, r.peek())
	if i < 0 {
		r.Fail(ErrEscape)
		return 0
	}
	r.pos++
	return rune("\"\\/\b\f\n\r\t"[i])
}

// codePoint reads the digits of \uXXXX, and the second half of a surrogate pair.
func (r *Reader) codePoint() rune {
	char := r.hex()
	if utf16.IsSurrogate(char) {
		first := r.pos
		if strings.HasPrefix(r.text[r.pos:], `\u`) {
			r.pos += 2
			char = utf16.DecodeRune(char, r.hex())
		}
		switch half := utf16.IsSurrogate(char) || char == utf8.RuneError; {
		case half && r.limits.AllowReplaced:
			r.pos, char = first, utf8.RuneError
		case half:
			r.Fail(ErrSurrogate)
		}
	}
	if char == 0 && !r.limits.AllowNUL {
		r.Fail(ErrNUL)
	}
	return char
}

func (r *Reader) hex() rune {
	digits := r.text[r.pos:min(r.pos+4, len(r.text))]
	n, err := strconv.ParseUint(digits, 16, 16)
	if err != nil || len(digits) < 4 {
		r.Fail(ErrEscape)
		return 0
	}
	r.pos += 4
	return rune(n)
}

func (r *Reader) space() {
	for r.pos < len(r.text) {
		switch r.text[r.pos] {
		case ' ', '\t', '\r', '\n':
			r.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end. No JSON token contains a 0 byte.
func (r *Reader) peek() byte {
	if r.pos < len(r.text) {
		return r.text[r.pos]
	}
	return 0
}

func (r *Reader) take(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.pos++
	return true
}

// unexpected fails with ErrType if there is a value of another type, and with
// ErrValue if there is no value.
func (r *Reader) unexpected() {
	if r.Kind() != 0 {
		r.Fail(ErrType)
	}
	r.Fail(ErrValue)
}
