package paging

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// document is a JSON text, scanned: each value is followed by its parts, and
// knows where they end.
type document []token

// token is one value of a document.
type token struct {
	name string // of a member, unescaped
	text string // of a string, unescaped, or of a number, as it stands
	end  int32  // index of the token after the value's last part
	kind byte   // its first character; '0' for any number
}

func (t *token) isObject() bool { return t.kind == '{' }
func (t *token) isArray() bool  { return t.kind == '[' }

// parts calls yield with the index of each member or element of the value at i.
func (d document) parts(i int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for part := i + 1; part < int(d[i].end); part = int(d[part].end) {
			if !yield(part) {
				return
			}
		}
	}
}

// size returns the number of parts of the value at i.
func (d document) size(i int) (n int) {
	for range d.parts(i) {
		n++
	}
	return n
}

// pointer returns the JSON pointer (RFC 6901) of the value at index i.
func (d document) pointer(i int) string {
	var pointer strings.Builder
	for at := 0; at != i; {
		position := 0
		for part := range d.parts(at) {
			if i < int(d[part].end) {
				pointer.WriteByte('/')
				if d[at].isArray() {
					pointer.WriteString(strconv.Itoa(position))
				} else {
					escapePointer.WriteString(&pointer, d[part].name)
				}
				at = part
				break
			}
			position++
		}
	}
	return pointer.String()
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// Bounds of an argument that is JSON. The number of tokens is bounded above
// what any accepted filter has, so that names can be compared pair by pair.
const (
	maxText   = 8 << 10
	maxDepth  = 16
	maxTokens = 1024
)

// scanError is what is wrong with a text, and where.
type scanError struct {
	text   string
	offset int
}

func (e *scanError) Error() string {
	return e.text + " at byte " + strconv.Itoa(e.offset)
}

var (
	errTextSize = errors.New("longer than " + strconv.Itoa(maxText) + " bytes")
	errTextUTF8 = errors.New("not UTF-8")
)

// scan reads a text strictly: one value, no name twice in an object, no NUL, no
// unpaired surrogate, and within the bounds above.
func scan(text string) (document, error) {
	if len(text) > maxText {
		return nil, errTextSize
	}
	if !utf8.ValidString(text) {
		return nil, errTextUTF8
	}
	s := scanner{text: text, tokens: make(document, 0, 4+len(text)/8)}
	if err := s.value("", 0); err != nil {
		return nil, err
	}
	if s.space(); s.pos < len(text) {
		return nil, s.errorf("something follows the value")
	}
	return s.tokens, nil
}

type scanner struct {
	text   string
	pos    int
	tokens document
}

func (s *scanner) errorf(text string) error { return &scanError{text, s.pos} }

func (s *scanner) space() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

// next skips blanks and returns the character that follows, 0 at the end.
func (s *scanner) next() byte {
	s.space()
	if s.pos == len(s.text) {
		return 0
	}
	return s.text[s.pos]
}

// take consumes c if it is next.
func (s *scanner) take(c byte) bool {
	if s.next() != c {
		return false
	}
	s.pos++
	return true
}

func (s *scanner) value(name string, depth int) (err error) {
	if len(s.tokens) == maxTokens {
		return s.errorf("too many values")
	}
	at := len(s.tokens)
	s.tokens = append(s.tokens, token{kind: s.next(), name: name})
	t := &s.tokens[at]
	switch t.kind {
	case '{', '[':
		if depth == maxDepth {
			return s.errorf("nested too deeply")
		}
		s.pos++
		if t.kind == '{' {
			err = s.members(at, depth+1)
		} else {
			err = s.elements(depth + 1)
		}
	case '"':
		t.text, err = s.quoted()
	case 't':
		err = s.literal("true")
	case 'f':
		err = s.literal("false")
	case 'n':
		err = s.literal("null")
	default:
		t.kind = '0'
		t.text, err = s.number()
	}
	s.tokens[at].end = int32(len(s.tokens))
	return err
}

func (s *scanner) members(object, depth int) error {
	if s.take('}') {
		return nil
	}
	for {
		if s.next() != '"' {
			return s.errorf("a name is missing")
		}
		name, err := s.quoted()
		if err != nil {
			return err
		}
		if s.has(object, name) {
			return s.errorf("a name occurs twice")
		}
		if !s.take(':') {
			return s.errorf("a colon is missing")
		}
		if err := s.value(name, depth); err != nil {
			return err
		}
		if s.take('}') {
			return nil
		}
		if !s.take(',') {
			return s.errorf("a comma is missing")
		}
	}
}

// has reports whether the object, still being read, has a member of that name.
func (s *scanner) has(object int, name string) bool {
	for i := object + 1; i < len(s.tokens); i = int(s.tokens[i].end) {
		if s.tokens[i].name == name {
			return true
		}
	}
	return false
}

func (s *scanner) elements(depth int) error {
	if s.take(']') {
		return nil
	}
	for {
		if err := s.value("", depth); err != nil {
			return err
		}
		if s.take(']') {
			return nil
		}
		if !s.take(',') {
			return s.errorf("a comma is missing")
		}
	}
}

func (s *scanner) literal(word string) error {
	if !strings.HasPrefix(s.text[s.pos:], word) {
		return s.errorf("not a JSON value")
	}
	s.pos += len(word)
	return nil
}

func (s *scanner) number() (string, error) {
	start := s.pos
	for s.pos < len(s.text) && strings.IndexByte("+-.0123456789Ee", s.text[s.pos]) >= 0 {
		s.pos++
	}
	text := s.text[start:s.pos]
	if text == "" {
		return "", s.errorf("not a JSON value")
	}
	if !validNumber(text) {
		return "", s.errorf("not a JSON number, or too large")
	}
	return text, nil
}

// quoted reads a string.
func (s *scanner) quoted() (string, error) {
	s.pos++
	start := s.pos
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == '"':
			s.pos++
			return s.text[start : s.pos-1], nil
		case c == '\\':
			return s.escaped(s.text[start:s.pos])
		case c < ' ':
			return "", s.errorf("a control character in a string")
		}
		s.pos++
	}
	return "", s.errorf("a string does not end")
}

