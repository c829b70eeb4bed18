package oauth

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
)

// The error codes of RFC 6749 (section 5.2), RFC 7009 (section 2.2.1) and RFC 8707 (section 2).
// The last two are those of the authorization endpoint (RFC 6749, section 4.1.2.1), because the
// others have none for a server that cannot answer.
const (
	codeRequest      = "invalid_request"
	codeClient       = "invalid_client"
	codeUnauthorized = "unauthorized_client"
	codeGrant        = "unsupported_grant_type"
	codeInvalidGrant = "invalid_grant"
	codeScope        = "invalid_scope"
	codeTarget       = "invalid_target"
	codeTokenType    = "unsupported_token_type"
	codeUnavailable  = "temporarily_unavailable"
	codeServer       = "server_error"
)

// refusal is what an OAuth client learns. It is the cause of the *auth.Error that observers get.
type refusal struct {
	code, description string
	cause             error
}

func (e *refusal) Error() string {
	text := "oauth: " + e.code + ": " + e.description
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

func (e *refusal) Unwrap() error { return e.cause }

func refuse(detail, code, description string, cause error) error {
	return &auth.Error{Detail: detail, Err: &refusal{code, description, cause}}
}

func invalidRequest(description string) error {
	return refuse(auth.DetailBody, codeRequest, description, nil)
}

// fail writes an error (RFC 6749, section 5.2).
func fail(w http.ResponseWriter, r *http.Request, err error) {
	auth.FailAs(w, r, err, func(e *auth.Error) {
		known := knownOf(e)
		tried, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if known.code == codeClient && strings.EqualFold(tried, "Basic") {
			w.Header().Set("WWW-Authenticate", `Basic realm="`+auth.TenantFrom(r.Context()).URL()+`"`)
		}
		body, _ := json.Marshal(refusalBody{known.code, known.description}) // strings always marshal
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(status(e, known.code))
		w.Write(body) // a failed write is the client's loss
	})
}

// knownOf returns what the client learns of an error. It learns nothing of other errors but their
// kind.
func knownOf(e *auth.Error) *refusal {
	if known, ok := errors.AsType[*refusal](e); ok && !errors.Is(e, auth.ErrUnavailable) {
		return known
	}
	switch f := e.Fault(); {
	case f.Status == http.StatusUnauthorized:
		return &refusal{code: codeClient, description: "client authentication failed"}
	case f.Status == http.StatusServiceUnavailable, f.Status == http.StatusTooManyRequests:
		return &refusal{code: codeUnavailable, description: strings.TrimSuffix(f.Message, ".")}
	case f.Status < 500: // of Server.Permit
		return &refusal{code: codeUnauthorized, description: "the client is not permitted to"}
	}
	return &refusal{code: codeServer, description: "internal error"}
}

// status returns 400 unless RFC 6749 or HTTP has a status of its own.
func status(e *auth.Error, code string) int {
	switch status := e.Fault().Status; {
	case code == codeServer: // also if an error of the application has another status
		return http.StatusInternalServerError
	case code == codeClient:
		return http.StatusUnauthorized
	case status == http.StatusRequestEntityTooLarge, code == codeUnavailable:
		return status
	}
	return http.StatusBadRequest
}
