// Package jwks verifies signatures with the public keys of another issuer. A Key is one
// of them. A Set reads them from the issuer's JWK set (RFC 7517) over https, and
// remembers them.
package jwks

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"slices"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantkit/tenantkit/internal/compact"
	"github.com/tenantkit/tenantkit/internal/strictjson"
	"github.com/tenantkit/tenantkit/internal/weakkey"
)

// Algorithms are the algorithms that a Key may have. With none of them a verifier could
// sign.
var Algorithms = []string{"RS256", "ES256", "EdDSA"}

// Key is a public key. Its type decides the algorithm: the header of a token cannot
// choose another.
type Key struct {
	Algorithm string
	About     any // what Set.Parse has kept with it
	method    jwt.SigningMethod
	public    interface{ Equal(crypto.PublicKey) bool }
}

var errKey = errors.New("not an RSA key of 2048 to 4096 bits, a P-256 key or an Ed25519 key, or one that is known to be weak")

// NewKey returns the Key of an *rsa.PublicKey, an *ecdsa.PublicKey or an
// ed25519.PublicKey. It rejects keys that others can sign with: points of small order, and
// RSA keys that can be factored (ROCA).
func NewKey(public crypto.PublicKey) (*Key, error) {
	switch k := public.(type) {
	case *rsa.PublicKey:
		if weakkey.CheckRSA(k) == nil {
			return &Key{Algorithm: "RS256", method: jwt.SigningMethodRS256, public: k}, nil
		}
	case *ecdsa.PublicKey:
		if k == nil || k.Curve != elliptic.P256() {
			break
		}
		if _, err := k.ECDH(); err == nil { // on the curve
			return &Key{Algorithm: "ES256", method: jwt.SigningMethodES256, public: k}, nil
		}
	case ed25519.PublicKey:
		if len(k) == ed25519.PublicKeySize && !weakkey.HasSmallOrder(k) {
			return &Key{Algorithm: "EdDSA", method: jwt.SigningMethodEdDSA, public: k}, nil
		}
	}
	return nil, errKey
}

// Verifies reports whether the signature of a token is one of this key.
func (k *Key) Verifies(signed string, signature []byte) bool {
	return k.method.Verify(signed, signature, k.public) == nil
}

// Equal reports whether k and l are the same key.
func (k *Key) Equal(l *Key) bool { return k == l || l != nil && k.public.Equal(l.public) }

const maxKeys = 64 // of one set

var limits = strictjson.Limits{Depth: 16, Members: 256}

// parse reads a JWK set. It leaves out keys that may not verify tokens. It also leaves
// out all keys with a kid that occurs twice, because nothing says which of them is meant.
func parse(text string) (map[string]*Key, error) {
	m, err := compact.ReadMembers(text, limits)
	switch {
	case err != nil:
		return nil, err
	case m["keys"] == "":
		return nil, errors.New("no member keys")
	}
	keys, n := map[string]*Key{}, 0
	r := strictjson.New(m["keys"], limits)
	for range r.Array {
		if n++; n > maxKeys {
			r.Fail(errors.New("more than 64 keys"))
		}
		kid, key := readKey(r.Skip())
		if _, twice := keys[kid]; twice {
			key = nil
		}
		keys[kid] = key
	}
	return keys, r.End()
}

// readKey returns the kid of a JWK (RFC 7517, section 4), and nil instead of a key that may not
// verify tokens. Such a key is not for signatures, names another algorithm, or has a private
// part. With a private part that was published, anybody signs. Certificates are not looked at.
func readKey(text string) (kid string, key *Key) {
	m, err := compact.ReadMembers(text, limits)
	kid, isText := m.Text("kid")
	use, textUse := m.Text("use")
	algorithm, textAlgorithm := m.Text("alg")
	usable := isText && textUse && textAlgorithm && (use == "" || use == "sig") &&
		(m["key_ops"] == "" || slices.Contains(compact.Texts(m["key_ops"]), "verify"))
	for _, private := range []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"} {
		usable = usable && m[private] == ""
	}
	if err != nil || !usable {
		return kid, nil
	}
	numbers := map[string]json.RawMessage{}
	for _, name := range []string{"kty", "n", "e", "crv", "x", "y"} {
		if m[name] != "" {
			numbers[name] = json.RawMessage(m[name])
		}
	}
	var public jose.JSONWebKey
	bare, err := json.Marshal(numbers)
	if err != nil || public.UnmarshalJSON(bare) != nil {
		return kid, nil
	}
	if key, err = NewKey(public.Key); err != nil || algorithm != "" && algorithm != key.Algorithm {
		return kid, nil
	}
	return kid, key
}
