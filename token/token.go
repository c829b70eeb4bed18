package token

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/tenantkit/tenantkit/internal/redacted"
	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// Token is a signed token. Whoever has it can use it, so it prints REDACTED, however
// it is printed or encoded; string(t) is the text on the wire. One case is not
// covered: in an unexported field of a struct, fmt prints the token, because it calls
// no methods there. A Token is its own Source.
type Token string

// Token implements Source.
func (t Token) Token(context.Context) (Token, error) { return t, nil }

func (Token) String() string                 { return redacted.Text }
func (Token) GoString() string               { return redacted.Text }
func (Token) Format(s fmt.State, _ rune)     { io.WriteString(s, redacted.Text) }
func (Token) LogValue() slog.Value           { return slog.StringValue(redacted.Text) }
func (Token) MarshalText() ([]byte, error)   { return []byte(redacted.Text), nil }
func (Token) MarshalBinary() ([]byte, error) { return []byte(redacted.Text), nil } // gob calls it

// Source gives a client its token, once per request. It may renew the token.
// Implementations are safe for concurrent use.
type Source interface {
	Token(ctx context.Context) (Token, error)
}

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

// compact holds the three parts of a token in the compact form of RFC 7515 section
// 3.1. They are decoded from base64url, but the JSON is not read.
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
	h, badHeader := strict.DecodeString(header)
	p, badPayload := strict.DecodeString(payload)
	s, badSignature := strict.DecodeString(signature)
	if badHeader != nil || badPayload != nil || badSignature != nil {
		return compact{}, errEncoding
	}
	return compact{raw[:last], string(h), string(p), s}, nil
}

// isBase64URL reports whether s has only base64url characters. The decoder alone
// would ignore line breaks.
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

// strict also refuses unused bits after the last byte that are not zero. With them,
// one signature would have several texts.
var strict = base64.RawURLEncoding.Strict()

func encode(part []byte) string { return base64.RawURLEncoding.EncodeToString(part) }

// algorithm is the only algorithm. A header cannot choose another.
const algorithm = "RS256"

var (
	errAlgorithm = errors.New("header alg is not RS256")
	errTyp       = errors.New("header typ is not JWT")
	errKeyID     = errors.New("header kid is not a SHA-256 thumbprint")
	errMember    = errors.New("header member other than alg, kid and typ")
)

// readHeader returns the kid of a header, which must have exactly alg, kid and,
// optionally, typ. Members with keys (jwk, jku, x5c, x5u) and members that change the
// processing (crit, b64, zip) are refused like any other.
func readHeader(text string) (kid string, err error) {
	rs256 := false
	r := strictjson.New(text, limits)
	for name := range r.Object {
		switch name {
		case "alg":
			rs256 = true
			readExactly(&r, algorithm, errAlgorithm)
		case "typ":
			readExactly(&r, "JWT", errTyp)
		case "kid":
			kid = r.Text()
		default:
			r.Fail(errMember)
		}
	}
	switch err := r.End(); {
	case err != nil:
		return "", err
	case !rs256:
		return "", errAlgorithm
	case !isKeyID(kid):
		return "", errKeyID
	}
	return kid, nil
}

func readExactly(r *strictjson.Reader, want string, otherwise error) {
	if r.Text() != want {
		r.Fail(otherwise)
	}
}

// keyIDLength is the length of a SHA-256 thumbprint in base64url.
const keyIDLength = 43

// isKeyID reports whether kid has the shape of a thumbprint. Headers may be forged,
// and a kid of this shape is safe to look up in any store.
func isKeyID(kid string) bool {
	return len(kid) == keyIDLength && isBase64URL(kid)
}