// escaped reads on after plain, where the first escape is.
func (s *scanner) escaped(plain string) (string, error) {
	text := []byte(plain)
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		s.pos++
		switch {
		case c == '"':
			return string(text), nil
		case c == '\\':
			r, ok := s.escape()
			if !ok {
				return "", s.errorf("a bad escape")
			}
			text = utf8.AppendRune(text, r)
		case c < ' ':
			return "", s.errorf("a control character in a string")
		default:
			text = append(text, c)
		}
	}
	return "", s.errorf("a string does not end")
}

// escape reads what follows a backslash.
func (s *scanner) escape() (rune, bool) {
	if s.pos == len(s.text) {
		return 0, false
	}
	c := s.text[s.pos]
	s.pos++
	switch c {
	case '"', '\\', '/':
		return rune(c), true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'u':
		return s.unicode()
	}
	return 0, false
}

// unicode reads four digits, and the other half of a pair. NUL is refused, for
// there are databases that cut a text there or refuse it themselves.
func (s *scanner) unicode() (rune, bool) {
	r, ok := s.hex()
	if !ok || r == 0 {
		return 0, false
	}
	if !utf16.IsSurrogate(r) {
		return r, true
	}
	if !strings.HasPrefix(s.text[s.pos:], `\u`) {
		return 0, false
	}
	s.pos += 2
	low, ok := s.hex()
	r = utf16.DecodeRune(r, low)
	return r, ok && r != utf8.RuneError
}

func (s *scanner) hex() (rune, bool) {
	if len(s.text)-s.pos < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(s.text[s.pos:s.pos+4], 16, 16)
	s.pos += 4
	return rune(n), err == nil
}
