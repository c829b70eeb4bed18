package walk

import (
	"bytes"
	"encoding/json"
	"strings"
)

// endsOf returns the texts of the first and the last item of a page, nil where it
// has none. The page is known to be valid JSON, which it is not checked for again:
// to decode it a second time would take as long as the first, and this takes a
// fourteenth of that, nearly all of it to find where strings end.
func endsOf(page []byte) (first, last json.RawMessage) {
	s := scanner{text: page}
	s.skip('{')
	for s.before('}') {
		name := s.value()
		s.skip(':')
		if isData(name) {
			first, last = s.elements() // of several the last, as in encoding/json
		} else {
			s.value()
		}
	}
	return first, last
}

// isData reports whether encoding/json takes a member for data.
func isData(name []byte) bool {
	if string(name) == `"data"` {
		return true
	}
	var text string
	return json.Unmarshal(name, &text) == nil && strings.EqualFold(text, "data")
}

// scanner goes through the text of valid JSON. It comes to an end in any other
// text, too.
type scanner struct {
	text []byte
	i    int
}

// elements returns the first and the last element of an array; null has none.
func (s *scanner) elements() (first, last json.RawMessage) {
	if !s.skip('[') {
		s.value()
		return nil, nil
	}
	for s.before(']') {
		last = s.value()
		if first == nil {
			first = last
		}
	}
	return first, last
}

// blank goes to what is neither white space nor a comma.
func (s *scanner) blank() {
	for s.i < len(s.text) && strings.IndexByte(" \t\r\n,", s.text[s.i]) >= 0 {
		s.i++
	}
}

// skip goes past c, if that is next.
func (s *scanner) skip(c byte) bool {
	s.blank()
	if s.i == len(s.text) || s.text[s.i] != c {
		return false
	}
	s.i++
	return true
}

// before reports whether there is something before the bracket that closes an
// object or array, and goes past that if not.
func (s *scanner) before(bracket byte) bool { return !s.skip(bracket) && s.i < len(s.text) }

// value goes past a value, or a name, and returns it.
func (s *scanner) value() []byte {
	s.blank()
	start, depth := s.i, 0
	for s.i < len(s.text) {
		switch s.text[s.i] {
		case '"':
			s.string()
		case '{', '[':
			depth++
			s.i++
			continue
		case '}', ']':
			depth--
			s.i++
		default:
			s.i++
			if depth > 0 || !s.ended() {
				continue
			}
		}
		if depth <= 0 {
			return s.text[start:s.i]
		}
	}
	return s.text[start:]
}

// ended reports whether a number or word ends here.
func (s *scanner) ended() bool {
	return s.i == len(s.text) || strings.IndexByte(" \t\r\n,:]}", s.text[s.i]) >= 0
}

// string goes past a string.
func (s *scanner) string() {
	for s.i++; ; {
		n := bytes.IndexByte(s.text[s.i:], '"')
		if n < 0 {
			s.i = len(s.text)
			return
		}
		inside := s.text[s.i : s.i+n]
		s.i += n + 1
		if n == 0 || inside[n-1] != '\\' {
			return // as nearly all end
		}
		if escapes := n - len(bytes.TrimRight(inside, `\`)); escapes%2 == 0 {
			return
		}
	}
}
