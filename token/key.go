package token

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"fmt"

	"github.com/go-jose/go-jose/v4"

	"github.com/tenantkit/tenantkit/internal/redacted"
)

// Moduli in bits. Shorter ones are within reach of an attacker, longer ones
// are a way to keep verifiers busy.
const (
	minBits = 2048
	maxBits = 4096

	minExponent = 3
	maxExponent = 1<<31 - 1

	maxClientKey = 128
)

// PublicKey is what an app's tokens are verified with. A value handed out by
// Keys is shared and must not be altered.
type PublicKey struct {
	KeyID     string // RFC 7638 thumbprint, SHA-256, base64url
	ClientKey string // the app that owns it; 1 to 128 visible ASCII characters
	Org       string // the org of that app
	Key       *rsa.PublicKey
	Exposed   bool // listed by the certificates endpoints
}

// Validate reports, with an error matching ErrBadKey, what keeps the key from
// being used: a modulus outside 2048 to 4096 bits, an exponent that is even or
// less than 3, a KeyID other than the thumbprint, a ClientKey of another shape.
// A store calls it before it keeps a key.
func (k *PublicKey) Validate() error {
	if err := k.fit(); err != nil {
		return err
	}
	if kid, err := Thumbprint(k.Key); err != nil || k.KeyID != kid {
		return badKey("key id is not the thumbprint")
	}
	return nil
}

// fit is Validate without the hashing.
func (k *PublicKey) fit() error {
	if err := checkRSA(k.Key); err != nil {
		return err
	}
	if !isKeyID(k.KeyID) {
		return badKey("key id is not a SHA-256 thumbprint")
	}
	if !isClientKey(k.ClientKey) {
		return badKey("client key is not 1 to 128 visible ASCII characters")
	}
	return nil
}

// same reports whether a token verified with k counts as verified with l.
func (k *PublicKey) same(l *PublicKey) bool {
	return k == l ||
		k.KeyID == l.KeyID && k.ClientKey == l.ClientKey && k.Org == l.Org &&
			k.Key.E == l.Key.E && k.Key.N.Cmp(l.Key.N) == 0
}

func badKey(reason string) error { return fmt.Errorf("%w: %s", ErrBadKey, reason) }

func checkRSA(k *rsa.PublicKey) error {
	if k == nil || k.N == nil {
		return badKey("not an RSA key")
	}
	if bits := k.N.BitLen(); bits < minBits || bits > maxBits {
		return fmt.Errorf("%w: modulus of %d bits, not %d to %d", ErrBadKey, bits, minBits, maxBits)
	}
	if k.E < minExponent || k.E > maxExponent || k.E%2 == 0 {
		return badKey("public exponent is even, less than 3 or larger than 31 bits")
	}
	return nil
}

// isClientKey holds client keys to one line and one word wherever they are
// printed.
func isClientKey(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return 0 < len(s) && len(s) <= maxClientKey
}

// Thumbprint is the KeyID of a key: RFC 7638, SHA-256, base64url. It returns an
// error matching ErrBadKey for what is no RSA key; whether the key is fit is for
// PublicKey.Validate.
func Thumbprint(k *rsa.PublicKey) (string, error) {
	if k == nil || k.N == nil {
		return "", badKey("not an RSA key")
	}
	sum, err := (&jose.JSONWebKey{Key: k}).Thumbprint(crypto.SHA256)
	if err != nil {
		return "", badKey(err.Error())
	}
	return encode(sum), nil
}

// KeyPair is what an app's tokens are signed with. It prints REDACTED.
type KeyPair struct {
	hidden
	PublicKey
	Signer crypto.Signer // an *rsa.PrivateKey, or one that stays in a KMS
}

// NewPair makes the pair of a signer, which may be held by a KMS. ClientKey
// and Org are the caller's to set. It returns an error matching ErrBadKey
// unless the signer's public key is RSA and fit, and a signature that it asks the
// signer for verifies.
func NewPair(signer crypto.Signer) (*KeyPair, error) {
	key, ok := signer.Public().(*rsa.PublicKey)
	if !ok {
		return nil, badKey("not an RSA key")
	}
	if err := checkRSA(key); err != nil {
		return nil, err
	}
	kid, err := Thumbprint(key)
	if err != nil {
		return nil, err
	}
	if hasROCA(key.N) {
		return nil, errROCA
	}
	if err := trySigner(signer, key); err != nil {
		return nil, err
	}
	return &KeyPair{PublicKey: PublicKey{KeyID: kid, Key: key}, Signer: signer}, nil
}

type hidden = redacted.Value // embedded, it is no field of the exported surface

var errROCA = badKey("modulus can be factored (ROCA, CVE-2017-15361)")

// trySigner asks for a signature and verifies it. What keeps a private key from
// working is not seen in its form.
func trySigner(signer crypto.Signer, key *rsa.PublicKey) error {
	digest := sha256.Sum256([]byte("a trial signature, and no token"))
	signature, err := signer.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		return fmt.Errorf("%w: trial signature: %w", ErrBadKey, err)
	}
	if rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], signature) != nil {
		return badKey("trial signature does not verify")
	}
	return nil
}

// GeneratePair makes a new pair of 2048, 3072 or 4096 bits. ClientKey and Org
// are the caller's to set. Another size is an error matching ErrBadKey.
func GeneratePair(bits int) (*KeyPair, error) {
	switch bits {
	case 2048, 3072, 4096:
	default:
		return nil, badKey("size is not 2048, 3072 or 4096 bits")
	}
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return nil, fmt.Errorf("token: generate a key pair: %w", err)
	}
	return NewPair(key)
}

// Validate is PublicKey.Validate, that the modulus is none of CVE-2017-15361, and
// that the signer belongs to the public key.
func (p *KeyPair) Validate() error {
	if p.Signer == nil {
		return badKey("pair without a signer")
	}
	if err := p.PublicKey.Validate(); err != nil {
		return err
	}
	if !p.Key.Equal(p.Signer.Public()) {
		return badKey("signer of another public key")
	}
	if hasROCA(p.Key.N) {
		return errROCA
	}
	return nil
}

// Keys finds the public key a token was signed with.
//
// Public returns the key whose KeyID equals kid byte for byte while it is
// current, and ErrNotFound once its app has been deleted or has another pair.
// Any other error means that nobody knows. After the call that replaced or
// deleted a pair has returned, no call of Public that starts finds it, unless
// the implementation states another bound.
//
// Verify calls Public once for each token, remembered ones included; put
// Cached in front of a store that is far away. Implementations are safe for
// concurrent use and return when ctx ends.
type Keys interface {
	Public(ctx context.Context, kid string) (*PublicKey, error)
}

// Signers finds the pair an app signs with.
//
// Signer returns the app's current pair, and ErrNoKeyPair when it has none.
// Implementations are safe for concurrent use and return when ctx ends.
type Signers interface {
	Signer(ctx context.Context, clientKey string) (*KeyPair, error)
}

// Exposed lists the public keys of an org's apps that have opted in.
//
// Each reply is one state of the set: all before a change or all after it.
// The order is the same from call to call. An error means that nobody knows;
// it is never an empty list. Implementations are safe for concurrent use and
// return when ctx ends.
type Exposed interface {
	Exposed(ctx context.Context, org string) ([]PublicKey, error)
}
