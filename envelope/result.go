package envelope

import (
	"encoding/json"
	"time"
)

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
