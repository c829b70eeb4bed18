// Package faults is the table of faults: the status, code and message of each detail of section 6
// of the interface. Packages that do not import auth answer by it, too.
package faults

import (
	"maps"
	"slices"

	"github.com/tenantkit/tenantkit/envelope"
)

// Internal is the detail of a fault that no other row fits.
const Internal = "error.unspecified"

var table = map[string]struct {
	status        int
	code, message string
}{
	"accessDenied.noCredentialsSupplied":        {401, "kNoCredentialsSupplied", "No credentials were supplied."},
	"invalidArgument.ambiguousCredentials":      {400, "kInvalidArgument", "More than one credential was supplied."},
	"invalidArgument.malformedRequestSignature": {400, "kInvalidRequestSignature", "The signature headers are incomplete or malformed."},
	"accessDenied.invalidRequestSignature":      {401, "kInvalidRequestSignature", "The request signature is not valid."},
	"invalidArgument.staleRequestSignature":     {401, "kStaleRequestSignature", "The request timestamp is outside the accepted window."},
	"accessDenied.replayedRequest":              {401, "kInvalidRequestSignature", "The request was received before."},
	"invalidArgument.contentDigest":             {400, "kInvalidArgument", "Content-Digest is missing, malformed or not that of the body."},
	"invalidArgument.bodyTooLarge":              {413, "kRequestTooLarge", "The body is too large to be signed."},
	"accessDenied.principal":                    {403, "kAccessDenied", "The credential may not act as this account."},
	"accessDenied.invalidJwt":                   {401, "kInvalidCredentials", "The token is not valid."},
	"accessDenied.invalidJwtApp":                {401, "kInvalidCredentials", "The client key does not match the token."},
	"expired.jwt":                               {401, "kTokenExpired", "The token has expired."},
	"accessDenied.jwtNotActive":                 {401, "kInvalidCredentials", "The token is not active yet."},
	"accessDenied.scope":                        {403, "kAccessDenied", "Missing a required token scope."},
	"accessDenied.unspecified":                  {403, "kAccessDenied", "Access denied."},
	"invalidArgument.authScope":                 {400, "kAuthScope", "The scope is not valid."},
	"accessDenied.maxJwtPerSubject":             {403, "kAccessDenied", "The subject holds the maximum number of tokens for this app."},
	"notFound.appRsa":                           {404, "kNotFound", "The app has no key pair."},
	"notFound.app":                              {404, "kNotFound", "No such app."},
	"notFound.env":                              {404, "kNotFound", "No such org."},
	"notFound.unspecified":                      {404, "kNotFound", "Not found."},
	"invalidArgument.invalidApiVersion":         {400, "kInvalidApiVersion", "This version is not served."},
	"invalidArgument.path":                      {400, "kInvalidArgument", "The path is not in its canonical form."},
	"invalidArgument.method":                    {405, "kInvalidArgument", "The method is not allowed."},
	"accessDenied.invalidCredentials":           {401, "kInvalidCredentials", "Unknown account or wrong password."},
	"accessDenied.accountLocked":                {429, "kAccountLocked", "Too many failed attempts."},
	"accessDenied.unverifiedLocation":           {403, "kUnverifiedLocation", "A second factor is required."},
	"invalidArgument.locationToken":             {401, "kInvalidArgument", "The code is not valid."},
	"accessDenied.sessionExpired":               {401, "kSessionExpired", "The session has ended."},
	"accessDenied.loggedInElsewhere":            {401, "kLoggedInElsewhere", "The session was ended by a newer one."},
	"accessDenied.csrfTokenMismatch":            {403, "kCSRFTokenMismatch", "Cross-origin requests are not allowed."},
	"accessDenied.reauthenticationRequired":     {403, "kAccessDenied", "Authenticate again to continue."},
	"invalidArgument.query":                     {400, "kInvalidArgument", "The query is not valid."},
	"invalidArgument.body":                      {400, "kInvalidArgument", "The body is not valid."},
	"invalidArgument.option":                    {400, "kInvalidArgument", "The options are not valid."},
	"accessDenied.delegation":                   {403, "kAccessDenied", "It would exceed what its maker may do."},
	"conflict.unspecified":                      {409, "kConflict", "It conflicts with what is there."},
	"invalidArgument.idempotencyHeader":         {400, "kInvalidArgument", "Idempotency-Key is missing or malformed."},
	"invalidArgument.idempotencyKey":            {422, "kInvalidArgument", "Idempotency-Key was used for another request."},
	"invalidArgument.idempotencyPending":        {409, "kInvalidArgument", "A request with this Idempotency-Key is being executed."},
	"accessDenied.idempotencyAuthority":         {409, "kAccessDenied", "The first request with this Idempotency-Key had another authority."},
	"conflict.idempotencyReply":                 {409, "kConflict", "A request with this Idempotency-Key was received before, and its response is not shown."},
	"unsupportedMediaType.unspecified":          {415, "kInvalidArgument", "The body must be JSON."},
	"tooLarge.unspecified":                      {413, "kRequestTooLarge", "The body is too large."},
	"throttled.unspecified":                     {429, "kThrottled", "Too many requests."},
	"tooBusy.storeFull":                         {503, "kTooBusy", "Too busy."},
	"error.storeUnavailable":                    {503, "kError", "Temporarily unavailable."},
	Internal:                                    {500, "kError", "Internal error."},
}

// Of returns the fault of a detail. A detail without a row has that of Internal.
func Of(detail string) *envelope.Fault {
	row, ok := table[detail]
	if !ok {
		detail, row = Internal, table[Internal]
	}
	return &envelope.Fault{Detail: detail, Code: row.code, Status: row.status, Message: row.message}
}

// Details returns the detail of each row, sorted.
func Details() []string { return slices.Sorted(maps.Keys(table)) }

// Wrap returns an error that auth.Fail answers with the fault of a detail. It is for packages that do
// not import auth.
func Wrap(err error, detail string) error { return &withFault{err, detail} }

type withFault struct {
	error
	detail string
}

func (e *withFault) Unwrap() error { return e.error }

func (e *withFault) Fault() *envelope.Fault { return Of(e.detail) }
