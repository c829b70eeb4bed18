// Package compact reads tokens in the compact form of RFC 7515 section 3.1: those of this
// server, of other issuers and of clients that authenticate. It accepts one spelling of each.
package compact

import (
	"encoding/base64"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/internal/strictjson"
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

// Limits are those of the headers and payloads of others, who have more claims than we.
var Limits = strictjson.Limits{Depth: 16, Members: 256}

const (
	// Leeway is how far iat and nbf may be ahead of the local clock, in seconds. exp has
	// none.
	Leeway = 60

	MaxTime = 253402300799 // the last second of the year 9999
)

// ErrRange is the reason to refuse a number that is too large.
var ErrRange = errors.New("number out of range")

// Integer reads a number of digits only. Many JSON readers do not read 1.0 and 1e3 as
// integers.
func Integer(r *strictjson.Reader, most int64) (n int64) {
	for _, c := range []byte(r.Number()) {
		if c < '0' || '9' < c {
			r.Fail(strictjson.ErrType)
			return 0
		}
		if n = n*10 + int64(c-'0'); n > most {
			r.Fail(ErrRange)
			return 0
		}
	}
	return n
}

// Seconds reads a time in whole seconds.
func Seconds(r *strictjson.Reader) int64 { return Integer(r, MaxTime) }

// Window is when a token is valid, in Unix seconds: from Begins on, and before Ends.
type Window struct{ Begins, Ends int64 }

// Always is the Window of a token without times.
func Always() Window { return Window{math.MinInt64, math.MaxInt64} }

// From narrows the window by an iat or a nbf.
func (w *Window) From(seconds int64) { w.Begins = max(w.Begins, seconds-Leeway) }

// Until narrows the window by an exp.
func (w *Window) Until(seconds int64) { w.Ends = min(w.Ends, seconds) }

// Compare returns -1 if the window is still to come, 0 if it is open, and 1 if it is over.
func (w Window) Compare(now time.Time) int {
	switch seconds := now.Unix(); {
	case seconds >= w.Ends:
		return 1
	case seconds < w.Begins:
		return -1
	}
	return 0
}

// Unverified returns a claim of a token that nobody has verified, if it is a string. It only
// chooses who verifies the token, or says in an event what was claimed.
func Unverified(raw, claim string) string {
	parts, err := Split(raw, MaxToken)
	if err != nil {
		return ""
	}
	// What package token accepts must be readable here. Otherwise a token could hide its iss.
	limits := Limits
	limits.AllowNUL = true
	m, _ := ReadMembers(parts.Payload, limits)
	return Text(m[claim])
}

// Members are the members of an object, as JSON, by name.
type Members map[string]string

// ReadMembers reads an object. After an error there are no Members.
func ReadMembers(object string, limits strictjson.Limits) (Members, error) {
	m := Members{}
	r := strictjson.New(object, limits)
	for name := range r.Object {
		m[name] = r.Skip()
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	return m, nil
}

// Text returns a member that is a string, or "" without one. ok is false if it is something else.
func (m Members) Text(name string) (text string, ok bool) {
	raw := m[name]
	return Text(raw), raw == "" || raw[0] == '"'
}

// Seconds returns a member that is a time, or 0 without one.
func (m Members) Seconds(name string) (n int64, err error) {
	if m[name] == "" {
		return 0, nil
	}
	r := strictjson.New(m[name], Limits)
	n = Seconds(&r)
	return n, r.End()
}

// Member returns the JSON of a member of an object, or "" if there is none.
func Member(object, name string) string {
	m, _ := ReadMembers(object, Limits)
	return m[name]
}

// Text returns the string that JSON is, or "" if it is none.
func Text(raw string) string {
	r := strictjson.New(raw, Limits)
	text := r.Text()
	if r.End() != nil {
		return ""
	}
	return text
}

// Texts returns the array of strings that JSON is, or nil if it is none.
func Texts(raw string) (texts []string) {
	r := strictjson.New(raw, Limits)
	for range r.Array {
		texts = append(texts, r.Text())
	}
	if r.End() != nil {
		return nil
	}
	return texts
}
