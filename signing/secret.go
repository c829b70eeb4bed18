package signing

import (
	"crypto/rand"

	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/internal/redacted"
)

// Secret is a client secret. It reads REDACTED however it is printed, logged or
// encoded; string(s) is the secret itself. Two cases are not covered, because no method is
// called there: fmt prints an unexported field of a struct, and encoding/json writes the key
// of a map.
type Secret = redacted.String[secret]

type secret struct{}

type hidden = redacted.Value // embedded by an unexported name, so that no exported field appears

// The lengths of generated credentials. All client keys have the same length, so that
// clientKey + secret can be split in only one way.
const (
	keyLength    = 22
	secretLength = 64
)

// Generate makes a credential from crypto/rand: a client key of 22 letters and digits
// (130 bits), and a secret of 64 letters and digits (380 bits).
func Generate() (clientKey string, secret Secret) {
	return random(keyLength), Secret(random(secretLength))
}

// generated reports whether a credential has the shape of those that Generate makes.
func generated(clientKey string, secret Secret) bool {
	return ascii.Alphanumeric.Holds(clientKey, keyLength, keyLength) &&
		ascii.Alphanumeric.Holds(string(secret), secretLength, secretLength)
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

// appendLetters maps random bytes to letters. Bytes past the last multiple of 62 are
// rejected: modulo 62 they would make some letters more likely.
func appendLetters(text, noise []byte) []byte {
	const fair = 256 - 256%len(alphabet)
	for _, b := range noise {
		if int(b) < fair {
			text = append(text, alphabet[int(b)%len(alphabet)])
		}
	}
	return text
}
