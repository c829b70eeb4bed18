// Package redacted makes secrets print as REDACTED.
package redacted

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
)

const text = "REDACTED" // printed, logged and encoded instead of a secret

// Value is embedded in a struct that holds secrets. Its methods print REDACTED instead of
// the fields.
type Value struct{}

func (Value) String() string                 { return text }
func (Value) GoString() string               { return text }
func (Value) LogValue() slog.Value           { return slog.StringValue(text) }
func (Value) MarshalJSON() ([]byte, error)   { return []byte(`"` + text + `"`), nil }
func (Value) MarshalText() ([]byte, error)   { return []byte(text), nil }
func (Value) MarshalBinary() ([]byte, error) { return []byte(text), nil } // gob calls it

// Format covers the verbs that do not call String, such as %d and %x.
func (Value) Format(f fmt.State, _ rune) { io.WriteString(f, text) }

// String is a secret. Secrets of different kinds are different types.
type String[Kind any] string

func (String[Kind]) String() string                 { return text }
func (String[Kind]) GoString() string               { return text }
func (String[Kind]) LogValue() slog.Value           { return slog.StringValue(text) }
func (String[Kind]) MarshalText() ([]byte, error)   { return []byte(text), nil }
func (String[Kind]) MarshalBinary() ([]byte, error) { return []byte(text), nil }
func (String[Kind]) Format(f fmt.State, _ rune)     { io.WriteString(f, text) }

// UnmarshalText returns an error for what MarshalText has written: a secret that everybody knows would take the place
// of the one that was lost.
func (s *String[Kind]) UnmarshalText(b []byte) error {
	if string(b) == text {
		return errRedacted
	}
	*s = String[Kind](b)
	return nil
}

var errRedacted = errors.New("redacted: a secret was encoded by its type, which keeps nothing of it")
