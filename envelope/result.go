package envelope

import "encoding/json"

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
