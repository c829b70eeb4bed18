package signing

import (
	"encoding/json"
	"errors"
	"net/http"
)

// fault is how an error is answered: as much of what went wrong as a stranger may
// know. The cause stays on the server.
type fault struct {
	err           error
	status        int
	detail, code  string
	message       string
	header, value string // one more header of the reply
}

// faults is in order of precedence: the first row that matches decides.
var faults = []fault{
	{ErrPath, 400, "invalidArgument.path", "kInvalidArgument",
		"The path is not clean.", "", ""},
	{ErrMethod, 405, "invalidArgument.method", "kInvalidArgument",
		"The method must be in upper case.", "Allow", "GET, HEAD, POST, PUT, PATCH, DELETE"},
	{ErrAmbiguous, 400, "invalidArgument.ambiguousCredentials", "kInvalidArgument",
		"The credentials are ambiguous.", "", ""},
	{ErrMalformed, 400, "invalidArgument.malformedRequestSignature", "kInvalidRequestSignature",
		"The signature headers are malformed or incomplete.", "", ""},
	{ErrNoSignature, 401, "accessDenied.noCredentialsSupplied", "kNoCredentialsSupplied",
		"No credentials were supplied.", "WWW-Authenticate", challengeScheme},
	{ErrMismatch, 401, "accessDenied.invalidRequestSignature", "kInvalidRequestSignature",
		"The request signature is invalid.", "WWW-Authenticate", challengeScheme},
	{ErrStale, 401, "invalidArgument.staleRequestSignature", "kStaleRequestSignature",
		"The request signature is stale.", "WWW-Authenticate", challenge(refusedStale)},
	{ErrReplayed, 401, "accessDenied.replayedRequest", "kInvalidRequestSignature",
		"The request was accepted before.", "WWW-Authenticate", challenge(refusedReplayed)},
	{ErrFull, 503, "tooBusy.storeFull", "kTooBusy",
		"The service is too busy.", "Retry-After", "1"},
}

// Whatever is not in the table leaves the outcome open, so nothing is admitted.
var unavailable = fault{nil, 503, "error.storeUnavailable", "kError",
	"The service is unavailable.", "Retry-After", "1"}

func faultOf(err error) fault {
	for _, f := range faults {
		if errors.Is(err, f.err) {
			return f
		}
	}
	return unavailable
}

func (f fault) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if f.header != "" {
		h.Set(f.header, f.value)
	}
	w.WriteHeader(f.status)
	// A client that has gone away needs no answer.
	_ = json.NewEncoder(w).Encode(struct {
		Object  string     `json:"object"`
		Name    string     `json:"name"`
		Code    string     `json:"code"`
		ErrCode string     `json:"errCode"`
		Status  int        `json:"status"`
		Message string     `json:"message"`
		Faults  []struct{} `json:"faults"`
	}{"fault", "error", f.code, "service." + f.detail, f.status, f.message, []struct{}{}})
}
