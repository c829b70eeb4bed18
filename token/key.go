package token

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/internal/clock"
	"github.com/tenantkit/tenantkit/internal/redacted"
	"github.com/tenantkit/tenantkit/internal/weakkey"
)

// Limits of a rotation. A former key is dangerous for as long as it verifies. Each one
// also adds to what a look-up reads.
const (
	MaxOverlap = 30 * 24 * time.Hour // how long a former key may verify
	MaxFormers = 8                   // former keys of an app that verify at the same time

	minOverlap = time.Second
)

// CheckOverlap returns ErrOverlap if the overlap of a rotation is not 1 second to
// MaxOverlap. A store calls it before it changes anything.
func CheckOverlap(overlap time.Duration) error {
	if overlap < minOverlap || overlap > MaxOverlap {
		return ErrOverlap
	}
	return nil
}

// PublicKey verifies an app's tokens. A value that Keys returns is shared and must
// not be changed.
type PublicKey struct {
	KeyID     string // RFC 7638 thumbprint, SHA-256, base64url
	ClientKey string // the app that owns it; 1 to 128 visible ASCII characters
	Org       OrgKey // the org of that app
	Key       *rsa.PublicKey
	Exposed   bool // listed by the certificates endpoints

	// Ends is when a former key stops to verify, and with it each token that it has
	// signed. It is zero for the present key of an app.
	Ends time.Time
}

// Validate returns an error matching ErrBadKey if the key must not be used. The
// reasons are
//
//   - a modulus outside 2048 to 4096 bits, or one that can be factored (CVE-2017-15361);
//   - an exponent that is even, less than 3 or larger than 31 bits;
//   - a KeyID other than the thumbprint;
//   - a ClientKey of another shape.
//
// A store calls Validate before it keeps a key.
func (k *PublicKey) Validate() error {
	if err := k.check(); err != nil {
		return err
	}
	if k.KeyID != thumbprint(k.Key) {
		return badKey("key id is not the thumbprint")
	}
	return nil
}

// check is Validate without the hashing.
func (k *PublicKey) check() error {
	if err := weakkey.CheckRSA(k.Key); err != nil {
		return badKey(err.Error())
	}
	if !isKeyID(k.KeyID) {
		return badKey("key id is not a SHA-256 thumbprint")
	}
	if !ascii.IsClientKey(k.ClientKey) {
		return badKey("client key is not 1 to 128 visible ASCII characters")
	}
	return nil
}

// hasEnded reports whether k is a former key whose end has come.
func (k *PublicKey) hasEnded(now func() time.Time) bool {
	return !k.Ends.IsZero() && !clock.Now(now).Before(k.Ends)
}

// same reports whether k and l are the same key of the same app, with the same end. A
// token that was verified with k then counts as verified with l.
func (k *PublicKey) same(l *PublicKey) bool {
	return k == l ||
		k.KeyID == l.KeyID && k.ClientKey == l.ClientKey && k.Org == l.Org && k.Ends.Equal(l.Ends) &&
			k.Key.E == l.Key.E && k.Key.N.Cmp(l.Key.N) == 0
}

func badKey(reason string) error { return fmt.Errorf("%w: %s", ErrBadKey, reason) }

// thumbprint returns the KeyID of a key: RFC 7638, SHA-256, base64url. The key is one that
// weakkey.CheckRSA accepts, so there is no error.
func thumbprint(k *rsa.PublicKey) string {
	sum, _ := (&jose.JSONWebKey{Key: k}).Thumbprint(crypto.SHA256)
	return encode(sum)
}

// KeyPair signs an app's tokens. It prints REDACTED.
type KeyPair struct {
	hidden
	PublicKey
	Signer crypto.Signer // an *rsa.PrivateKey, or one that stays in a KMS

	// Former has the KeyIDs of the app's former keys that still verify, in any order.
	// Signers set it, for the Minter: the tokens of these keys count, too. Stores of
	// pairs ignore it.
	Former []string
}

// NewPair makes the pair of a signer, which may be in a KMS. The caller sets
// ClientKey and Org. The signer's public key must be an acceptable RSA key, and a
// trial signature must verify. Otherwise the error matches ErrBadKey.
func NewPair(signer crypto.Signer) (*KeyPair, error) {
	key, ok := signer.Public().(*rsa.PublicKey)
	if !ok {
		return nil, badKey("not an RSA key")
	}
	if err := weakkey.CheckRSA(key); err != nil {
		return nil, badKey(err.Error())
	}
	if err := trySigner(signer, key); err != nil {
		return nil, err
	}
	return &KeyPair{PublicKey: PublicKey{KeyID: thumbprint(key), Key: key}, Signer: signer}, nil
}

type hidden = redacted.Value // embedded by an unexported name, so that no exported field appears

// trySigner asks for a signature and verifies it. The form of a private key does not
// show whether it works.
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

