package envelope

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

// These are the errors of Decode, besides a fault and the errors of the reader.
var (
	ErrTooLarge = errors.New("envelope: body is larger than the limit")
	ErrNotJSON  = errors.New("envelope: body is not JSON") // an HTML page, text after the value, or an early end
	ErrShape    = errors.New("envelope: JSON of another shape")
)

// Decode reads a whole reply of at most limit bytes into v, which points to a List, a
// Result or a struct of the caller's. If the object of the reply is "fault", the
// error is a *Fault, whatever v is and whatever the HTTP status was.
//
// Other errors wrap ErrTooLarge, ErrNotJSON, ErrShape or the error of
// r. After an error, a List or Result is unchanged. Any other v may be partly filled.
// Decode uses the bytes that it passes to an UnmarshalJSON of v again. As
// encoding/json requires, UnmarshalJSON must copy what it keeps.
func Decode(r io.Reader, limit int64, v any) error {
	b := bodies.Get().(*bytes.Buffer)
	defer release(b)
	body, err := readAll(b, r, limit)
	if err != nil {
		return err
	}
	if string(bytes.TrimSpace(body)) == "null" {
		return fmt.Errorf("%w: null", ErrShape) // encoding/json accepts null for any v and changes nothing
	}
	if known, ok := v.(shape); ok {
		// Called here and not through json.Unmarshal, which would scan the
		// body twice more to find where the value ends.
		err = known.UnmarshalJSON(body)
	} else if err = faultIn(body); err == nil {
		err = json.Unmarshal(body, v)
	}
	if err == nil {
		return nil
	}
	return explain(body, err)
}

// shape is a List or a Result. It refuses every object except its own, and therefore
// a fault too.
type shape interface {
	json.Unmarshaler
	wire() any
}

// bodies holds the buffers that replies are read into.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxKept is the largest capacity of a buffer in the pool. The buffer of one huge
// reply must not stay in memory for the small replies after it.
const maxKept = 1 << 20

func release(b *bytes.Buffer) {
	if b.Cap() <= maxKept {
		b.Reset()
		bodies.Put(b)
	}
}

func readAll(b *bytes.Buffer, r io.Reader, limit int64) ([]byte, error) {
	_, err := b.ReadFrom(io.LimitReader(r, min(limit, math.MaxInt64-1)+1))
	body := b.Bytes()
	switch {
	case int64(len(body)) > limit:
		return nil, ErrTooLarge
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w: %w", ErrNotJSON, err)
	case err != nil:
		return nil, fmt.Errorf("envelope: reading the body: %w", err)
	}
	return body, nil
}

// explain returns the error for a body that could not be decoded. It says what the
// body was instead.
func explain(body []byte, err error) error {
	if syntax := json.Unmarshal(body, new(json.RawMessage)); syntax != nil {
		return fmt.Errorf("%w: %w", ErrNotJSON, syntax)
	}
	if fault := faultIn(body); fault != nil {
		return fault
	}
	if errors.Is(err, ErrShape) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrShape, err)
}

// faultIn returns the fault in body, or nil if body is no fault.
func faultIn(body []byte) error {
	// A field of another type stays zero. A fault with unusual fields is
	// still a refusal.
	var w wireFault
	_ = json.Unmarshal(body, &w)
	if w.Object != "fault" {
		return nil
	}
	return w.fault()
}

// decodeAs decodes body into v. got points to the object of v, which must be object.
func decodeAs(object string, body []byte, v any, got *string) error {
	if err := json.Unmarshal(body, v); err != nil {
		return err
	}
	if *got != object {
		return fmt.Errorf("%w: object is %.40q, not %q", ErrShape, *got, object)
	}
	return nil
}
