package signing

import (
	"fmt"
	"net/http"
)

// credential is what the headers of a signed request say.
type credential struct {
	use       Use
	timestamp string
	signed    int64 // the timestamp, Unix milliseconds
	account   bool
}

const (
	maxClientKey = 128
	maxAccount   = 64
	nonceLength  = 16
)

// parse reads the headers. It is strict where being lenient would give one
// request two spellings: each of them would be a request of its own to Replays.
func (c *credential) parse(h http.Header, names *Headers) error {
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
	case !visible.holds(c.use.ClientKey, 1, maxClientKey):
		return fmt.Errorf("%w: client key", ErrMalformed)
	case !parseSignature(&c.use.Signature, signature[0]):
		return fmt.Errorf("%w: signature", ErrMalformed)
	case !isTime:
		return fmt.Errorf("%w: timestamp", ErrMalformed)
	case !alphanumeric.holds(c.use.Nonce, nonceLength, nonceLength):
		return fmt.Errorf("%w: nonce", ErrMalformed)
	case c.account && !visible.holds(account[0], 1, maxAccount):
		return fmt.Errorf("%w: account", ErrMalformed)
	}
	return nil
}
