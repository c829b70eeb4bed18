package signing

import (
	"iter"
	"strings"

	"github.com/tenantkit/tenantkit/internal/ascii"
)

// fieldReader reads a line of a structured field (RFC 8941). It reads only as much as
// a verifier needs to find one member of a dictionary and to skip the others. It
// follows the grammar exactly, so that no other reader finds other members.
type fieldReader struct {
	line string
	at   int // how much was read; cheaper to move than the start of a string, which is a pointer
}

// member is a member of a dictionary, as received.
type member struct {
	key    string
	text   string // the value and the parameters
	value  string // "" if it is left out
	params string // with their semicolons
}

// maxField is how many bytes the lines of one dictionary may have in all.
const maxField = 8 << 10

// members yields the members of a dictionary. The lines of a header are one dictionary, but a
// member must not span two lines. If the header is no dictionary, or is longer than maxField, the
// last ok is false. It keeps nothing: a stranger may send thousands of members. If each is not nil,
// it gets the parameters of a member before that is yielded.
func members(lines []string, each func(key, value string)) iter.Seq2[member, bool] {
	return func(yield func(m member, ok bool) bool) {
		size := 0
		for _, line := range lines {
			size += len(line)
			f := fieldReader{line: strings.Trim(line, " ")}
			for more := true; more; {
				m, ok := f.member(each)
				f.blanks()
				more = f.take(',')
				ok = ok && size <= maxField && (more || f.ended())
				if !yield(m, ok) || !ok {
					return
				}
				f.blanks() // what follows must be another member
			}
		}
	}
}

// soleMember returns the member with a label. ok is false if there is none, and if there
// are two: some readers take the first and others the last.
func soleMember(lines []string, label string) (sole member, ok bool) {
	count := 0
	for m, ok := range members(lines, nil) {
		switch {
		case !ok:
			return member{}, false
		case m.key == label:
			sole = m
			count++
		}
	}
	return sole, count == 1
}

func (f *fieldReader) spaces() {
	for f.take(' ') {
	}
}

func (f *fieldReader) blanks() {
	for f.take(' ') || f.take('\t') {
	}
}

func (f *fieldReader) ended() bool { return f.at == len(f.line) }

// peek returns the next byte, or 0 at the end.
func (f *fieldReader) peek() byte {
	if f.ended() {
		return 0
	}
	return f.line[f.at]
}

func (f *fieldReader) take(c byte) bool {
	if f.peek() != c || c == 0 {
		return false
	}
	f.at++
	return true
}

// span takes the next bytes that are in a class.
func (f *fieldReader) span(c ascii.Class) string {
	from := f.at
	f.at += c.Span(f.line[from:])
	return f.line[from:f.at]
}

func (f *fieldReader) member(each func(key, value string)) (m member, ok bool) {
	if m.key, ok = f.key(); !ok {
		return m, false
	}
	hasValue := f.take('=')
	from := f.at
	if hasValue && !f.value() {
		return m, false
	}
	to := f.at
	ok = f.params(each)
	m.text, m.value, m.params = f.line[from:f.at], f.line[from:to], f.line[to:f.at]
	return m, ok
}

// key takes the name of a member or a parameter.
func (f *fieldReader) key() (key string, ok bool) {
	if c := f.peek(); (c < 'a' || c > 'z') && c != '*' {
		return "", false
	}
	return f.span(ascii.FieldKey), true
}

func (f *fieldReader) value() bool {
	if f.take('(') {
		return f.innerList()
	}
	return f.item()
}

func (f *fieldReader) innerList() bool {
	for {
		f.spaces()
		if f.take(')') {
			return true
		}
		if !f.item() || !f.params(nil) || f.peek() != ' ' && f.peek() != ')' {
			return false
		}
	}
}

func (f *fieldReader) params(each func(key, value string)) bool {
	for f.peek() == ';' {
		key, value, ok := f.param()
		if !ok {
			return false
		}
		if each != nil {
			each(key, value)
		}
	}
	return true
}

// param takes a parameter with its semicolon. The value of one without a value is "".
func (f *fieldReader) param() (key, value string, ok bool) {
	if !f.take(';') {
		return "", "", false
	}
	f.spaces()
	if key, ok = f.key(); !ok || !f.take('=') {
		return key, "", ok
	}
	from := f.at
	ok = f.item()
	return key, f.line[from:f.at], ok
}

// item takes a bare item: a value without parameters.
func (f *fieldReader) item() bool {
	switch c := f.peek(); {
	case c == '"':
		return f.quoted()
	case c == ':':
		f.take(':')
		f.span(ascii.FieldBytes)
		return f.take(':')
	case c == '?':
		f.take('?')
		return f.take('0') || f.take('1')
	case c == '-' || '0' <= c && c <= '9':
		return f.number()
	case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '*':
		f.span(ascii.FieldToken)
		return true
	}
	return false
}

// quoted takes a string.
func (f *fieldReader) quoted() bool {
	f.take('"')
	for f.span(ascii.FieldText); f.take('\\'); f.span(ascii.FieldText) {
		if !f.take('"') && !f.take('\\') {
			return false
		}
	}
	return f.take('"')
}

// number takes an integer of up to 15 digits, or a decimal of up to 12 and 3.
func (f *fieldReader) number() bool {
	f.take('-')
	whole := len(f.span(ascii.Digit))
	if f.take('.') {
		places := len(f.span(ascii.Digit))
		return 1 <= whole && whole <= 12 && 1 <= places && places <= 3
	}
	return 1 <= whole && whole <= 15
}

// parseNumber reads least to most decimal digits, of which the first is not 0. Fifteen
// digits cannot overflow.
func parseNumber(s string, least, most int) (n int64, ok bool) {
	if len(s) < least || len(s) > most || s[0] == '0' {
		return 0, false
	}
	for i := range len(s) {
		digit := s[i] - '0'
		if digit > 9 {
			return 0, false
		}
		n = n*10 + int64(digit)
	}
	return n, true
}

// parseMillis reads Unix milliseconds: 12 to 15 digits, which are the years 1973 to 33658.
func parseMillis(s string) (ms int64, ok bool) { return parseNumber(s, 12, 15) }
