package sqlstore

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/redacted"
)

// Sealer encrypts secrets at rest with AES-256-GCM. A sealed secret is bound to the
// kind, org and name of its row and opens only there, so rows cannot be swapped. It
// names its key, so keys can be replaced. NewSealer takes the key itself, and NewWrappedSealer a KMS
// that guards it. A Sealer prints REDACTED.
//
// Nonces are random: replace a key before it has sealed 2³² secrets, about four
// billion.
type Sealer struct {
	hidden
	keys []sealKey // the first one seals
}

// sealKey is a key, or the name of a data key until Open has it unwrapped.
type sealKey struct {
	id  [keyIDLength]byte
	gcm cipher.AEAD

	name    string
	wrapper Wrapper
}

const (
	keyLength   = 32
	keyIDLength = 8

	// The first byte of a stored secret tells its form.
	formPlain  = 0
	formSealed = 1

	headLength = 1 + keyIDLength
)

// ErrSealed means that a secret cannot be opened. It was sealed with a key that the
// Sealer lacks, or for another row, or it was altered.
var ErrSealed = errors.New("sqlstore: a sealed secret cannot be opened")

// ErrSealingKey means that none of the Sealer's keys is the one with which the latest Open has
// sealed: a key was mistyped, or one of another database. Nothing could be opened, and what were
// sealed could not be opened by the other instances. It also means a Sealer on a database without
// one, and UnsafeUnsealed on a database with one. To give up the secrets of a lost key, set the
// probe in the table "schema" to NULL, and delete its row in the table "wrapped", if it had one.
var ErrSealingKey = errors.New("sqlstore: the Sealer does not have the key of this database")

// ErrNoSealer means that Options have no Sealer, but the store keeps secrets.
var ErrNoSealer = errors.New("sqlstore: secrets need a Sealer: set Options.Sealer, or UnsafeUnsealed")

// NewSealer returns a Sealer that seals with the current key, and opens with the
// current key and the old ones. Each key is 32 random bytes; a password is no key. Keep
// the keys out of the database. To replace a key, first restart all instances with the
// new key as an old one. Then restart them with the new key as the current one. After
// Store.Reseal the previous key is no longer needed. An instance without the current key of the
// others does not open: see ErrSealingKey.
func NewSealer(current []byte, old ...[]byte) (*Sealer, error) {
	s := &Sealer{}
	for _, key := range append([][]byte{current}, old...) {
		k, err := newSealKey(key)
		if err != nil {
			return nil, fmt.Errorf("sqlstore: %w", err)
		}
		s.keys = append(s.keys, k)
	}
	return s, nil
}

func newSealKey(key []byte) (sealKey, error) {
	if len(key) != keyLength {
		return sealKey{}, fmt.Errorf("a sealing key has %d bytes, not %d", len(key), keyLength)
	}
	if bytes.Count(key, key[:1]) == keyLength {
		return sealKey{}, errors.New("a sealing key is one byte over and over")
	}
	block, _ := aes.NewCipher(key) // fails for other lengths only
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	sum := sha256.Sum256(append([]byte("tenantkit sealing key "), key...))
	return sealKey{id: [keyIDLength]byte(sum[:]), gcm: gcm}, err
}

type hidden = redacted.Value // embedded under an unexported name: no exported field

// location identifies the row of a secret.
type location struct {
	kind string
	org  auth.OrgKey
	id   string
}

// The kinds of secrets that Reseal reaches.
const (
	signingSecret = "signing secret"
	keyPair       = "key pair"
	secondFactor  = "second factor"
)

// additionalData returns the data that GCM authenticates beside the secret: head and
// the parts of the location. The length before each part keeps different splits of the
// same text apart.
func (at location) additionalData(head []byte) []byte {
	bound := bytes.Clone(head)
	for _, part := range []string{at.kind, string(at.org), at.id} {
		bound = binary.BigEndian.AppendUint32(bound, uint32(len(part)))
		bound = append(bound, part...)
	}
	return bound
}

// head returns the first bytes of everything that the current key seals.
func (s *Sealer) head() []byte { return append([]byte{formSealed}, s.keys[0].id[:]...) }

// seal returns the form, key id, nonce, ciphertext and tag.
func (s *Sealer) seal(at location, secret []byte) []byte {
	head := s.head()
	return append(head, s.keys[0].gcm.Seal(nil, nil, secret, at.additionalData(head))...)
}

func (s *Sealer) open(at location, sealed []byte) ([]byte, error) {
	// Refuse an unsealed secret: somebody else may have written it.
	if len(sealed) < headLength || sealed[0] != formSealed {
		return nil, ErrSealed
	}
	head := sealed[:headLength]
	for _, key := range s.keys {
		if !bytes.Equal(head[1:], key.id[:]) {
			continue
		}
		if secret, err := key.gcm.Open(nil, nil, sealed[headLength:], at.additionalData(head)); err == nil {
			return secret, nil
		}
	}
	return nil, ErrSealed
}

// seal returns the bytes that the store keeps of a secret.
func (s *Store) seal(at location, secret []byte) []byte {
	if s.options.Sealer == nil {
		return append([]byte{formPlain}, secret...)
	}
	return s.options.Sealer.seal(at, secret)
}

func (s *Store) unseal(at location, kept []byte) ([]byte, error) {
	if s.options.Sealer != nil {
		return s.options.Sealer.open(at, kept)
	}
	if len(kept) < 1 || kept[0] != formPlain {
		return nil, ErrSealed
	}
	return kept[1:], nil
}

// checkSealer opens the probe, or seals one if there is none. It seals a probe of an old key anew, so
// that the old key is not needed once the last instance has been restarted without it.
func (s *Store) checkSealer(ctx context.Context) error {
	if s.keepsSecrets() != nil {
		return nil
	}
	at := location{kind: "probe"}
	for {
		var before any // NULL
		var found []byte
		if err := s.find(ctx, `SELECT probe FROM {schema} WHERE version = $1`, []any{version}, &found); err != nil {
			return err
		}
		if found != nil {
			if _, err := s.unseal(at, found); err != nil {
				return ErrSealingKey
			}
			before = found
			if s.options.Sealer == nil || bytes.HasPrefix(found, s.options.Sealer.head()) {
				return nil
			}
		}
		// If another instance was faster, its probe counts.
		n, err := s.exec(ctx, `UPDATE {schema} SET probe = $1 WHERE version = $3 AND coalesce(probe, '') = coalesce(CAST($2 AS {bytes}), '')`, s.seal(at, []byte("probe")), before, version)
		if err != nil || n == 1 {
			return err
		}
	}
}

// keepsSecrets returns ErrNoSealer unless the options have a Sealer or UnsafeUnsealed.
func (s *Store) keepsSecrets() error {
	if s.options.Sealer == nil && !s.options.UnsafeUnsealed {
		return ErrNoSealer
	}
	return nil
}

// sealing returns what keeps secrets in a Store, or nothing with ErrNoSealer.
func sealing[T any](s *Store, keeper T) (none T, err error) {
	if err := s.keepsSecrets(); err != nil {
		return none, err
	}
	return keeper, nil
}
