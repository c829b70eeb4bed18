// Package printed prints and encodes a value in every way of the standard library.
// Tests use it to check that a secret does not appear in the output.
package printed

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"reflect"
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
	holder := within[T]{v, []T{v}, v}
	for _, each := range []any{v, &v, holder, &holder, []T{v}, map[string]T{"a": v}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%c", "%U", "%t", "%10.3s"} {
			fmt.Fprintf(&out, verb+"\n", each)
		}
		encode(&out, each)
	}
	return out.String()
}

// encode writes what encoders and loggers make of v, and what its methods return.
func encode(out *bytes.Buffer, v any) {
	text, err := json.Marshal(v)
	element := xml.NewEncoder(out) // not xml.Marshal: some type names are not valid in XML
	fmt.Fprintf(out, "%s %v\n", text, err)
	fmt.Fprintln(out, element.EncodeElement(v, xml.StartElement{Name: xml.Name{Local: "v"}}))
	fmt.Fprintln(out, gob.NewEncoder(out).Encode(v))
	// fmt calls Format; other packages call these methods.
	for _, name := range []string{"String", "GoString", "LogValue", "MarshalText", "MarshalBinary"} {
		if method := reflect.ValueOf(v).MethodByName(name); method.IsValid() {
			for _, result := range method.Call(nil) {
				fmt.Fprintf(out, "%s\n", result)
			}
		}
	}
	untimed := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{} // its digits could match those of a secret
		}
		return a
	}}
	slog.New(slog.NewTextHandler(out, untimed)).Info("m", "v", v)
	slog.New(slog.NewJSONHandler(out, untimed)).Info("m", "v", v)
}
