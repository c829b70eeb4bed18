// Package redacted makes secrets print as REDACTED.
package redacted

import (
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
