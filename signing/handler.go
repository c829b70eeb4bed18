package signing

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// storeTimeout bounds the look-up of the key and the claim of Handler.
const storeTimeout = 500 * time.Millisecond

// Handler serves next with the requests that Verify accepts, the whole path being
// the command; behind http.StripPrefix it is the rest. Afterwards the client key
// header names the verified key.
//
// Every reply carries the server's time. A refusal is a 400, 401 or 405 for what the
// client can mend, and a 503 with Retry-After when a store is full, fails, or does not
// answer within 500 ms; Deny writes its body. Handler knows no orgs and no accounts; a
// request with an account header is passed on with it.
func (v *Verifier) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := v.Policy.now().UnixMilli()
		w.Header().Set(headersFor(v.Policy.Header).ServerTime, strconv.FormatInt(now, 10))
		if err := v.check(r); err != nil {
			v.deny(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (v *Verifier) check(r *http.Request) error {
	command, err := Command(r, "")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), storeTimeout)
	defer cancel()
	_, err = v.Verify(ctx, r, command)
	return err
}
