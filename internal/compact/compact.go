// Package compact reads tokens in the compact form of RFC 7515 section 3.1: those of this
// server, of other issuers and of clients that authenticate. It accepts one spelling of each.
package compact

import (
	"encoding/base64"
	"errors"
	"strings"

	"github.com/tenantkit/tenantkit/internal/ascii"
)

// MaxToken is how many bytes a whole token may have.
const MaxToken = 8 << 10

// The reasons for which a token is not split.
var (
	ErrTooLarge = errors.New("larger than 8 KiB")
	ErrShape    = errors.New("not three parts of base64url")
	ErrHeader   = errors.New("header too large")
	ErrEncoding = errors.New("not canonical base64url")
)

// TooLong reports whether a token cannot hold an array of these strings, whatever else it has. It
// costs nothing, so it comes before each of them costs work.
func TooLong(texts []string) bool {
	length := 0
	for _, text := range texts {
		length += len(text) + len(`"",`)
	}
	return length > MaxToken
}

// Parts are the three parts of a token. They are decoded from base64url, but the JSON is
// not read.
type Parts struct {
	Signed          string // what the signature covers: header.payload, encoded
	Header, Payload string
	Signature       []byte
}

// Split splits a token whose encoded header has at most maxHeader bytes.
func Split(raw string, maxHeader int) (Parts, error) {
	if len(raw) > MaxToken {
		return Parts{}, ErrTooLarge
	}
	first := strings.IndexByte(raw, '.')
	last := strings.LastIndexByte(raw, '.')
	if first < 1 || last < first+2 || last == len(raw)-1 {
		return Parts{}, ErrShape
	}
	header, payload, signature := raw[:first], raw[first+1:last], raw[last+1:]
	// The decoder alone would ignore line breaks.
	if !ascii.Name.Only(header) || !ascii.Name.Only(payload) || !ascii.Name.Only(signature) {
		return Parts{}, ErrShape
	}
	if len(header) > maxHeader {
		return Parts{}, ErrHeader
	}
	h, badHeader := strict.DecodeString(header)
	p, badPayload := strict.DecodeString(payload)
	s, badSignature := strict.DecodeString(signature)
	if badHeader != nil || badPayload != nil || badSignature != nil {
		return Parts{}, ErrEncoding
	}
	return Parts{raw[:last], string(h), string(p), s}, nil
}

// strict also refuses unused bits after the last byte that are not zero. With them,
// one signature would have several texts.
var strict = base64.RawURLEncoding.Strict()
