package issuer

import (
	"context"
	"encoding/json"
	"errors"
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
	members compact.Members // of its payload
	issuer  *boundIssuer
	kid     string
	key     *jwks.Key
	issued  time.Time // zero: no iat
	valid   compact.Window
}

// Claim returns the JSON of a claim, or nil if there is none.
func (f *Foreign) Claim(path ...string) json.RawMessage {
	if raw := f.raw(path); raw != "" {
		return json.RawMessage(raw)
	}
	return nil
}

// Text returns a claim that is a string, or "" if there is none.
func (f *Foreign) Text(path ...string) string {
	return compact.Text(f.raw(path))
}

// Texts returns a claim that is an array of strings, or nil if there is none.
func (f *Foreign) Texts(path ...string) []string { return compact.Texts(f.raw(path)) }

func (f *Foreign) raw(path []string) (raw string) {
	if len(path) == 0 {
		return ""
	}
	raw = f.members[path[0]]
	for _, name := range path[1:] {
		raw = compact.Member(raw, name)
	}
	return raw
}

var (
	errAlgorithm = errors.New("alg is not one that the issuer's key has")
	errOtherIss  = errors.New("iss is another one")
)

// readHeader reads the header of a token. Members that it does not know are ignored, such as x5t.
// So are jku, x5u, jwk and x5c: only the Issuer says where keys are.
func readHeader(text string) (alg, kid string, err error) {
	m, err := compact.ReadMembers(text, compact.Limits)
	kid, isText := m.Text("kid")
	switch typ := strings.TrimPrefix(strings.ToLower(compact.Text(m["typ"])), "application/"); {
	case err != nil:
	case m["crit"] != "" || m["b64"] != "":
		err = errors.New("header has crit or b64")
	case !isText:
		err = strictjson.ErrType
	case m["typ"] != "" && typ != "jwt" && typ != "at+jwt":
		err = errors.New("header typ is not that of an access token") // but of another receiver, such as logout+jwt (RFC 8725, section 3.11)
	}
	return compact.Text(m["alg"]), kid, err
}

// readForeign reads a payload that the issuer has signed.
func readForeign(payload string, i *boundIssuer) (*Foreign, error) {
	m, err := compact.ReadMembers(payload, compact.Limits)
	if err != nil {
		return nil, err
	}
	f := &Foreign{members: m, issuer: i, valid: compact.Always()}
	for _, name := range []string{"exp", "nbf", "iat"} {
		at, err := m.Seconds(name)
		switch {
		case err != nil:
			return nil, err
		case m[name] == "":
			continue
		case name == "exp":
			f.valid.Until(at)
			continue
		case name == "iat":
			f.issued = time.Unix(at, 0).UTC()
		}
		f.valid.From(at)
	}
	switch audience := m["aud"]; {
	case compact.Text(m["iss"]) != i.URL:
		return nil, errOtherIss
	case compact.Text(audience) != i.Audience && !slices.Contains(compact.Texts(audience), i.Audience):
		return nil, errors.New("aud does not hold the one expected")
	case m["exp"] == "" || f.valid.Ends == 0:
		return nil, errors.New("claim exp is missing")
	case m["cnf"] != "": // RFC 7800: only who has that key may use the token, and nothing here asks for it
		return nil, errors.New("claim cnf binds the token to a key")
	}
	if !i.Until.IsZero() {
		f.valid.Until(i.Until.Unix())
	}
	return f, nil
}

// open checks all of a token that does not change from request to request, and its times.
func (b *boundIssuer) open(ctx context.Context, now time.Time, raw string) (*Foreign, error) {
	parts, err := compact.Split(raw, compact.MaxToken)
	if err != nil {
		return nil, refused(err)
	}
	alg, kid, err := readHeader(parts.Header)
	if err != nil {
		return nil, refused(err)
	}
	key, err := b.key(ctx, now, kid)
	switch {
	case err != nil:
		return nil, err
	case alg != key.Algorithm:
		return nil, refused(errAlgorithm)
	case !key.Verifies(parts.Signed, parts.Signature):
		return nil, refused(errors.New("signature does not match"))
	}
	f, err := readForeign(parts.Payload, b)
	if err != nil {
		return nil, refused(err)
	}
	f.kid, f.key = kid, key
	return f, f.isDue(now)
}

// isDue checks the times of a token.
func (f *Foreign) isDue(now time.Time) error {
	switch at := f.valid.Compare(now); {
	case at > 0:
		return token.ErrExpired
	case at < 0:
		return token.ErrNotYet
	}
	return nil
}
