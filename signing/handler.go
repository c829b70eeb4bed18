package signing

import (
	"context"
	"errors"
	"net/http"
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
// the reply is a 503 with Retry-After. Handler knows no orgs and no accounts: a request
// with an account header reaches next with it.
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

// deny answers a request that Verify has rejected. It tells a stranger no more than the stranger
// may know.
func (v *Verifier) deny(w http.ResponseWriter, r *http.Request, err error) {
	if v.Denied != nil {
		v.Denied(r, err)
	}
	h, status := w.Header(), statusOf(err)
	switch status {
	case http.StatusUnauthorized:
		p := v.Policy
		if v.BaseURL == "" {
			p.Version = 1
		}
		h.Set("WWW-Authenticate", p.Challenge(err))
	case http.StatusMethodNotAllowed:
		h.Set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE")
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	}
	h.Set("Cache-Control", "no-store")
	http.Error(w, http.StatusText(status), status)
}

func statusOf(err error) int {
	switch is := func(target error) bool { return errors.Is(err, target) }; {
	case is(ErrBodyTooLarge):
		return http.StatusRequestEntityTooLarge
	case is(ErrDigest), is(ErrPath), is(ErrMalformed):
		return http.StatusBadRequest
	case is(ErrMethod):
		return http.StatusMethodNotAllowed
	case is(ErrNoSignature), is(ErrMismatch), is(ErrStale), is(ErrReplayed), is(ErrVersion):
		return http.StatusUnauthorized
	}
	return http.StatusServiceUnavailable // the outcome is open, so nothing is admitted
}