// GeneratePair makes a new pair of 2048, 3072 or 4096 bits. The caller sets ClientKey
// and Org. For another size, the error matches ErrBadKey.
//
// It takes a core about 90 ms for 2048 bits, and seconds at worst for 4096. Let an org
// generate one pair at a time, with a quota: otherwise one org's administrator slows down all.
func GeneratePair(bits int) (*KeyPair, error) {
	if bits != 2048 && bits != 3072 && bits != 4096 {
		return nil, badKey("size is not 2048, 3072 or 4096 bits")
	}
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return nil, fmt.Errorf("token: generate a key pair: %w", err)
	}
	return NewPair(key)
}

// Validate checks what PublicKey.Validate checks, and that the signer belongs to the
// public key.
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
	return nil
}

// Keys finds the public key that a token was signed with.
//
// Public returns the key whose KeyID equals kid byte for byte, while that key is the
// present one of an app, or a former one whose end has not come. It returns ErrNotFound
// once the app was deleted or has another pair without an overlap. Any other error
// means that the answer is unknown. After a call that replaced or deleted a pair has
// returned, no call of Public that starts finds that pair, or a former key of its app.
// After a call that rotated a pair has returned, calls of Public that start find the
// former key with its end. An implementation may state another bound.
//
// Verify calls Public once for each token, also for cached ones. Put Cached in front
// of a store that is slow to reach. Implementations are safe for concurrent use and
// return when ctx ends.
type Keys interface {
	Public(ctx context.Context, kid string) (*PublicKey, error)
}

// Signers finds the pair that an app signs with.
//
// Signer returns the app's present pair, with its Former, or ErrNoKeyPair if it has
// none. After a call that changed the pair has returned, no call of Signer that starts
// returns the pair before: a cache in front of it would let a Minter exceed the
// ledger's limit, and sign tokens that nobody accepts. Implementations are safe for
// concurrent use and return when ctx ends.
type Signers interface {
	Signer(ctx context.Context, clientKey string) (*KeyPair, error)
}

// Exposed lists the public keys of an org's apps that have opted in: the present ones,
// and the former ones that still verify.
//
// Each result is one state of the set: completely before a change or completely after
// it. The order is the same from call to call. An error means that the answer is
// unknown; a failure is never an empty list. Implementations are safe for concurrent
// use and return when ctx ends.
type Exposed interface {
	Exposed(ctx context.Context, org OrgKey) ([]PublicKey, error)
}

// maxKeyText is several times the text of the largest acceptable key. The parsers
// check a key before its size is known, which takes long for a huge key.
const maxKeyText = 16 << 10

// primeRounds is the number of Miller-Rabin rounds, before one Baillie-PSW test. A
// Carmichael number instead of a prime passes the trial signature, but its key can be
// factored.
const primeRounds = 20

// ParsePairPEM reads an RSA private key from text, which must have exactly one PEM
// block. The block is PRIVATE KEY (PKCS #8) or RSA PRIVATE KEY (PKCS #1), not
// encrypted. text has at most 16 KiB. Errors match ErrBadKey.
func ParsePairPEM(text []byte) (*KeyPair, error) {
	if len(text) > maxKeyText {
		return nil, badKey("text larger than 16 KiB")
	}
	block, rest := pem.Decode(text)
	if block == nil {
		return nil, badKey("no PEM block")
	}
	if next, _ := pem.Decode(rest); next != nil {
		return nil, badKey("more than one PEM block")
	}
	key, err := parseDER(block)
	if err != nil {
		return nil, badKey(err.Error())
	}
	return privatePair(key)
}

func parseDER(block *pem.Block) (any, error) {
	switch block.Type {
	case "PRIVATE KEY":
		return x509.ParsePKCS8PrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		return x509.ParsePKCS1PrivateKey(block.Bytes)
	}
	return nil, errors.New("PEM block is neither PRIVATE KEY nor RSA PRIVATE KEY")
}

func privatePair(key any) (*KeyPair, error) {
	parsed, ok := key.(*rsa.PrivateKey)
	if !ok {
		return nil, badKey("not an RSA private key")
	}
	if len(parsed.Primes) != 2 {
		return nil, badKey("modulus is not the product of two primes")
	}
	// The values for faster signing are not taken from the text but computed.
	private := &rsa.PrivateKey{PublicKey: parsed.PublicKey, D: parsed.D, Primes: parsed.Primes}
	private.Precompute()
	if err := private.Validate(); err != nil {
		return nil, badKey(err.Error())
	}
	pair, err := NewPair(private) // checks the size before the slow test of the primes
	if err != nil {
		return nil, err
	}
	for _, prime := range private.Primes {
		if !prime.ProbablyPrime(primeRounds) {
			return nil, badKey("a factor of the modulus is not prime")
		}
	}
	return pair, nil
}
