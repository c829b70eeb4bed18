package envelope

import (
	"bytes"
	"encoding/json"
	"math"
	"time"

	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// Encode returns v as JSON, as auth.Reply sends it. The error is that of json.Marshal.
func Encode(v any) ([]byte, error) {
	if list, ok := v.(List[Verbatim]); ok {
		return encodeVerbatim(list)
	}
	if known, ok := v.(interface{ wire() any }); ok {
		v = known.wire() // avoids a second pass over the JSON of MarshalJSON
	}
	return json.Marshal(v)
}

// Verbatim is a JSON text that the program has encoded. As items of a List, Encode sends
// such texts as they are. encoding/json checks each byte of a json.RawMessage again, which
// takes longer than to write the item. So a Verbatim must be valid JSON: never take it from
// a request. Anywhere else it is checked like a json.RawMessage.
type Verbatim []byte

// MarshalJSON returns the text, or null if there is none.
func (v Verbatim) MarshalJSON() ([]byte, error) { return json.RawMessage(v).MarshalJSON() }

func encodeVerbatim(list List[Verbatim]) ([]byte, error) {
	items := list.Data
	list.Data = nil
	around, err := json.Marshal(list.wire())
	if err != nil {
		return nil, err
	}
	size := len(around) + len(items)
	for _, item := range items {
		size += len(item)
	}
	before, after, _ := bytes.Cut(around, dataStart)
	text := append(append(make([]byte, 0, size), before...), dataStart...)
	for i, item := range items {
		if i > 0 {
			text = append(text, ',')
		}
		if len(item) == 0 {
			item = Verbatim("null")
		}
		text = append(text, item...)
	}
	return append(text, after...), nil
}

var dataStart = []byte(`"data":[`)

// Result is a reply that is a value and not an object of the platform:
// {"object":"result","data":…}.
type Result[T any] struct {
	Data T
}

type wireResult[T any] struct {
	Object string `json:"object"`
	Data   T      `json:"data"`
}

func (r Result[T]) wire() any { return wireResult[T]{Object: "result", Data: r.Data} }

// MarshalJSON writes the result with its object name.
func (r Result[T]) MarshalJSON() ([]byte, error) { return json.Marshal(r.wire()) }

// UnmarshalJSON reads a result. If the object is not "result", the error wraps
// ErrShape.
func (r *Result[T]) UnmarshalJSON(body []byte) error {
	var w wireResult[T]
	if err := decodeAs("result", body, &w, &w.Object); err != nil {
		return err
	}
	r.Data = w.Data
	return nil
}

// Enum is a type of texts with few values. Values returns them, whatever the receiver. Read
// refuses other texts, and documents of auth/openapi name them.
//
//	type state string
//
//	func (state) Values() []string { return []string{"open", "closed"} }
type Enum interface{ Values() []string }

// Time is a time as lists have it: in UTC with milliseconds, 2026-01-02T03:04:05.000Z. Use it
// in the replies of objects whose lists package sqllist answers. encoding/json writes a
// time.Time without its last zeros and in its own zone, so that one property has two
// spellings, and texts that are not in the order of the times.
type Time struct{ time.Time }

// MarshalJSON writes the time. The error is that of time.Time, such as for the year 10000.
func (t Time) MarshalJSON() ([]byte, error) {
	if text, err := t.UTC().MarshalJSON(); err != nil {
		return text, err
	}
	return t.UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000Z"`), nil
}

// node is one JSON value: its text and, for an object or array, its parts.
type node struct {
	text  string
	parts []part
}

// part is a member of an object, or an element of an array. An element has no name.
type part struct {
	name string
	key  string // the text of the name, with its quotes
	node
}

func (n *node) isObject() bool { return n.text[0] == '{' }
func (n *node) isArray() bool  { return n.text[0] == '[' }

// member returns the member with that name, which is not empty, or nil.
func (n *node) member(name string) *part {
	for i := range n.parts {
		if n.parts[i].name == name {
			return &n.parts[i]
		}
	}
	return nil
}

// object returns the value of the member "object" if it is a string, else "". Of
// several such members the first string counts. Select may drop the others, and its
// result must be the same object.
func (n *node) object() string {
	for i := range n.parts {
		if m := &n.parts[i]; m.name == "object" && m.text[0] == '"' {
			r := strictjson.New(m.text, encoded)
			return r.Text()
		}
	}
	return ""
}

// encoded are the limits of a text that json.Marshal has written: it is valid, compact and of
// limited depth.
var encoded = strictjson.Limits{Depth: math.MaxInt, Members: math.MaxInt, AllowNUL: true, AllowDuplicates: true, AllowReplaced: true}

// parse reads a value of text.
func parse(r *strictjson.Reader, text string) (n node) {
	start := r.Offset()
	switch r.Kind() {
	case '{':
		at := start + 1
		for name := range r.Object {
			key := text[at : r.Offset()-1] // without the colon
			n.parts = append(n.parts, part{name, key, parse(r, text)})
			at = r.Offset() + 1 // after the comma
		}
	case '[':
		for range r.Array {
			n.parts = append(n.parts, part{node: parse(r, text)})
		}
	default:
		r.Skip()
	}
	n.text = text[start:r.Offset()]
	return n
}
