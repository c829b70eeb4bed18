package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/envelope"
)

// The details of this library's refusals. A detail follows the namespace in errCode. The
// details are stable and part of the interface.
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
	DetailUnsupportedMediaType = "unsupportedMediaType.unspecified"
	DetailTooLarge             = "tooLarge.unspecified"
	DetailThrottled            = "throttled.unspecified"
	DetailStoreFull            = "tooBusy.storeFull"
	DetailUnavailable          = "error.storeUnavailable"
	DetailInternal             = "error.unspecified"
)

// faults is the table of faults: the status, code and message for each detail.
var faults = map[string]struct {
	status        int
	code, message string
}{
	DetailNoCredentials:        {401, "kNoCredentialsSupplied", "No credentials were supplied."},
	DetailAmbiguous:            {400, "kInvalidArgument", "More than one credential was supplied."},
	DetailMalformedSignature:   {400, "kInvalidRequestSignature", "The signature headers are incomplete or malformed."},
	DetailInvalidSignature:     {401, "kInvalidRequestSignature", "The request signature is not valid."},
	DetailStaleSignature:       {401, "kStaleRequestSignature", "The request timestamp is outside the accepted window."},
	DetailReplayed:             {401, "kInvalidRequestSignature", "The request was received before."},
	DetailContentDigest:        {400, "kInvalidArgument", "Content-Digest is missing, malformed or not that of the body."},
	DetailBodyTooLarge:         {413, "kRequestTooLarge", "The body is too large to be signed."},
	DetailPrincipal:            {403, "kAccessDenied", "The credential may not act as this account."},
	DetailInvalidToken:         {401, "kInvalidCredentials", "The token is not valid."},
	DetailKeyMismatch:          {401, "kInvalidCredentials", "The client key does not match the token."},
	DetailTokenExpired:         {401, "kTokenExpired", "The token has expired."},
	DetailTokenNotActive:       {401, "kInvalidCredentials", "The token is not active yet."},
	DetailScope:                {403, "kAccessDenied", "Missing a required token scope."},
	DetailForbidden:            {403, "kAccessDenied", "Access denied."},
	DetailInvalidScope:         {400, "kAuthScope", "The scope is not valid."},
	DetailTooManyTokens:        {403, "kAccessDenied", "The subject holds the maximum number of tokens for this app."},
	DetailNoKeyPair:            {404, "kNotFound", "The app has no key pair."},
	DetailUnknownApp:           {404, "kNotFound", "No such app."},
	DetailUnknownOrg:           {404, "kNotFound", "No such org."},
	DetailNotFound:             {404, "kNotFound", "Not found."},
	DetailVersion:              {400, "kInvalidApiVersion", "This version is not served."},
	DetailPath:                 {400, "kInvalidArgument", "The path is not in its canonical form."},
	DetailMethod:               {405, "kInvalidArgument", "The method is not allowed."},
	DetailInvalidCredentials:   {401, "kInvalidCredentials", "Unknown account or wrong password."},
	DetailLocked:               {429, "kAccountLocked", "Too many failed attempts."},
	DetailSecondFactor:         {403, "kUnverifiedLocation", "A second factor is required."},
	DetailInvalidCode:          {401, "kInvalidArgument", "The code is not valid."},
	DetailSessionExpired:       {401, "kSessionExpired", "The session has ended."},
	DetailLoggedInElsewhere:    {401, "kLoggedInElsewhere", "The session was ended by a newer one."},
	DetailCrossOrigin:          {403, "kCSRFTokenMismatch", "Cross-origin requests are not allowed."},
	DetailReauthenticate:       {403, "kAccessDenied", "Authenticate again to continue."},
	DetailQuery:                {400, "kInvalidArgument", "The query is not valid."},
	DetailBody:                 {400, "kInvalidArgument", "The body is not valid."},
	DetailOption:               {400, "kInvalidArgument", "The options are not valid."},
	DetailDelegation:           {403, "kAccessDenied", "It would exceed what its maker may do."},
	DetailConflict:             {409, "kConflict", "It conflicts with what is there."},
	DetailUnsupportedMediaType: {415, "kInvalidArgument", "The body must be JSON."},
	DetailTooLarge:             {413, "kRequestTooLarge", "The body is too large."},
	DetailThrottled:            {429, "kThrottled", "Too many requests."},
	DetailStoreFull:            {503, "kTooBusy", "Too busy."},
	DetailUnavailable:          {503, "kError", "Temporarily unavailable."},
	DetailInternal:             {500, "kError", "Internal error."},
}

// A Directory, a store or a handler returns one of these if it has no more to say. Each may
// be wrapped.
var (
	ErrNotFound    = errors.New("auth: not found")
	ErrForbidden   = errors.New("auth: forbidden")
	ErrConflict    = errors.New("auth: conflicts with what is there")
	ErrUnavailable = errors.New("auth: store unavailable")
)

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
	RetryAfter time.Duration // for a 429 or 503; 0: one second
	Cookie     *http.Cookie  // optional: set with the refusal, to clear a cookie that is no longer valid
	Err        error         // the cause; never leaves the server

	fault *envelope.Fault // what a foreign error said of itself
}

func (e *Error) Error() string {
	text := "auth: " + e.Detail
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
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
	detail := e.Detail
	row, ok := faults[detail]
	if !ok {
		detail, row = DetailInternal, faults[DetailInternal]
	}
	f := &envelope.Fault{
		Detail:  detail,
		Code:    row.code,
		Status:  row.status,
		Message: row.message,
		Reason:  e.Reason,
		Path:    e.Path,
	}
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

func isTooLarge(err error) bool {
	_, ok := errors.AsType[*http.MaxBytesError](err)
	return ok
}

func detailOf(err error) string {
	switch {
	case IsNotFound(err):
		return DetailNotFound
	case errors.Is(err, ErrForbidden):
		return DetailForbidden
	case errors.Is(err, ErrConflict):
		return DetailConflict
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return DetailUnavailable // the second: nobody is there to read it, and nothing is broken
	case isTooLarge(err):
		return DetailTooLarge
	}
	return DetailInternal
}
