package session

import (
	"context"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/tenantkit/tenantkit/internal/redacted"
)

// Factor is the second factor of an account: a time-based one-time password
// (RFC 6238), and codes for the day the device is lost. The zero Factor is
// none.
type Factor struct {
	// Version counts the changes of the record. 0: there never was one.
	Version int64

	Secret  FactorSecret // nil: no factor is active
	Pending FactorSecret // of an enrolment that no code has confirmed yet

	// Step is the latest time step whose code was accepted: it and those
	// before are not accepted again.
	Step int64

	// Recovery holds the SHA-256 of each recovery code that is left. They are
	// 128 random bits, so that a plain hash is enough.
	Recovery [][32]byte
}

// Factors keeps one record per account. It seals the secrets at rest.
//
// Implementations are safe for concurrent use, in this process and in others
// that share the store, and return when ctx ends.
type Factors interface {
	// Factor returns the account's record, the zero Factor if there is none.
	Factor(ctx context.Context, org, account string) (Factor, error)

	// Save stores f if the record's version is still f.Version, and raises the
	// version by one, in one atomic step: of concurrent calls with one version
	// exactly one returns nil, the others return ErrConflict. A factor that is
	// removed is saved without secrets: its version stays, so that no change that
	// began before brings it back.
	Save(ctx context.Context, org, account string, f Factor) error
}

// clone copies what a caller could still write to.
func (f Factor) clone() Factor {
	f.Secret, f.Pending = slices.Clone(f.Secret), slices.Clone(f.Pending)
	f.Recovery = slices.Clone(f.Recovery)
	return f
}

// ErrConflict means that a factor was changed meanwhile.
var ErrConflict = errors.New("session: the second factor was changed meanwhile")

// FactorSecret is the shared secret of a second factor, 20 random bytes. It
// prints REDACTED.
type FactorSecret []byte

// Base32 returns the secret as authenticator apps take it when it is typed in.
func (s FactorSecret) Base32() string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(s)
}

func (FactorSecret) String() string                 { return redacted.Text }
func (FactorSecret) GoString() string               { return redacted.Text }
func (FactorSecret) LogValue() slog.Value           { return slog.StringValue(redacted.Text) }
func (FactorSecret) MarshalText() ([]byte, error)   { return []byte(redacted.Text), nil }
func (FactorSecret) MarshalBinary() ([]byte, error) { return []byte(redacted.Text), nil } // gob asks for it

// Format covers the verbs that never ask String, such as %d and %x.
func (FactorSecret) Format(f fmt.State, _ rune) { io.WriteString(f, redacted.Text) }
