package sqllist

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

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

// scanners keeps scanners for the next requests.
type scanners struct{ sync.Pool }

func (s *scanners) get() *scanner { return s.Get().(*scanner) }

// put takes a scanner back, without the values of its last row.
func (s *scanners) put(used *scanner) {
	used.reset()
	s.Put(used)
}

func newScanner(l *List, row reflect.Value, reset func()) *scanner {
	s := &scanner{reset: reset}
	for _, c := range l.columns {
		into, write := access(row.FieldByIndex(c.index).Addr())
		s.into, s.write = append(s.into, into), append(s.write, write)
	}
	s.id = row.FieldByIndex(l.columns[0].index).Addr().Interface().(*string)
	return s
}

// access returns what sql.Rows.Scan fills a field by, and what writes the field.
func access(field reflect.Value) (into any, write writer) {
	switch p := field.Interface().(type) {
	case *string:
		return p, value(p, appendText)
	case **string:
		return p, orNull(p, appendText)
	case *time.Time:
		return dateInto(func(t *time.Time) error {
			if t == nil {
				return errors.New("the date is NULL")
			}
			*p = *t
			return nil
		}), value(p, appendDate)
	case **time.Time:
		return dateInto(func(t *time.Time) error { *p = t; return nil }), orNull(p, appendDate)
	}
	p := field.Interface()
	into = p
	if isDocument(field.Type().Elem()) {
		into = documentInto{p}
	}
	return into, func(text []byte) ([]byte, error) {
		encoded, err := json.Marshal(p)
		return append(text, encoded...), err
	}
}

func value[V any](p *V, add func([]byte, V) []byte) writer {
	return func(text []byte) ([]byte, error) { return add(text, *p), nil }
}

func orNull[V any](p **V, add func([]byte, V) []byte) writer {
	return func(text []byte) ([]byte, error) {
		if *p == nil {
			return append(text, "null"...), nil
		}
		return add(text, **p), nil
	}
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

// dateInto reads a date, which is a text in SQLite. It gets nil for NULL.
type dateInto func(*time.Time) error

// Scan implements sql.Scanner.
func (set dateInto) Scan(value any) error {
	switch v := value.(type) {
	case nil:
		return set(nil)
	case time.Time:
		return set(&v)
	case string:
		t, err := time.Parse(paging.DateLayout, v)
		if err != nil {
			t, err = time.Parse(time.DateOnly, v)
		}
		if err != nil {
			return errors.New("the text is no date") // without the text
		}
		return set(&t)
	}
	return fmt.Errorf("a date of type %T", value)
}

// documentInto decodes a JSON document. NULL leaves the zero value.
type documentInto struct{ p any }

// Scan implements sql.Scanner.
func (d documentInto) Scan(value any) error {
	switch v := value.(type) {
	case nil:
		return nil
	case []byte:
		return json.Unmarshal(v, d.p)
	case string:
		return json.Unmarshal([]byte(v), d.p)
	}
	return fmt.Errorf("a document of type %T", value)
}

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
