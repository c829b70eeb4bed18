// Package redacted makes secrets print as REDACTED.
package redacted

import (
	"fmt"
	"io"
	"log/slog"
)

// Text is printed, logged and encoded instead of a secret.
const Text = "REDACTED"

// Value is embedded in a struct that holds secrets. Its methods print Text instead of
// the fields. A secret that is no struct has methods of its own, which return the
// same.
type Value struct{}

func (Value) String() string                 { return Text }
func (Value) GoString() string               { return Text }
func (Value) LogValue() slog.Value           { return slog.StringValue(Text) }
func (Value) MarshalJSON() ([]byte, error)   { return []byte(`"` + Text + `"`), nil }
func (Value) MarshalText() ([]byte, error)   { return []byte(Text), nil }
func (Value) MarshalBinary() ([]byte, error) { return []byte(Text), nil } // gob calls it

// Format covers the verbs that do not call String, such as %d and %x.
func (Value) Format(f fmt.State, _ rune) { io.WriteString(f, Text) }
