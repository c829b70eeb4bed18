// Package printed prints and encodes a value in every way of the standard library.
// Tests use it to check that a secret does not appear in the output.
package printed

import (
	"bytes"
	"encoding"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
)

// within holds a value as a field, an element and an attribute.
type within[T any] struct {
	Value T
	List  []T
	Attr  T `xml:",attr"`
}

// pointing holds a pointer. For a verb that is not for pointers, fmt calls no method
// of the value behind it. So only the encoders and loggers get it.
type pointing[T any] struct{ Pointer *T }

// All returns the outputs for a value and for structs that hold it, one line for each
// way. If a way refuses the value, its line has the error.
func All[T any](v T) string {
	var out bytes.Buffer
	encode(&out, pointing[T]{&v})
	log(&out, pointing[T]{&v})
	holder := within[T]{v, []T{v}, v}
	for _, each := range []any{v, &v, holder, &holder, []T{v}, map[string]T{"a": v}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%c", "%U", "%t", "%10.3s"} {
			fmt.Fprintf(&out, verb+"\n", each)
		}
		encode(&out, each)
		log(&out, each)
	}
	// fmt calls Format; other packages call these methods.
	if s, ok := any(v).(fmt.Stringer); ok {
		fmt.Fprintln(&out, s.String())
	}
	if s, ok := any(v).(fmt.GoStringer); ok {
		fmt.Fprintln(&out, s.GoString())
	}
	if s, ok := any(v).(slog.LogValuer); ok {
		fmt.Fprintln(&out, s.LogValue())
	}
	return out.String()
}

func encode(out *bytes.Buffer, v any) {
	note := func(text []byte, err error) { fmt.Fprintf(out, "%s %v\n", text, err) }
	note(json.Marshal(v))

	element := xml.NewEncoder(out) // not xml.Marshal: some type names are not valid in XML
	note(nil, element.EncodeElement(v, xml.StartElement{Name: xml.Name{Local: "v"}}))
	note(nil, gob.NewEncoder(out).Encode(v))
	if m, ok := v.(encoding.TextMarshaler); ok {
		note(m.MarshalText())
	}
	if m, ok := v.(encoding.BinaryMarshaler); ok {
		note(m.MarshalBinary())
	}
}

func log(out *bytes.Buffer, v any) {
	untimed := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{} // its digits could match those of a secret
		}
		return a
	}}
	slog.New(slog.NewTextHandler(out, untimed)).Info("m", "v", v)
	slog.New(slog.NewJSONHandler(out, untimed)).Info("m", "v", v)
}
