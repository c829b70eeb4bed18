package signing

import (
	"crypto/rand"
	"fmt"
	"net/http"

	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/internal/redacted"
)

// credential holds what a signed request says, in either version.
type credential struct {
	use       Use
	signed    int64 // Unix milliseconds
	account   bool
	timestamp string // of version 1
	command   string // of version 1
	method    string
	isV2      bool
	v2        v2
}

const (
	maxClientKey = 128 // as for ascii.IsClientKey
	maxAccount   = 64
	nonceLength  = 16
)

// parseV1 reads the headers of version 1. It is strict, so that a request has only one
// spelling: Replays would record a second spelling as another request.
func (c *credential) parseV1(h http.Header, names *Headers) error {
	key, signature, timestamp := h[names.ClientKey], h[names.Signature], h[names.Timestamp]
	nonce, account := h[names.Nonce], h[names.Account]
	signed := len(signature)+len(timestamp)+len(nonce) > 0
	switch {
	case max(len(key), len(signature), len(timestamp), len(nonce), len(account)) > 1:
		return fmt.Errorf("%w: a header is there twice", ErrAmbiguous)
	case !signed && len(account) > 0:
		return fmt.Errorf("%w: an account without a signature", ErrAmbiguous)
	case !signed:
		return ErrNoSignature
	case min(len(key), len(signature), len(timestamp), len(nonce)) == 0:
		return fmt.Errorf("%w: a header is missing", ErrMalformed)
	}
	c.use.ClientKey, c.use.Nonce, c.timestamp, c.account = key[0], nonce[0], timestamp[0], len(account) > 0
	var isTime bool
	c.signed, isTime = parseMillis(c.timestamp)
	switch {
	case !ascii.IsClientKey(c.use.ClientKey):
		return fmt.Errorf("%w: client key", ErrMalformed)
	case !ascii.DecodeHex(c.use.Signature[:], signature[0]):
		return fmt.Errorf("%w: signature", ErrMalformed)
	case !isTime:
		return fmt.Errorf("%w: timestamp", ErrMalformed)
	case !ascii.Alphanumeric.Holds(c.use.Nonce, nonceLength, nonceLength):
		return fmt.Errorf("%w: nonce", ErrMalformed)
	case c.account && !ascii.Visible.Holds(account[0], 1, maxAccount):
		return fmt.Errorf("%w: account", ErrMalformed)
	}
	return nil
}

// appendMessage appends what the signature covers.
func (c *credential) appendMessage(dst []byte) []byte {
	if c.isV2 {
		return c.v2.base.append(dst)
	}
	return appendMessage(dst, c.command, c.method, c.timestamp)
}

func (c *credential) signature() []byte {
	if c.isV2 {
		return c.v2.signature[:c.v2.size]
	}
	return c.use.Signature[:]
}

// isEd25519 reports whether the signature is one of Ed25519.
func (c *credential) isEd25519() bool { return c.isV2 && c.v2.alg == algEd25519 }

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
// (110 bits), and a secret of 64 letters and digits (320 bits).
func Generate() (clientKey string, secret Secret) {
	return random(keyLength), Secret(random(secretLength))
}

// random returns n letters and digits, with 5 bits each.
func random(n int) (text string) {
	for len(text) < n {
		text += rand.Text()
	}
	return text[:n]
}
