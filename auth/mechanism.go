package auth

import (
	"context"
	"net/http"
)

// Mechanism is one way to prove who is calling.
//
// "Not mine" and "no" are different answers. Presented tells, from headers
// alone and recording nothing, whether this mechanism's credential is there.
// If it is the one the request presents, Authenticate decides, and its error
// is final: no other mechanism is tried.
//
// Implementations are safe for concurrent use. An error is an *Error, or wraps
// ErrUnavailable when a store did not answer.
type Mechanism interface {
	Presented(r *http.Request) Presence

	// Authenticate returns the principal of a request that presents this
	// mechanism's credential. Whatever it records (a nonce, a use), it
	// records last, after everything that can be checked without recording.
	// It looks accounts and apps up through t, whose org the principal must
	// have. Its store calls use ctx, which ends with the Guard's Timeout; the
	// request's own context does not. It does not call Guard.Check, which waits
	// for it.
	Authenticate(ctx context.Context, r *http.Request, t *Tenant) (Principal, error)

	// Challenge returns the WWW-Authenticate value of a refusal: err is the
	// error Authenticate returned, nil when this mechanism was not asked. It
	// is asked for each 401, and for a missing scope of the mechanism that
	// authenticated; "" adds none.
	Challenge(err error) string
}

// Presence is what a request carries for a mechanism.
type Presence uint8

const (
	Absent Presence = iota
	Cookie          // sent by a browser unasked; yields to a header
	Header          // sent on purpose; two mechanisms' headers are ambiguous
)

// none is the index of no mechanism.
const none int32 = -1
