package session

import (
	"context"
	"encoding/base32"
	"errors"
	"slices"

	"github.com/tenantkit/tenantkit/auth"
)

// Factor is the second factor of an account: a time-based one-time password (RFC 6238),
// and recovery codes for an owner who has lost the device. The zero Factor means that
// there is none.
type Factor struct {
	// Version counts the changes of the record. 0 means that it was never saved.
	Version int64

	Secret  FactorSecret // zero: no factor is active
	Pending FactorSecret // of an enrolment that is not confirmed yet

	// Step is the latest time step whose code was accepted. Codes of this step and of
	// earlier ones are not accepted again.
	Step int64

	// Recovery holds the SHA-256 of each unused recovery code. A plain hash is enough,
	// because each code has 128 random bits.
	Recovery [][32]byte
}

// FactorStore keeps one record per account. It seals the secrets at rest. That of a person is in the org
// auth.PersonKey, under auth.Account.Person.
//
// Implementations are safe for concurrent use, in this process and in others that share
// the store, and return when ctx ends.
type FactorStore interface {
	// Factor returns the account's record, or the zero Factor if there is none.
	Factor(ctx context.Context, org auth.OrgKey, account string) (Factor, error)

	// Save stores f if the record's version is still f.Version, and raises the version
	// by one. This is one atomic step: of concurrent calls with one version exactly one
	// returns nil, and the others return ErrConflict. To remove a factor, save it
	// without secrets. Its version stays, so that no change that began earlier can
	// restore it.
	Save(ctx context.Context, org auth.OrgKey, account string, f Factor) error
}

// clone returns a copy that shares no memory with f.
func (f Factor) clone() Factor {
	f.Recovery = slices.Clone(f.Recovery)
	return f
}

// ErrConflict means that the factor was changed since it was read.
var ErrConflict = errors.New("session: the second factor was changed meanwhile")

// FactorSecret is the shared secret of a second factor: 20 random bytes, or 32 with
// Manager.SHA256Codes. The zero FactorSecret is none. It prints REDACTED.
type FactorSecret struct {
	hidden
	bytes string
}

// NewFactorSecret returns a secret, such as one that a store has kept or another program has
// created.
func NewFactorSecret(secret []byte) FactorSecret { return FactorSecret{bytes: string(secret)} }

// Reveal returns the bytes of the secret; nil: none.
func (s FactorSecret) Reveal() []byte {
	if s.isNone() {
		return nil
	}
	return []byte(s.bytes)
}

func (s FactorSecret) isNone() bool { return s.bytes == "" }

// Base32 returns the secret in the form that a user types into an authenticator app.
func (s FactorSecret) Base32() string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(s.bytes))
}
