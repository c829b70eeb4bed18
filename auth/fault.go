package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/internal/faults"
)

// The details of this library's refusals. A detail follows the namespace in errCode. The
// details are stable and part of the interface. Package internal/faults has their rows.
const (
	DetailNoCredentials        = "accessDenied.noCredentialsSupplied"
	DetailAmbiguous            = "invalidArgument.ambiguousCredentials"
	DetailMalformedSignature   = "invalidArgument.malformedRequestSignature"
	DetailInvalidSignature     = "accessDenied.invalidRequestSignature"
	DetailStaleSignature       = "invalidArgument.staleRequestSignature"
	DetailReplayed             = "accessDenied.replayedRequest"
	DetailContentDigest        = "invalidArgument.contentDigest"
	DetailBodyTooLarge         = "invalidArgument.bodyTooLarge"
	DetailPrincipal            = "accessDenied.principal"
	DetailInvalidToken         = "accessDenied.invalidJwt"
	DetailKeyMismatch          = "accessDenied.invalidJwtApp"
	DetailTokenExpired         = "expired.jwt"
	DetailTokenNotActive       = "accessDenied.jwtNotActive"
	DetailScope                = "accessDenied.scope"
	DetailForbidden            = "accessDenied.unspecified"
	DetailInvalidScope         = "invalidArgument.authScope"
	DetailTooManyTokens        = "accessDenied.maxJwtPerSubject"
	DetailNoKeyPair            = "notFound.appRsa"
	DetailUnknownApp           = "notFound.app"
	DetailUnknownOrg           = "notFound.env"
	DetailNotFound             = "notFound.unspecified"
	DetailVersion              = "invalidArgument.invalidApiVersion"
	DetailPath                 = "invalidArgument.path"
	DetailMethod               = "invalidArgument.method"
	DetailInvalidCredentials   = "accessDenied.invalidCredentials"
	DetailLocked               = "accessDenied.accountLocked"
	DetailSecondFactor         = "accessDenied.unverifiedLocation"
	DetailInvalidCode          = "invalidArgument.locationToken"
	DetailSessionExpired       = "accessDenied.sessionExpired"
	DetailLoggedInElsewhere    = "accessDenied.loggedInElsewhere"
	DetailCrossOrigin          = "accessDenied.csrfTokenMismatch"
	DetailReauthenticate       = "accessDenied.reauthenticationRequired"
	DetailQuery                = "invalidArgument.query"
	DetailBody                 = "invalidArgument.body"
	DetailOption               = "invalidArgument.option"
	DetailDelegation           = "accessDenied.delegation"
	DetailConflict             = "conflict.unspecified"
	DetailIdempotencyHeader    = "invalidArgument.idempotencyHeader"
	DetailIdempotencyKey       = "invalidArgument.idempotencyKey"
	DetailIdempotencyPending   = "invalidArgument.idempotencyPending"
	DetailIdempotencyAuthority = "accessDenied.idempotencyAuthority"
	DetailIdempotencyReply     = "conflict.idempotencyReply"
	DetailUnsupportedMediaType = "unsupportedMediaType.unspecified"
	DetailTooLarge             = "tooLarge.unspecified"
	DetailThrottled            = "throttled.unspecified"
	DetailStoreFull            = "tooBusy.storeFull"
	DetailUnavailable          = "error.storeUnavailable"
	DetailInternal             = "error.unspecified"
)

// A Directory, a store or a handler returns one of these if it has no more to say. Each may
// be wrapped.
var (
	ErrNotFound    = errors.New("auth: not found")
	ErrForbidden   = errors.New("auth: forbidden")
	ErrConflict    = errors.New("auth: conflicts with what is there")
	ErrUnavailable = errors.New("auth: store unavailable")

	// Causes of a rejection that only the event of the request has: the caller learns neither.
	ErrNetwork = errors.New("auth: credential outside its networks")
	ErrEnded   = errors.New("auth: credential disabled or outside its validity")
)

