package signing

import (
	"crypto/sha256"
	"fmt"
	"net/http"
)

// credential holds what a signed request says, in either version.
type credential struct {
	use       Use
	signed    int64 // Unix milliseconds
	account   bool
	timestamp string // of version 1
	command   string // of version 1
	method    string
	isSecond  bool
	second    second // of version 2
}

const (
	maxClientKey = 128
	maxAccount   = 64
	nonceLength  = 16
)

// parse reads the headers. It is strict, so that a request has only one spelling:
// Replays would record a second spelling as another request.
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

// appendMessage appends what the signature covers.
func (c *credential) appendMessage(dst []byte) []byte {
	if c.isSecond {
		return c.second.base.append(dst)
	}
	return appendMessage(dst, c.command, c.method, c.timestamp)
}

// mac returns the signature as an HMAC.
func (c *credential) mac() []byte {
	if c.isSecond {
		return c.second.input.signature[:sha256.Size]
	}
	return c.use.Signature[:]
}

// isEd25519 reports whether the signature is one of Ed25519.
func (c *credential) isEd25519() bool { return c.isSecond && c.second.input.alg == algEd25519 }

// class is a set of ASCII characters. A byte above 127 is in no class.
type class uint8

const (
	visible class = 1 << iota // '!' to '~'
	alphanumeric
	digit
	fieldKey   // of names in structured fields (RFC 8941)
	fieldToken // of tokens there
	fieldBytes // of byte sequences there
	fieldText  // of strings there, without escapes
	unquoted   // visible, but neither quote nor backslash
)

var classOf = func() (classes [256]class) {
	for c := '!'; c <= '~'; c++ {
		classes[c] |= visible
	}
	add := func(c class, members string) {
		for i := range len(members) {
			classes[members[i]] |= c
		}
	}
	add(alphanumeric, alphabet)
	add(digit, alphabet[:10])
	add(fieldKey, "0123456789abcdefghijklmnopqrstuvwxyz_-.*")
	add(fieldToken, alphabet+"!#$%&'*+-.^_`|~:/")
	add(fieldBytes, alphabet+"+/=")
	for c := ' '; c <= '~'; c++ {
		if c != '"' && c != '\\' {
			classes[c] |= fieldText | unquoted
		}
	}
	classes[' '] &^= unquoted
	return classes
}()

// holds reports whether s has least to most characters, all of the class. The loop
// has no branch, because branches on random text, such as nonces and keys, are slow.
func (c class) holds(s string, least, most int) bool {
	if len(s) < least || len(s) > most {
		return false
	}
	for i := range len(s) {
		c &= classOf[s[i]]
	}
	return c != 0
}

// parseMillis reads Unix milliseconds: 12 to 15 decimal digits without a leading
// zero, which are the years 1973 to 33658. Fifteen digits cannot overflow.
func parseMillis(s string) (ms int64, ok bool) {
	if len(s) < 12 || len(s) > 15 || s[0] == '0' {
		return 0, false
	}
	for i := range len(s) {
		digit := s[i] - '0'
		if digit > 9 {
			return 0, false
		}
		ms = ms*10 + int64(digit)
	}
	return ms, true
}

// parseSignature decodes 64 lower-case hexadecimal digits. Each turn of the loop
// decodes two bytes.
func parseSignature(sum *[sha256.Size]byte, s string) bool {
	if len(s) != 2*len(sum) {
		return false
	}
	var seen byte
	for i := 0; i < len(sum)-1 && len(s) >= 4; i += 2 {
		a, b, c, d := lowerHex[s[0]], lowerHex[s[1]], lowerHex[s[2]], lowerHex[s[3]]
		seen |= a | b | c | d
		sum[i], sum[i+1] = a<<4|b, c<<4|d
		s = s[4:]
	}
	return seen < notHex
}

// lowerHex gives the value of each lower-case hexadecimal digit, and notHex for all
// other bytes.
var lowerHex = func() (values [256]byte) {
	for c := range values {
		values[c] = notHex
	}
	for value, c := range []byte("0123456789abcdef") {
		values[c] = byte(value)
	}
	return values
}()

const notHex = 0x80
