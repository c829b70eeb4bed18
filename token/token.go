package token

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/tenantkit/tenantkit/internal/redacted"
)

// Token is a signed token. Whoever has it can use it, so it prints as
// REDACTED, however it is encoded; string(t) is what goes over the wire. In an
// unexported field of a struct it does not, as fmt asks no method there. A Token is
// its own Source.
type Token string

// Token implements Source.
func (t Token) Token(context.Context) (Token, error) { return t, nil }

func (Token) String() string                 { return redacted.Text }
func (Token) GoString() string               { return redacted.Text }
func (Token) Format(s fmt.State, _ rune)     { io.WriteString(s, redacted.Text) }
func (Token) LogValue() slog.Value           { return slog.StringValue(redacted.Text) }
func (Token) MarshalText() ([]byte, error)   { return []byte(redacted.Text), nil }
func (Token) MarshalBinary() ([]byte, error) { return []byte(redacted.Text), nil } // gob asks for it

// Source is where a client takes its token from, once per request. It may
// renew it. Implementations are safe for concurrent use.
type Source interface {
	Token(ctx context.Context) (Token, error)
}
