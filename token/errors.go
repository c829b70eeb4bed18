package token

import (
	"errors"
	"fmt"
	"strings"
)

// Errors of this package. The error of a refused token always matches ErrInvalid. It
// may also match ErrExpired, ErrNotYet, ErrKeyMismatch, ErrRevoked or ErrExhausted,
// for callers that may be told more. An error of Verify that does not match ErrInvalid
// says nothing about the token: a store failed, or the Verifier is not set up.
var (
	ErrInvalid     = errors.New("token: invalid")
	ErrExpired     = errors.New("token: expired")
	ErrNotYet      = errors.New("token: not valid yet")
	ErrKeyMismatch = errors.New("token: issued by another client key than the one sent")
	ErrRevoked     = errors.New("token: revoked, or never issued")
	ErrExhausted   = errors.New("token: every use is spent")

	// ErrReused: the token was renewed, and then used after its grace. It matches ErrRevoked, too.
	ErrReused = fmt.Errorf("%w: it was renewed before, so its successors end with it", ErrRevoked)

	ErrNotFound  = errors.New("token: not found")
	ErrEphemeral = errors.New("token: ephemeral tokens have no id and cannot be revoked one by one")
	ErrTooMany   = errors.New("token: the subject holds the maximum of tokens for this app")
	ErrTooDeep   = errors.New("token: made by a chain of more than 4 tokens")
	ErrNoKeyPair = errors.New("token: the app has no key pair")

	// ErrOverlap: the overlap of a rotation is not 1 second to MaxOverlap. ErrFormers: the
	// app has MaxFormers former keys that still verify, and may not have another.
	ErrOverlap = errors.New("token: an overlap lasts from 1 second to 30 days; for none, use Generate")
	ErrFormers = errors.New("token: 8 former keys of the app still verify: wait until one ends, or use Generate")

	// ErrClaims and ErrScope: a Minter refuses to sign these claims or this scope.
	ErrClaims = errors.New("token: claims cannot be minted")
	ErrScope  = errors.New("token: scope cannot be minted")

	// ErrBadKey: the key may neither sign nor verify here.
	ErrBadKey = errors.New("token: key is not acceptable")
)

// refusal is the error of a refused token. It matches ErrInvalid, and its cause is
// for the log.
type refusal struct{ cause error }

func refuse(reason string) error { return &refusal{errors.New(reason)} }

func (r *refusal) Error() string {
	return ErrInvalid.Error() + ": " + strings.TrimPrefix(r.cause.Error(), "token: ")
}

func (r *refusal) Is(target error) bool { return target == ErrInvalid }

func (r *refusal) Unwrap() error { return r.cause }

// unknownKey is the error of a token whose kid is unknown. It matches what the error
// of Keys matches, so that a caller can recognise an outage. It does not match
// ErrNotFound, because an unknown kid is answered like a bad signature.
type unknownKey struct{ cause error }

func (u *unknownKey) Error() string { return ErrInvalid.Error() + ": kid is unknown" }

func (u *unknownKey) Is(target error) bool {
	return target == ErrInvalid || target != ErrNotFound && errors.Is(u.cause, target)
}
