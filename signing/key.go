package signing

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/fips140"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/internal/weakkey"
)

// Key verifies the signatures of one client key. Build it once per credential and
// share it: keying an HMAC costs more than using it, and a Key keeps the keyed state.
//
// A Key is safe for concurrent use, and prints only its client key.
type Key struct {
	clientKey string
	proofs    []proof   // live secrets and then former ones, or public keys
	ends      time.Time // when a former secret expires; zero for the live ones
}

// proof verifies with one secret or public key.
type proof struct {
	macs   *sync.Pool        // of *keyedMAC; nil for a public key
	public ed25519.PublicKey // nil for a secret
	former *Key              // of a former secret; nil for a live one
}

// NewKey returns the Key of a client key and its live secrets. During a rotation
// there is more than one live secret, and each of them verifies.
//
// It refuses a credential that does not have the shape of those that Generate makes.
// The MAC key is the client key followed by the secret. If lengths varied, one MAC
// key could belong to two credentials.
func NewKey(clientKey string, secrets ...Secret) (*Key, error) {
	for _, secret := range secrets {
		if !ascii.Alphanumeric.Holds(clientKey, keyLength, keyLength) || !ascii.Alphanumeric.Holds(string(secret), secretLength, secretLength) {
			return nil, errors.New("signing: a client key has 22 letters and digits and a secret 64; see UnsafeKey")
		}
	}
	return UnsafeKey(clientKey, secrets...)
}

// UnsafeKey is NewKey for credentials of other lengths, made elsewhere. It is safe
// only if all client keys of a server have one length. For example, "ab" with the
// secret "cd" and "a" with "bcd" make the same signatures. So the owner of one can
// sign as the other.
//
// It refuses a client key that is empty, longer than 128 bytes or not visible ASCII,
// and a missing or empty secret. If FIPS 140 is enforced, it also refuses a client
// key and a secret of fewer than 14 bytes together.
func UnsafeKey(clientKey string, secrets ...Secret) (*Key, error) {
	if !ascii.IsClientKey(clientKey) {
		return nil, errors.New("signing: client key must be 1 to 128 visible ASCII characters")
	}
	if len(secrets) == 0 {
		return nil, errors.New("signing: a key needs a secret")
	}
	k := &Key{clientKey: clientKey}
	for _, secret := range secrets {
		if secret == "" {
			return nil, errors.New("signing: empty secret")
		}
		if err := checkMACKey(clientKey, secret); err != nil {
			return nil, err
		}
		k.proofs = append(k.proofs, proof{macs: newMACs(clientKey, secret)})
	}
	return k, nil
}

// NewPublicKey returns a Key that verifies with Ed25519 public keys. Its client holds
// the private key, so a server that is read out cannot sign in the client's name.
// There is more than one key during a rotation. Only version 2 has such signatures.
//
// It refuses a client key that is empty, longer than 128 bytes, not visible ASCII, or
// has a quote or a backslash. It also refuses a key that is not 32 bytes long, and one
// of small order, for which anybody can make signatures.
func NewPublicKey(clientKey string, keys ...ed25519.PublicKey) (*Key, error) {
	if !ascii.Unquoted.Holds(clientKey, 1, maxClientKey) {
		return nil, errors.New("signing: client key must be 1 to 128 visible ASCII characters without quote and backslash")
	}
	if len(keys) == 0 {
		return nil, errors.New("signing: a key needs a public key")
	}
	k := &Key{clientKey: clientKey}
	for _, key := range keys {
		if len(key) != ed25519.PublicKeySize || weakkey.HasSmallOrder(key) {
			return nil, errors.New("signing: an Ed25519 public key has 32 bytes, and no small order")
		}
		k.proofs = append(k.proofs, proof{public: slices.Clone(key)})
	}
	return k, nil
}

