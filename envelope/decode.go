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

// What Decode refuses, besides a fault.
var (
	ErrTooLarge  = errors.New("envelope: body is larger than the limit")
	ErrTruncated = errors.New("envelope: body ends early")
	ErrNotJSON   = errors.New("envelope: body is not JSON") // an HTML page, or text after the value
	ErrShape     = errors.New("envelope: JSON of another shape")
)

// Decode reads a whole reply of at most limit bytes into v, which points to a
// List, a Result or a struct of the caller's. A reply whose object is "fault"
// is the error, a *Fault, whatever v is and whatever the HTTP status was.
//
// Other errors wrap ErrTooLarge, ErrTruncated, ErrNotJSON, ErrShape, or the
// error of r. After any error a List or Result is as it was; another v may be
// partly filled. The bytes that an UnmarshalJSON of v gets are used again after
// Decode: as encoding/json asks of it, it must copy what it keeps.
func Decode(r io.Reader, limit int64, v any) error {
	b := bodies.Get().(*bytes.Buffer)
	defer release(b)
	body, err := readAll(b, r, limit)
	if err != nil {
		return err
	}
	if bytes.Equal(bytes.TrimSpace(body), null) {
		return fmt.Errorf("%w: null", ErrShape) // to encoding/json it is anything, and empty
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

var null = []byte("null")

// shape is a List or a Result: it refuses any object but its own, and so a
// fault too.
type shape interface {
	json.Unmarshaler
	wire() any
}

// bodies are what replies are read into.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxKept is how large a buffer of the pool may be. One huge reply must not stay
// in memory for the small ones after it.
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
		return nil, fmt.Errorf("%w: %w", ErrTruncated, err)
	case err != nil:
		return nil, fmt.Errorf("envelope: reading the body: %w", err)
	}
	return body, nil
}

// explain turns the error of decoding body into one that says what the body
// was instead.
func explain(body []byte, err error) error {
	if !json.Valid(body) {
		return syntax(body)
	}
	if fault := faultIn(body); fault != nil {
		return fault
	}
	if errors.Is(err, ErrShape) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrShape, err)
}

func syntax(body []byte) error {
	var value json.RawMessage
	err := json.NewDecoder(bytes.NewReader(body)).Decode(&value)
	switch {
	case err == nil:
		return fmt.Errorf("%w: text follows the value", ErrNotJSON)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ErrTruncated
	}
	return fmt.Errorf("%w: %w", ErrNotJSON, err)
}

// faultIn returns the fault that body is, or nil.
func faultIn(body []byte) error {
	var probe struct {
		Object string `json:"object"`
	}
	_ = json.Unmarshal(body, &probe)
	if probe.Object != "fault" {
		return nil
	}
	// A field of another type stays zero: a fault that is spelled a little
	// differently is no less a refusal.
	var w wireFault
	_ = json.Unmarshal(body, &w)
	return w.fault()
}

// decodeAs decodes body into v, whose object is at got.
func decodeAs(object string, body []byte, v any, got *string) error {
	if err := json.Unmarshal(body, v); err != nil {
		return err
	}
	if *got != object {
		return fmt.Errorf("%w: object is %.40q, not %q", ErrShape, *got, object)
	}
	return nil
}
