package signing

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/tenantkit/tenantkit/internal/clock"
)

// storeTimeout bounds the key look-up and the claim of a request in Handler.
const storeTimeout = 500 * time.Millisecond

// Handler returns a handler that serves next with the requests that Verify accepts.
// The command is the whole path; behind http.StripPrefix it is the remaining path, and
// BaseURL then ends with the prefix. In next, the client key header is the verified
// one.
//
// Every reply carries the server's time. A refusal that the client can correct is a
// 400, 401, 405 or 413. If a store is full, fails, or does not answer within 500 ms,
// the reply is a 503 with Retry-After. Deny writes the body of a refusal. Handler
// knows no orgs and no accounts: a request with an account header reaches next with
// it.
func (v *Verifier) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		names := headersFor(v.Header)
		now := clock.Now(v.Now).UnixMilli()
		w.Header().Set(names.ServerTime, strconv.FormatInt(now, 10))
		key, err := v.verifyAlone(r)
		if err != nil {
			v.deny(w, r, err)
			return
		}
		if r.Header[names.ClientKey] == nil { // version 2 has it elsewhere
			r = r.Clone(r.Context())
			r.Header.Set(names.ClientKey, key.ClientKey())
		}
		next.ServeHTTP(w, r)
	})
}

// verifyAlone is Verify with a limit for the stores that leaves out the time in which the
// body arrives.
func (v *Verifier) verifyAlone(r *http.Request) (*Key, error) {
	command, err := Command(r, "")
	if err != nil {
		return nil, err
	}
	bound := func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(r.Context(), storeTimeout)
	}
	ctx, cancel := bound()
	defer cancel()
	alone := *v
	alone.AfterBody = bound
	return alone.Verify(ctx, r, command)
}

// denial is the reply to an error. It tells a stranger no more than the stranger may
// know.
type denial struct {
	err           error
	status        int
	header, value string // one more header of the reply
}

// denials is in order of precedence: the first row that matches decides. A 401 gets a
// challenge too.
var denials = []denial{
	{ErrBodyTooLarge, http.StatusRequestEntityTooLarge, "", ""},
	{ErrDigest, http.StatusBadRequest, "", ""},
	{ErrPath, http.StatusBadRequest, "", ""},
	{ErrMethod, http.StatusMethodNotAllowed, "Allow", "GET, HEAD, POST, PUT, PATCH, DELETE"},
	{ErrMalformed, http.StatusBadRequest, "", ""},
	{ErrNoSignature, http.StatusUnauthorized, "", ""},
	{ErrMismatch, http.StatusUnauthorized, "", ""},
	{ErrStale, http.StatusUnauthorized, "", ""},
	{ErrReplayed, http.StatusUnauthorized, "", ""},
	{ErrVersion, http.StatusUnauthorized, "", ""},
}

// unavailable answers all errors that are not in the table. Their outcome is open, so
// nothing is admitted.
var unavailable = denial{nil, http.StatusServiceUnavailable, "Retry-After", "1"}

func (v *Verifier) denialOf(err error) denial {
	i := slices.IndexFunc(denials, func(d denial) bool { return errors.Is(err, d.err) })
	if i < 0 {
		return unavailable
	}
	answer := denials[i]
	if answer.status == http.StatusUnauthorized {
		p := v.Policy
		if v.BaseURL == "" {
			p.Version = 1
		}
		answer.header, answer.value = "WWW-Authenticate", p.Challenge(err)
	}
	return answer
}

// deny writes the headers and the status of an error. Deny writes the body.
func (v *Verifier) deny(w http.ResponseWriter, r *http.Request, err error) {
	answer := v.denialOf(err)
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

// deniedWriter holds the status of a refusal. A Deny that sets another status, or
// none, must not turn the refusal into a success.
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
