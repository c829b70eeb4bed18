package signing

import (
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"

	"github.com/tenantkit/tenantkit/internal/redacted"
)

// Secret is a client secret. However it is printed, logged or encoded, it reads
// REDACTED; string(s) is the secret itself. In an unexported field of a struct it
// does not, as fmt asks no method there.
type Secret string

type hidden = redacted.Value // embedded, it is no field of the exported surface

func (Secret) String() string                 { return redacted.Text }
func (Secret) GoString() string               { return redacted.Text }
func (Secret) LogValue() slog.Value           { return slog.StringValue(redacted.Text) }
func (Secret) MarshalText() ([]byte, error)   { return []byte(redacted.Text), nil }
func (Secret) MarshalBinary() ([]byte, error) { return []byte(redacted.Text), nil } // gob asks for it

// Format covers the verbs that never ask String, such as %d and %x.
func (Secret) Format(f fmt.State, _ rune) { io.WriteString(f, redacted.Text) }

// The lengths of what Generate makes. That every client key has the same length
// keeps clientKey + secret from being split in two ways.
const (
	keyLength    = 22
	secretLength = 64
)

// Generate makes a credential from crypto/rand: a client key of 22 and a secret
// of 64 letters and digits (130 and 380 bits).
func Generate() (clientKey string, secret Secret) {
	return random(keyLength), Secret(random(secretLength))
}

// generated reports whether a credential has the shape of those Generate makes.
func generated(clientKey string, secret Secret) bool {
	return alphanumeric.holds(clientKey, keyLength, keyLength) &&
		alphanumeric.holds(string(secret), secretLength, secretLength)
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// random returns n letters and digits, each of them equally likely.
func random(n int) string {
	text := make([]byte, 0, n)
	noise := make([]byte, n+n/4)
	for len(text) < n {
		rand.Read(noise)
		text = appendLetters(text, noise)
	}
	return string(text[:n])
}

// appendLetters maps random bytes to letters. The bytes past the last multiple
// of 62 are rejected: taken modulo 62 they would favour some letters.
func appendLetters(text, noise []byte) []byte {
	const fair = 256 - 256%len(alphabet)
	for _, b := range noise {
		if int(b) < fair {
			text = append(text, alphabet[int(b)%len(alphabet)])
		}
	}
	return text
}
