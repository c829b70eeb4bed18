package signing

import (
	"errors"
	"net/http"
)

// denial is how an error is answered: with as much of what went wrong as a stranger
// may know.
type denial struct {
	err           error
	status        int
	header, value string // one more header of the reply
}

// denials is in order of precedence: the first row that matches decides.
var denials = []denial{
	{ErrPath, http.StatusBadRequest, "", ""},
	{ErrMethod, http.StatusMethodNotAllowed, "Allow", "GET, HEAD, POST, PUT, PATCH, DELETE"},
	{ErrMalformed, http.StatusBadRequest, "", ""},
	{ErrNoSignature, http.StatusUnauthorized, "WWW-Authenticate", challengeScheme},
	{ErrMismatch, http.StatusUnauthorized, "WWW-Authenticate", challengeScheme},
	{ErrStale, http.StatusUnauthorized, "WWW-Authenticate", challenge(refusedStale)},
	{ErrReplayed, http.StatusUnauthorized, "WWW-Authenticate", challenge(refusedReplayed)},
}

// Whatever is not in the table leaves the outcome open, so nothing is admitted.
var unavailable = denial{nil, http.StatusServiceUnavailable, "Retry-After", "1"}

func denialOf(err error) denial {
	for _, r := range denials {
		if errors.Is(err, r.err) {
			return r
		}
	}
	return unavailable
}

// deny answers with the headers and the status of an error. The body is that of
// Deny.
func (v *Verifier) deny(w http.ResponseWriter, r *http.Request, err error) {
	answer := denialOf(err)
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if answer.header != "" {
		h.Set(answer.header, answer.value)
	}
	if v.Deny == nil {
		http.Error(w, http.StatusText(answer.status), answer.status)
		return
	}
	denied := &deniedWriter{ResponseWriter: w, status: answer.status}
	v.Deny(denied, r, err)
	denied.WriteHeader(answer.status)
}

// deniedWriter holds the status of a refusal: a Deny that sets another one, or
// none, must not turn it into a success.
type deniedWriter struct {
	http.ResponseWriter
	status int
	begun  bool
}

func (w *deniedWriter) WriteHeader(int) {
	if !w.begun {
		w.begun = true
		w.ResponseWriter.WriteHeader(w.status)
	}
}

func (w *deniedWriter) Write(body []byte) (int, error) {
	w.WriteHeader(w.status)
	return w.ResponseWriter.Write(body)
}
