package signing

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"hash"
	"slices"
	"sync"
	"time"
)

// Key verifies the signatures of one client key. It is built once per credential
// and shared: keying an HMAC costs more than using it, and a Key keeps the keyed
// state.
//
// A Key is safe for concurrent use and prints as its client key only.
type Key struct {
	clientKey string
	macs      []*sync.Pool // of *keyedMAC, one pool for each live secret
	ends      time.Time    // of a former secret
	formers   []*Key       // with one secret each
}

// NewKey returns the Key of a client key and its live secrets. During a rotation
// there is more than one, and each of them verifies.
//
// It refuses a credential that has not the shape of those Generate makes: the MAC
// key is the client key followed by the secret, so that where lengths vary one MAC
// key can be read as two credentials.
func NewKey(clientKey string, secrets ...Secret) (*Key, error) {
	for _, secret := range secrets {
		if !generated(clientKey, secret) {
			return nil, errors.New("signing: a client key has 22 letters and digits and a secret 64; see UnsafeKey")
		}
	}
	return UnsafeKey(clientKey, secrets...)
}

// UnsafeKey is NewKey for credentials made elsewhere, of other lengths. It is safe
// only where all client keys of a server have one length: "ab" with the secret
// "cd" and "a" with "bcd" sign alike, so that the owner of one is the other, too.
//
// It refuses a client key that is empty, longer than 128 bytes or not visible
// ASCII, and a missing or empty secret.
func UnsafeKey(clientKey string, secrets ...Secret) (*Key, error) {
	if !visible.holds(clientKey, 1, maxClientKey) {
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
		k.macs = append(k.macs, newMACs(clientKey, secret))
	}
	return k, nil
}

// WithFormer returns a Key that verifies what k does, and until a time also with a
// secret that was rotated away. Verify returns a Key with that end for a request
// that was signed with it. It refuses an empty secret and the zero time.
func (k *Key) WithFormer(secret Secret, until time.Time) (*Key, error) {
	if secret == "" || until.IsZero() {
		return nil, errors.New("signing: a former secret needs a text and an end")
	}
	former := &Key{clientKey: k.clientKey, macs: []*sync.Pool{newMACs(k.clientKey, secret)}, ends: until}
	with := *k
	with.formers = append(slices.Clone(k.formers), former)
	return &with, nil
}

// Ends returns when the secret that signed a request verifies no longer: the zero
// time unless Verify has returned k for one that was rotated away.
func (k *Key) Ends() time.Time { return k.ends }

// ClientKey returns the client key, the public identifier of the application.
func (k *Key) ClientKey() string { return k.clientKey }

// Secrets returns how many live secrets the key verifies with.
func (k *Key) Secrets() int { return len(k.macs) + len(k.formers) }

// Format prints the client key whatever the verb: the fields hold keyed state.
func (k *Key) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "signing.Key(%s)", k.clientKey) }

// Keys finds the Key of a client key.
//
// Key returns the same pointer as long as the credential is unchanged; building
// a Key for each request is slow. For a client key that does not exist the error
// wraps ErrUnknownKey; any other error means that the look-up failed, and the
// request is refused without a verdict on it.
//
// Implementations are safe for concurrent use, and return when ctx ends.
type Keys interface {
	Key(ctx context.Context, clientKey string) (*Key, error)
}

// ErrUnknownKey says that no credential has this client key. What Verify makes of
// it wraps ErrMismatch too: strangers must not learn which keys exist.
var ErrUnknownKey = errors.New("signing: unknown client key")

// nobody stands in for unknown client keys, so that they cost the same one MAC.
var nobody = sync.OnceValue(func() *Key {
	clientKey, secret := Generate()
	return &Key{clientKey: clientKey, macs: []*sync.Pool{newMACs(clientKey, secret)}}
})

// verified returns the key under whose live secret the signature is that of the
// request: k, or one that is made of a former secret. Nil is none.
func (k *Key) verified(signature *[sha256.Size]byte, command, method, timestamp string) *Key {
	if by := k.matching(signature, command, method, timestamp); by != nil {
		return by
	}
	if bare, differs := alternative(command); differs {
		return k.matching(signature, bare, method, timestamp)
	}
	return nil
}

// matching tries every secret even after one has matched: the time taken must not
// tell which one is in use.
func (k *Key) matching(signature *[sha256.Size]byte, command, method, timestamp string) (by *Key) {
	if k.matches(signature, command, method, timestamp) {
		by = k
	}
	for _, former := range k.formers {
		if former.matches(signature, command, method, timestamp) && by == nil {
			by = former
		}
	}
	return by
}

func (k *Key) matches(signature *[sha256.Size]byte, command, method, timestamp string) bool {
	matched := false
	for _, pool := range k.macs {
		mac := pool.Get().(*keyedMAC)
		if mac.equals(signature, command, method, timestamp) {
			matched = true
		}
		pool.Put(mac)
	}
	return matched
}

// keyedMAC is an HMAC under one secret, with room for a message and its sum: as
// arguments of an interface's methods they would be allocated each time.
type keyedMAC struct {
	hash    hash.Hash
	message []byte
	sum     [sha256.Size]byte
}

func newMACs(clientKey string, secret Secret) *sync.Pool {
	key := []byte(clientKey + string(secret))
	return &sync.Pool{New: func() any {
		return &keyedMAC{hash: hmac.New(sha256.New, key)}
	}}
}

func (m *keyedMAC) equals(signature *[sha256.Size]byte, command, method, timestamp string) bool {
	m.message = appendMessage(m.message[:0], command, method, timestamp)
	m.hash.Reset()
	m.hash.Write(m.message)
	m.hash.Sum(m.sum[:0])
	return subtle.ConstantTimeCompare(m.sum[:], signature[:]) == 1
}
