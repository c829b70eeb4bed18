package paging

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// document is a scanned JSON text. The tokens of a value's parts follow its own
// token, and end is the index after the last of them.
type document []token

// token is one value of a document.
type token struct {
	name  string // of a member, unescaped
	text  string // of a string, unescaped, or of a number, as it stands
	end   int16  // index of the token after its last part
	size  int16  // number of parts
	start int16  // offset of its first byte
	level uint8  // depth in objects and arrays, itself included
	kind  byte   // of strictjson: its first character, '0' for any number
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
func (d document) size(i int) int { return int(d[i].size) }

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

// These are the limits of an argument that is JSON. An accepted filter has fewer
// tokens than the limit, which keeps the pairwise comparison of names cheap.
const (
	maxText   = 8 << 10
	maxDepth  = 16
	maxTokens = 1024
)

var (
	errTextSize = errors.New("longer than " + strconv.Itoa(maxText) + " bytes")
	errTokens   = errors.New("too many values")
	errNumber   = errors.New("a number out of range")
)

// scan reads a text that is one JSON value, within the limits.
func scan(text string, bytes, depth, tokens int) (document, error) {
	if len(text) > bytes {
		return nil, errTextSize
	}
	s := scanner{
		Reader: strictjson.New(text, strictjson.Limits{Depth: depth, Members: maxTokens}),
		tokens: make(document, 0, 4+len(text)/10),
		most:   tokens,
	}
	s.value("", 1)
	switch err := s.End(); err {
	case nil:
		return s.tokens, nil
	case strictjson.ErrUTF8:
		return nil, err
	default:
		return nil, atByte(err, s.Offset())
	}
}

func atByte(err error, offset int) error { return fmt.Errorf("%w at byte %d", err, offset) }

type scanner struct {
	strictjson.Reader
	tokens document
	most   int // the largest number of tokens
}

// value reads a value. name is that of the member, or "" for an element.
func (s *scanner) value(name string, level uint8) {
	if len(s.tokens) == s.most {
		s.Fail(errTokens)
		return
	}
	at, kind := len(s.tokens), s.Kind()
	s.tokens = append(s.tokens, token{name: name, start: int16(s.Offset()), level: level, kind: kind})
	switch kind {
	case '{':
		for name := range s.Object {
			s.value(name, level+1)
			s.tokens[at].size++
		}
	case '[':
		for range s.Array {
			s.value("", level+1)
			s.tokens[at].size++
		}
	case '"':
		s.tokens[at].text = s.Text()
	case '0':
		s.tokens[at].text = s.number()
	default:
		s.Skip()
	}
	s.tokens[at].end = int16(len(s.tokens))
}

func (s *scanner) number() string {
	text := s.Number()
	if !inRange(text) {
		s.Fail(errNumber)
	}
	return text
}