// WithFormer returns a Key that verifies as k does, and until a given time also with
// a secret that was rotated away. For a request signed with the former secret, Verify
// returns a Key whose Ends is that time. WithFormer refuses an empty secret, the zero
// time, and a secret that UnsafeKey refuses.
func (k *Key) WithFormer(secret Secret, until time.Time) (*Key, error) {
	if secret == "" || until.IsZero() {
		return nil, errors.New("signing: a former secret needs a text and an end")
	}
	if k.fits(true) {
		return nil, errors.New("signing: a key with public keys has no secrets")
	}
	if err := checkMACKey(k.clientKey, secret); err != nil {
		return nil, err
	}
	former := proof{macs: newMACs(k.clientKey, secret)}
	former.former = &Key{clientKey: k.clientKey, proofs: []proof{former}, ends: until}
	with := *k
	with.proofs = append(slices.Clip(k.proofs), former)
	return &with, nil
}

// Ends returns when the secret that signed a request stops verifying. It is the zero
// time unless Verify returned k for a secret that was rotated away.
func (k *Key) Ends() time.Time { return k.ends }

// ClientKey returns the client key, the public identifier of the application.
func (k *Key) ClientKey() string { return k.clientKey }

// Secrets returns when each live secret of the key stops verifying. The zero time is never.
func (k *Key) Secrets() (ends []time.Time) {
	for _, p := range k.proofs {
		if p.macs != nil {
			ends = append(ends, cmp.Or(p.former, k).ends)
		}
	}
	return ends
}

// PublicKeys returns the public keys that the key verifies with; nil if it has secrets.
func (k *Key) PublicKeys() (keys []ed25519.PublicKey) {
	for _, p := range k.proofs {
		if p.public != nil {
			keys = append(keys, slices.Clone(p.public))
		}
	}
	return keys
}

// Format prints the client key, whatever the verb. The other fields hold keyed state,
// which must not be printed.
func (k *Key) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "signing.Key(%s)", k.clientKey) }

// Keys finds the Key of a client key.
//
// To build a Key costs more than to verify a signature with it, so an implementation in
// memory keeps it. For a client key that does not exist, the error wraps ErrUnknownKey. Any other error means that the look-up failed. The
// request is then refused, and the caller learns nothing about the key.
//
// Implementations are safe for concurrent use, and return when ctx ends.
type Keys interface {
	Key(ctx context.Context, clientKey string) (*Key, error)
}

// ErrUnknownKey says that no credential has this client key. The error that Verify
// returns for it wraps ErrMismatch too, because strangers must not learn which keys
// exist.
var ErrUnknownKey = errors.New("signing: unknown client key")

// nobody is used for unknown client keys, so that they cost one MAC or one signature
// like known ones.
var nobody = sync.OnceValue(func() *Key {
	clientKey, secret := Generate()
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	return &Key{clientKey: clientKey, proofs: []proof{{macs: newMACs(clientKey, secret)}, {public: public}}}
})

// fits reports whether the key has what the algorithm of a signature needs.
func (k *Key) fits(isEd25519 bool) bool {
	return slices.ContainsFunc(k.proofs, func(p proof) bool { return (p.public != nil) == isEd25519 })
}

// messages holds buffers for what signatures cover.
var messages = sync.Pool{New: func() any { return new([]byte) }}

// verified returns the Key whose secret made the signature: k for a live secret, or
// the Key of a former secret. It returns nil if there is none.
func (k *Key) verified(c *credential) *Key {
	buffer := messages.Get().(*[]byte)
	defer messages.Put(buffer)
	*buffer = c.appendMessage((*buffer)[:0])
	by := k.matching(*buffer, c.signature(), c.isEd25519())
	if by != nil || c.isV2 {
		return by
	}
	bare := bareSpelling.Replace(c.command)
	if bare == c.command {
		return nil
	}
	c.command = bare
	*buffer = c.appendMessage((*buffer)[:0])
	return k.matching(*buffer, c.signature(), false)
}

// matching tries every secret, even after one has matched. Otherwise the time taken
// would tell which secret is in use.
func (k *Key) matching(message, signature []byte, isEd25519 bool) (by *Key) {
	for i := range k.proofs {
		p := &k.proofs[i]
		if p.verifies(message, signature, isEd25519) && by == nil {
			by = cmp.Or(p.former, k)
		}
	}
	return by
}

