package envelope

import "encoding/json"

// Select encodes v, a JSON object, and keeps of it what keep says.
func Select(v any, keep func(path string) bool) (json.RawMessage, error) {
	return nil, ErrShape // fails closed until the projection is here
}
