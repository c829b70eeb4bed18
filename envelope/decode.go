package envelope

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// What Decode refuses. A fault is returned as a *Fault instead.
var (
	ErrTooLarge  = errors.New("envelope: body is larger than the limit")
	ErrTruncated = errors.New("envelope: body ends early")
	ErrNotJSON   = errors.New("envelope: body is not JSON")
	ErrShape     = errors.New("envelope: body has another shape")
)

// Decode reads one JSON value of at most limit bytes into v. A fault is
// returned as the error, a *Fault, and v is left alone.
func Decode(r io.Reader, limit int64, v any) error {
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return err
	}
	if int64(len(body)) > limit {
		return ErrTooLarge
	}
	return json.Unmarshal(body, v)
}

func decodeAs(object string, body []byte, v any, got *string) error {
	if err := json.Unmarshal(body, v); err != nil {
		return err
	}
	if *got != object {
		return fmt.Errorf("%w: object is %.40q, not %q", ErrShape, *got, object)
	}
	return nil
}