func (p *proof) verifies(message, signature []byte, isEd25519 bool) bool {
	switch {
	case (p.public != nil) != isEd25519:
		return false
	case isEd25519:
		return ed25519.Verify(p.public, message, signature)
	}
	mac := p.macs.Get().(*keyedMAC)
	defer p.macs.Put(mac)
	return mac.makes(message, signature)
}

// keyedMAC is an HMAC under one secret, with a buffer for its sum: an argument of an
// interface's method would be allocated for each request.
type keyedMAC struct {
	hash hash.Hash
	sum  [sha256.Size]byte
}

// makes reports whether a signature is the MAC of a message.
func (m *keyedMAC) makes(message, signature []byte) bool {
	m.hash.Reset()
	m.hash.Write(message)
	return subtle.ConstantTimeCompare(m.hash.Sum(m.sum[:0]), signature) == 1
}

// checkMACKey refuses a MAC key that is too short for FIPS 140, if that is enforced.
// crypto/hmac panics on such a key.
func checkMACKey(clientKey string, secret Secret) error {
	const least = 14 // bytes; SP 800-131A asks for 112 bits
	if fips140.Enforced() && len(clientKey)+len(secret) < least {
		return errors.New("signing: FIPS 140 asks for a client key and a secret of at least 14 bytes together")
	}
	return nil
}

func newMACs(clientKey string, secret Secret) *sync.Pool {
	key := []byte(clientKey + string(secret))
	return &sync.Pool{New: func() any {
		return &keyedMAC{hash: hmac.New(sha256.New, key)}
	}}
}

// Sign returns the signature of a request, 64 lower-case hexadecimal digits, as
// section 5.3 of the interface defines it.
//
// The command is the escaped path of the resource without the mount, such as
// "/connections"; see [Command]. The method may be in any case. The timestamp is the
// value of the timestamp header: Unix milliseconds in decimal.
//
// If FIPS 140 is enforced, Sign panics, as crypto/hmac does, if client key and secret
// have fewer than 14 bytes together.
func Sign(clientKey string, secret Secret, command, method, timestamp string) string {
	return hex.EncodeToString(macOf(clientKey, secret, appendMessage(nil, command, strings.ToUpper(method), timestamp)))
}

// macOf returns the MAC of a message under one secret.
func macOf(clientKey string, secret Secret, message []byte) []byte {
	mac := hmac.New(sha256.New, []byte(clientKey+string(secret)))
	mac.Write(message)
	return mac.Sum(nil)
}

// appendMessage appends the message of the MAC. A command may hold a semicolon. The
// message is still unambiguous, because methods and timestamps cannot hold one.
func appendMessage(dst []byte, command, method, timestamp string) []byte {
	dst = append(dst, command...)
	dst = append(dst, ';')
	dst = append(dst, method...)
	dst = append(dst, ';')
	return append(dst, timestamp...)
}

// Holds returns the Key that a secret belongs to: k for a live secret, or the Key of a
// former secret that has not ended. Otherwise it returns nil. It is for a client that
// sends its secret instead of a signature, as OAuth's client_secret_basic does
// (RFC 6749, section 2.3.1).
//
// A nil Key holds no secret. It takes the time of a Key with one secret, so that
// strangers do not learn which client keys exist.
func (k *Key) Holds(secret Secret, now time.Time) *Key {
	known := cmp.Or(k, nobody())
	// HMAC pads a short key with zeros, so a secret with a NUL at its end would match
	// the same secret without it.
	if secret == "" || strings.HasSuffix(string(secret), "\x00") || checkMACKey(known.clientKey, secret) != nil {
		return nil
	}
	// A Key keeps no secrets, only keyed MACs. Two secrets are the same if they make the
	// same MAC.
	by := known.matching(nil, macOf(known.clientKey, secret, nil), false)
	if k == nil || by == nil || !by.ends.IsZero() && now.After(by.ends) {
		return nil
	}
	return by
}
