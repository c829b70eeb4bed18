package token

import (
	"encoding/base64"
	"strings"
)

const (
	maxToken  = 8 << 10 // bytes of a whole token
	maxHeader = 1 << 10 // bytes of its encoded header
)

var (
	errTooLarge  = refuse("larger than 8 KiB")
	errShape     = refuse("not three parts of base64url")
	errHeaderBig = refuse("header larger than 1 KiB")
	errEncoding  = refuse("not canonical base64url")
)

// compact is a token in its three parts, as RFC 7515 section 3.1 writes it:
// decoded, not read.
type compact struct {
	signed          string // what the signature covers: header.payload, encoded
	header, payload string
	signature       []byte
}

func split(raw string) (compact, error) {
	first := strings.IndexByte(raw, '.')
	last := strings.LastIndexByte(raw, '.')
	if first < 1 || last < first+2 || last == len(raw)-1 {
		return compact{}, errShape
	}
	header, payload, signature := raw[:first], raw[first+1:last], raw[last+1:]
	if !isBase64URL(header) || !isBase64URL(payload) || !isBase64URL(signature) {
		return compact{}, errShape
	}
	if len(header) > maxHeader {
		return compact{}, errHeaderBig
	}
	return decode(compact{signed: raw[:last]}, header, payload, signature)
}

// isBase64URL reports whether s has no characters but those of base64url. The
// decoder alone would pass over line breaks.
func isBase64URL(s string) bool {
	for i := range len(s) {
		if !base64url[s[i]] {
			return false
		}
	}
	return true
}

var base64url = func() (set [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") {
		set[c] = true
	}
	return set
}()

// strict also refuses bits behind the last byte: with them one signature has
// several texts.
var strict = base64.RawURLEncoding.Strict()

func decode(c compact, header, payload, signature string) (compact, error) {
	h, err := strict.DecodeString(header)
	if err != nil {
		return compact{}, errEncoding
	}
	p, err := strict.DecodeString(payload)
	if err != nil {
		return compact{}, errEncoding
	}
	if c.signature, err = strict.DecodeString(signature); err != nil {
		return compact{}, errEncoding
	}
	c.header, c.payload = string(h), string(p)
	return c, nil
}

func encode(part []byte) string { return base64.RawURLEncoding.EncodeToString(part) }
