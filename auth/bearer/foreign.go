package bearer

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/internal/compact"
	"github.com/tenantkit/tenantkit/internal/jwks"
	"github.com/tenantkit/tenantkit/internal/strictjson"
	"github.com/tenantkit/tenantkit/token"
)

// Foreign is a verified token of another issuer. All requests with the token share it, and it
// cannot be changed. Its methods name a claim by its path: f.Text("realm_access", "roles") is the
// claim roles in the claim realm_access. Names must match exactly.
type Foreign struct {
	members []member // of its payload
	issuer  *boundIssuer
	kid     string
	key     *jwks.Key
	issued  time.Time // zero: no iat

	begins, ends int64 // Unix seconds: accepted from begins on, and before ends
}

type member struct{ name, raw string }

// Claim returns the JSON of a claim, or nil if there is none.
func (f *Foreign) Claim(path ...string) json.RawMessage {
	if raw := f.raw(path); raw != "" {
		return json.RawMessage(raw)
	}
	return nil
}

// Text returns a claim that is a string, or "" if there is none.
func (f *Foreign) Text(path ...string) string {
	return textOf(f.raw(path))
}

// Texts returns a claim that is an array of strings, or nil if there is none.
func (f *Foreign) Texts(path ...string) []string { return textsOf(f.raw(path)) }

func (f *Foreign) raw(path []string) (raw string) {
	if len(path) == 0 {
		return ""
	}
	for _, m := range f.members {
		if m.name == path[0] {
			raw = m.raw
		}
	}
	for _, name := range path[1:] {
		raw = inside(raw, name)
	}
	return raw
}

// inside returns the JSON of a member of an object.
func inside(object, name string) (raw string) {
	r := strictjson.New(object, foreignLimits)
	for member := range r.Object {
		if text := r.Skip(); member == name {
			raw = text
		}
	}
	if r.End() != nil {
		return ""
	}
	return raw
}

// foreignLimits are those of the headers and payloads of others, who have more claims than we.
var foreignLimits = strictjson.Limits{Depth: 16, Members: 256}

// Reasons to refuse a token of another issuer.
var (
	errAlgorithm = errors.New("alg is not one that the issuer's key has")
	errTyp       = errors.New("header typ is not that of an access token")
	errCritical  = errors.New("header has crit or b64")
	errSignature = errors.New("signature does not match")
	errMissing   = errors.New("claim exp is missing")
	errAudience  = errors.New("aud does not hold the one expected")
	errBound     = errors.New("claim cnf binds the token to a key")
	errRange     = errors.New("a time is not whole seconds up to the year 9999")
	errOtherIss  = errors.New("iss is another one")
)

// foreignHeader is the header of a token. Members that it does not know are ignored, such as x5t.
// So are jku, x5u, jwk and x5c: only the Issuer says where keys are.
type foreignHeader struct{ alg, kid string }

func readForeignHeader(text string) (h foreignHeader, err error) {
	r := strictjson.New(text, foreignLimits)
	for name := range r.Object {
		switch name {
		case "alg":
			h.alg = r.Text()
		case "kid":
			h.kid = r.Text()
		case "typ":
			// Other types are for other receivers, such as logout+jwt (RFC 8725, section 3.11).
			switch strings.TrimPrefix(strings.ToLower(r.Text()), "application/") {
			case "jwt", "at+jwt":
			default:
				r.Fail(errTyp)
			}
		case "crit", "b64":
			r.Fail(errCritical)
		default:
			r.Skip()
		}
	}
	return h, r.End()
}

// readForeign reads a payload that the issuer has signed.
func readForeign(payload string, i *boundIssuer) (*Foreign, error) {
	f := &Foreign{issuer: i, begins: math.MinInt64}
	var iss string
	audience, bound := false, false
	r := strictjson.New(payload, foreignLimits)
	for name := range r.Object {
		value := r.Skip()
		f.members = append(f.members, member{name, value})
		var err error
		switch name {
		case "iss":
			iss = textOf(value)
		case "aud":
			audience = textOf(value) == i.Audience || slices.Contains(textsOf(value), i.Audience)
		case "exp":
			f.ends, err = secondsOf(value)
		case "nbf", "iat":
			var at int64
			at, err = secondsOf(value)
			f.begins = max(f.begins, at-leeway)
			if name == "iat" {
				f.issued = time.Unix(at, 0).UTC()
			}
		case "cnf": // RFC 7800: only who has that key may use the token, and nothing here asks for it
			bound = true
		}
		if err != nil {
			r.Fail(err)
		}
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	switch {
	case iss != i.URL:
		return nil, errOtherIss
	case !audience:
		return nil, errAudience
	case f.ends == 0:
		return nil, errMissing
	case bound:
		return nil, errBound
	}
	if !i.Until.IsZero() {
		f.ends = min(f.ends, i.Until.Unix())
	}
	return f, nil
}

// leeway is how far iat and nbf may be ahead, in seconds. It is that of package token.
const leeway = 60

func textOf(raw string) string {
	r := strictjson.New(raw, foreignLimits)
	text := r.Text()
	if r.End() != nil {
		return ""
	}
	return text
}

func textsOf(raw string) (texts []string) {
	r := strictjson.New(raw, foreignLimits)
	for range r.Array {
		texts = append(texts, r.Text())
	}
	if r.End() != nil {
		return nil
	}
	return texts
}

const maxTime = 253402300799 // the last second of the year 9999

// secondsOf reads digits only, as package token does.
func secondsOf(raw string) (n int64, err error) {
	for _, c := range []byte(raw) {
		if n = n*10 + int64(c-'0'); c < '0' || '9' < c || n > maxTime {
			return 0, errRange
		}
	}
	return n, nil
}

// verify checks all of a token that does not change from request to request.
func (i *boundIssuer) verify(key *jwks.Key, h foreignHeader, parts compact.Parts) (*Foreign, error) {
	if h.alg != key.Algorithm {
		return nil, refused(errAlgorithm)
	}
	if !key.Verifies(parts.Signed, parts.Signature) {
		return nil, refused(errSignature)
	}
	f, err := readForeign(parts.Payload, i)
	if err != nil {
		return nil, refused(err)
	}
	f.kid, f.key = h.kid, key
	return f, nil
}

// isDue checks the times of a token.
func (f *Foreign) isDue(now time.Time) error {
	switch seconds := now.Unix(); {
	case seconds >= f.ends:
		return token.ErrExpired
	case seconds < f.begins:
		return token.ErrNotYet
	}
	return nil
}
