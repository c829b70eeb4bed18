package sqlstore

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tenantkit/tenantkit/internal/redacted"
)

// Sealer encrypts secrets at rest with AES-256-GCM. What it has sealed opens
// only in the place it was sealed for (kind, org and name of the row), so that
// rows cannot be swapped, and names the key, so that keys can be replaced. It
// prints REDACTED.
//
// Nonces are random: replace a key before it has sealed four billion times.
type Sealer struct {
	hidden
	keys []sealKey // the first one seals
}

type sealKey struct {
	id  [keyIDLength]byte
	gcm cipher.AEAD
}

const (
	keyLength   = 32
	keyIDLength = 8

	// The first byte of what is kept tells how.
	formPlain  = 0
	formSealed = 1

	headLength = 1 + keyIDLength
)

// ErrSealed means that a secret cannot be opened: it was sealed with a key that
// the Sealer has not, or for another row, or it was altered.
var ErrSealed = errors.New("sqlstore: a sealed secret cannot be opened")

// ErrNoSealer means that a store that keeps secrets was asked for where
// Options have no Sealer.
var ErrNoSealer = errors.New("sqlstore: secrets need a Sealer: set Options.Sealer, or UnsafeUnsealed")

// NewSealer seals with the current key, and opens what was sealed with it or
// one of the old ones. Each key is 32 random bytes, which are not kept in the
// same database; a password is not a key. To replace a key, start all
// instances with the new one among the old, then with the new one as current;
// Store.Reseal then makes the old one superfluous.
func NewSealer(current []byte, old ...[]byte) (*Sealer, error) {
	s := &Sealer{}
	for _, key := range append([][]byte{current}, old...) {
		if len(key) != keyLength {
			return nil, fmt.Errorf("sqlstore: a sealing key has %d bytes, not %d", len(key), keyLength)
		}
		if bytes.Count(key, key[:1]) == keyLength {
			return nil, errors.New("sqlstore: a sealing key is one byte over and over")
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		gcm, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(append([]byte("tenantkit sealing key "), key...))
		s.keys = append(s.keys, sealKey{[keyIDLength]byte(sum[:]), gcm})
	}
	return s, nil
}

type hidden = redacted.Value // embedded, it is no field of the exported surface

// place is where a secret is kept.
type place struct{ kind, org, id string }

// bind is what the place and the head add to the authentication. Lengths keep
// places apart whose parts are cut in another way.
func (p place) bind(head []byte) []byte {
	bound := bytes.Clone(head)
	for _, part := range []string{p.kind, p.org, p.id} {
		bound = binary.BigEndian.AppendUint32(bound, uint32(len(part)))
		bound = append(bound, part...)
	}
	return bound
}

// head is what all that the current key seals begins with.
func (s *Sealer) head() []byte { return append([]byte{formSealed}, s.keys[0].id[:]...) }

// seal returns form, key id, nonce, ciphertext and tag.
func (s *Sealer) seal(p place, secret []byte) []byte {
	head := s.head()
	return append(head, s.keys[0].gcm.Seal(nil, nil, secret, p.bind(head))...)
}

func (s *Sealer) open(p place, sealed []byte) ([]byte, error) {
	// What is not sealed is not opened either: somebody may have put it there.
	if len(sealed) < headLength || sealed[0] != formSealed {
		return nil, ErrSealed
	}
	head := sealed[:headLength]
	for _, key := range s.keys {
		if !bytes.Equal(head[1:], key.id[:]) {
			continue
		}
		secret, err := key.gcm.Open(nil, nil, sealed[headLength:], p.bind(head))
		if err != nil {
			return nil, ErrSealed
		}
		return secret, nil
	}
	return nil, ErrSealed
}

// seal returns what the store keeps of a secret.
func (s *Store) seal(p place, secret []byte) []byte {
	if s.sealer == nil {
		return append([]byte{formPlain}, secret...)
	}
	return s.sealer.seal(p, secret)
}

func (s *Store) unseal(p place, kept []byte) ([]byte, error) {
	if s.sealer != nil {
		return s.sealer.open(p, kept)
	}
	if len(kept) < 1 || kept[0] != formPlain {
		return nil, ErrSealed
	}
	return kept[1:], nil
}

// keepsSecrets returns ErrNoSealer unless the store was told how to.
func (s *Store) keepsSecrets() error {
	if s.sealer == nil && !s.unsealed {
		return ErrNoSealer
	}
	return nil
}
