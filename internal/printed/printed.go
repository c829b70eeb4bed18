// Package printed shows a value in every way that the standard library prints and
// encodes one. It is for tests that a secret is in none of them.
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

// within is where a value may stand.
type within[T any] struct {
	Value T
	List  []T
	Attr  T `xml:",attr"`
}

// pointing has a pointer. With a verb that is none for pointers, fmt asks no method
// of what it points to: only the encoders see it.
type pointing[T any] struct{ Pointer *T }

// All returns what became of a value and of a struct that holds it, one line for
// each way. A way that refuses the value has its error there.
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
	// fmt asks for Format; others ask for these.
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

	element := xml.NewEncoder(out) // not xml.Marshal: the names of some types are none in XML
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
			return slog.Attr{} // its digits may be those of a secret
		}
		return a
	}}
	slog.New(slog.NewTextHandler(out, untimed)).Info("m", "v", v)
	slog.New(slog.NewJSONHandler(out, untimed)).Info("m", "v", v)
}
