package sqllist

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
)

// scanner reads rows into one T, one after the other, and writes each as JSON. The
// addresses of its fields are found once, so that no row needs reflection.
type scanner struct {
	reset func() // makes the T zero
	id    *string
	into  []any    // for sql.Rows.Scan
	write []writer // one for each column
}

// writer appends the JSON of a field.
type writer func(text []byte) ([]byte, error)

func newScanner(l *List, row reflect.Value, reset func()) *scanner {
	s := &scanner{reset: reset}
	for _, c := range l.columns {
		into, write := access(row.FieldByIndex(c.index).Addr().Interface(), c.array)
		s.into, s.write = append(s.into, into), append(s.write, write)
	}
	s.id = s.into[0].(*string)
	return s
}

// access returns what sql.Rows.Scan fills the field at p by, and what writes the field.
func access(p any, array bool) (into any, write writer) {
	if write := fast(p, appendText); write != nil {
		return p, write
	}
	switch p := p.(type) {
	case *time.Time:
		return dateInto{false, func(t time.Time) { *p = t }}, fast(p, appendDate)
	case **time.Time:
		return dateInto{true, func(t time.Time) { *p = &t }}, fast(p, appendDate)
	case *envelope.Time:
		return dateInto{false, func(t time.Time) { p.Time = t }}, fast(p, appendTime)
	case **envelope.Time:
		return dateInto{true, func(t time.Time) { *p = &envelope.Time{Time: t} }}, fast(p, appendTime)
	}
	into = p
	switch {
	case array:
		into = documentInto{p, decodeArray}
	case isDocument(reflect.TypeOf(p).Elem()):
		into = documentInto{p, json.Unmarshal}
	}
	return into, func(text []byte) ([]byte, error) {
		encoded, err := json.Marshal(p)
		return append(text, encoded...), err
	}
}

// fast returns a writer for a field of type V or *V, or nil.
func fast[V any](p any, add func([]byte, V) []byte) writer {
	switch p := p.(type) {
	case *V:
		return func(text []byte) ([]byte, error) { return add(text, *p), nil }
	case **V:
		return func(text []byte) ([]byte, error) {
			if *p == nil {
				return append(text, "null"...), nil
			}
			return add(text, **p), nil
		}
	}
	return nil
}

// appendText appends what json.Marshal returns for s.
func appendText(text []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			encoded, _ := json.Marshal(s) // a string has no error
			return append(text, encoded...)
		}
	}
	text = append(append(text, '"'), s...)
	return append(text, '"')
}

// appendDate cuts a time to the milliseconds that a filter can compare.
func appendDate(text []byte, t time.Time) []byte {
	return append(t.UTC().AppendFormat(append(text, '"'), paging.DateLayout), '"')
}

func appendTime(text []byte, t envelope.Time) []byte { return appendDate(text, t.Time) }

// dateInto reads a date, which is a text in SQLite. NULL leaves a pointer nil.
type dateInto struct {
	null bool // a pointer
	set  func(time.Time)
}

// Scan implements sql.Scanner.
func (d dateInto) Scan(value any) error {
	t, ok := value.(time.Time)
	if text, isText := value.(string); isText {
		var err error
		if t, err = time.Parse(paging.DateLayout, text); err != nil {
			t, err = time.Parse(time.DateOnly, text)
		}
		ok = err == nil
	}
	switch {
	case ok:
		d.set(t)
	case value != nil || !d.null:
		return fmt.Errorf("a %T is no date", value) // without the text
	}
	return nil
}

// documentInto decodes the text of a document. NULL leaves the zero value.
type documentInto struct {
	p      any
	decode func(text []byte, p any) error
}

// Scan implements sql.Scanner.
func (d documentInto) Scan(value any) error {
	switch v := value.(type) {
	case nil:
		return nil
	case []byte:
		return d.decode(v, d.p)
	case string:
		return d.decode([]byte(v), d.p)
	}
	return fmt.Errorf("a document of type %T", value)
}

// decodeArray decodes a JSON array, or a text[] of PostgreSQL like {a,"b c",NULL}. A
// condition looks at the texts of all dimensions, and so {{a},{b}} is the same as {a,b}.
func decodeArray(text []byte, p any) error {
	_, literal, _ := strings.Cut(string(text), "{") // [2:3]= before it is of no interest
	if !strings.HasSuffix(literal, "}") {
		return json.Unmarshal(text, p)
	}
	elements := []*string{}
	for _, e := range arrayElement.FindAllString(literal, -1) {
		switch {
		case e == "NULL":
			elements = append(elements, nil)
			continue
		case e[0] == '"':
			e = unescapeElement.Replace(e[1 : len(e)-1])
		}
		elements = append(elements, &e)
	}
	encoded, _ := json.Marshal(elements) // texts have no error
	return json.Unmarshal(encoded, p)
}

var (
	arrayElement    = regexp.MustCompile(`"(?:[^"\\]|\\["\\])*"|[^{},]+`)
	unescapeElement = strings.NewReplacer(`\\`, `\`, `\"`, `"`)
)

// isDocument reports whether a type cannot be scanned and so is the JSON of a column.
func isDocument(typ reflect.Type) bool {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch typ.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Array, reflect.Interface:
		return typ != reflect.TypeFor[[]byte]() && !reflect.PointerTo(typ).Implements(reflect.TypeFor[sql.Scanner]())
	}
	return false
}
