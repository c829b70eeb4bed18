package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// What the verbs of a Manager return, within an *auth.Error.
var (
	// ErrCredentials: unknown account or wrong password, and nobody learns which.
	ErrCredentials = errors.New("session: unknown account or wrong password")

	// ErrSecondFactor: what was proven so far is right, and a second factor is
	// wanted. The reply has the cookie of a ticket for it; the error's Reason
	// says which step it opens: "code" for Verify, "enrol" for Enrol and Confirm.
	ErrSecondFactor = errors.New("session: second factor wanted")

	// ErrCode: the code is wrong, was used before, or its ticket is no longer good.
	ErrCode = errors.New("session: invalid code")

	// ErrLocked: too many tries; RetryAfter says when the next one is heard.
	ErrLocked = errors.New("session: too many tries")
)

var (
	errCredentials = &auth.Error{Detail: auth.DetailInvalidCredentials, Err: ErrCredentials}
	errCode        = &auth.Error{Detail: auth.DetailInvalidCode, Err: ErrCode}
	errOtherStep   = &auth.Error{Detail: auth.DetailInvalidCode, Err: fmt.Errorf("%w: the ticket is for another step", ErrCode)}
)

func locked(wait time.Duration) error {
	return &auth.Error{Detail: auth.DetailLocked, RetryAfter: wait, Err: ErrLocked}
}
