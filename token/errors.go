package token

import (
	"errors"
	"strings"
)

// What this package reports. A token that was refused matches ErrInvalid,
// whatever was wrong with it; ErrExpired, ErrNotYet, ErrKeyMismatch,
// ErrRevoked and ErrExhausted say more where a caller may be told more. An
// error of Verify that does not match ErrInvalid says nothing about the token:
// a store failed, or the Verifier is not set up.
var (
	ErrInvalid     = errors.New("token: invalid")
	ErrExpired     = errors.New("token: expired")
	ErrNotYet      = errors.New("token: not valid yet")
	ErrKeyMismatch = errors.New("token: issued by another client key than the one sent")
	ErrRevoked     = errors.New("token: revoked, or never issued")
	ErrExhausted   = errors.New("token: every use is spent")

	ErrNotFound  = errors.New("token: not found")
	ErrEphemeral = errors.New("token: ephemeral tokens have no id and cannot be revoked one by one")
	ErrTooMany   = errors.New("token: the subject holds the maximum of tokens for this app")
	ErrTooDeep   = errors.New("token: made by a chain of more than 4 tokens")
	ErrNoKeyPair = errors.New("token: the app has no key pair")

	// ErrClaims and ErrScope are what a Minter refuses to sign.
	ErrClaims = errors.New("token: claims cannot be minted")
	ErrScope  = errors.New("token: scope cannot be minted")

	// ErrBadKey is a key that may neither sign nor verify here.
	ErrBadKey = errors.New("token: key is not acceptable")
)

// refusal is a token that was refused: ErrInvalid to whoever answers the
// caller, its cause to whoever reads the log.
type refusal struct{ cause error }

func refuse(reason string) error { return &refusal{errors.New(reason)} }

func (r *refusal) Error() string {
	return ErrInvalid.Error() + ": " + strings.TrimPrefix(r.cause.Error(), "token: ")
}

func (r *refusal) Is(target error) bool { return target == ErrInvalid }

func (r *refusal) Unwrap() error { return r.cause }
