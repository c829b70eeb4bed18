// Package redacted is what secrets print as.
package redacted

import (
	"fmt"
	"io"
	"log/slog"
)

// Text stands for a secret in whatever is printed, logged or encoded.
const Text = "REDACTED"

// Value is embedded in a struct that holds secrets: with its methods the struct
// shows Text instead of its fields. A secret that is no struct has methods of its own
// which return the same.
type Value struct{}

func (Value) String() string                 { return Text }
func (Value) GoString() string               { return Text }
func (Value) LogValue() slog.Value           { return slog.StringValue(Text) }
func (Value) MarshalJSON() ([]byte, error)   { return []byte(`"` + Text + `"`), nil }
func (Value) MarshalText() ([]byte, error)   { return []byte(Text), nil }
func (Value) MarshalBinary() ([]byte, error) { return []byte(Text), nil } // gob asks for it

// Format covers the verbs that never ask String, such as %d and %x.
func (Value) Format(f fmt.State, _ rune) { io.WriteString(f, Text) }