// SettingError reports a setting of a database that breaks a promise of the stores in it. The errors
// of sqlstore.Open and redisstore.Open wrap one for each such setting.
type SettingError struct {
	Setting string // "synchronous_commit", "maxmemory-policy"
	Value   string // the database's value; "unknown" if it does not tell it
	Remedy  string // what to set, and the option that accepts the present value
}

func (e *SettingError) Error() string {
	return fmt.Sprintf("%s is %s: %s", e.Setting, e.Value, e.Remedy)
}

// IsNotFound reports whether an error of a Directory or a store says that something does
// not exist. It returns false for an error that wraps ErrUnavailable, whatever else that
// wraps: a failure must never read as an absence.
func IsNotFound(err error) bool {
	return errors.Is(err, ErrNotFound) && !errors.Is(err, ErrUnavailable)
}

// Unavailable makes err, the error of a store that did not answer, wrap ErrUnavailable. If
// err wraps ErrNotFound, Unavailable removes that: a caller that checks for an absence must
// not find one in a failure. It returns nil for nil.
func Unavailable(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrNotFound) {
		err = errors.New(err.Error())
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// Error is a refusal. Its Detail selects the fault from the table.
type Error struct {
	Detail     string        // one of the Detail constants; any other is answered as DetailInternal
	Reason     string        // optional and shown to the client: what is needed, never why a credential failed
	Path       string        // optional and shown: the parameter or property concerned
	Faults     []*Error      // optional and shown: one for each thing that is wrong, if there are several
	RetryAfter time.Duration // sent with a 429 or 503, for one second if it is 0, and with others unless it is 0
	Cookie     *http.Cookie  // optional: set with the refusal, to clear a cookie that is no longer valid
	Err        error         // the cause; never leaves the server

	fault *envelope.Fault // what a foreign error said of itself
}

func (e *Error) Error() string {
	text := "auth: " + e.Detail
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	for _, child := range e.Faults[:min(3, len(e.Faults))] {
		if child != nil { // clients choose names, so quote them: a log has lines
			text += fmt.Sprintf("; %q %q", child.Path, child.Reason)
		}
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// Fault returns the fault for the client: status, code and fixed text from the table.
func (e *Error) Fault() *envelope.Fault {
	if e.fault != nil {
		return e.fault
	}
	f := faults.Of(e.Detail)
	f.Reason, f.Path = e.Reason, e.Path
	for _, child := range e.Faults {
		if child != nil {
			f.Faults = append(f.Faults, child.Fault())
		}
	}
	return f
}

// toError returns err as an *Error, with a Detail that fits.
func toError(err error) *Error {
	if e, ok := err.(*Error); ok {
		return e.orTooLarge()
	}
	// Check this before any other wrapped error. If a store failed, nothing is known, even
	// if its error also says "not found".
	if errors.Is(err, ErrUnavailable) {
		return &Error{Detail: DetailUnavailable, Err: err}
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.orTooLarge()
	}
	// Check for the method, not for a type, so that packages that do not import auth can
	// answer with their own faults, children included.
	var shaped interface{ Fault() *envelope.Fault }
	if errors.As(err, &shaped) {
		// A refusal with a status of success would read as a success.
		if f := shaped.Fault(); f != nil && 400 <= f.Status && f.Status <= 599 {
			return &Error{Detail: f.Detail, Reason: f.Reason, Err: err, fault: f}
		}
	}
	return &Error{Detail: detailOf(err), Err: err}
}

// orTooLarge corrects a handler that reports every failure to read a body as a malformed
// body.
func (e *Error) orTooLarge() *Error {
	if e.Detail == DetailBody && isTooLarge(e.Err) {
		return &Error{Detail: DetailTooLarge, Err: e}
	}
	return e
}

func isTooLarge(err error) bool { return errors.As(err, new(*http.MaxBytesError)) }

func detailOf(err error) string {
	switch {
	case IsNotFound(err):
		return DetailNotFound
	case errors.Is(err, ErrForbidden):
		return DetailForbidden
	case errors.Is(err, ErrConflict):
		return DetailConflict
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return DetailUnavailable // the second: the client is gone, and nothing is broken
	case isTooLarge(err):
		return DetailTooLarge
	}
	return DetailInternal
}
