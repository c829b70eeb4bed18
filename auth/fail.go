package auth

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/tenantkit/tenantkit/envelope"
)

// Reply answers 200 with v as JSON: an envelope.List, an envelope.Result or an
// object. It is what handlers call unless they Fail. Caches do not keep the reply.
//
// v is encoded before anything is sent. What JSON cannot hold, a function or a NaN
// say, is a 500 fault, and Observe is told why.
//
// The handler must not have written anything yet.
func Reply(w http.ResponseWriter, r *http.Request, v any) {
	body, err := envelope.Encode(v)
	if err != nil {
		// Not the error as it is: one that wraps ErrNotFound would answer 404.
		Fail(w, r, &Error{Detail: DetailInternal, Err: fmt.Errorf("auth: the reply cannot be encoded: %w", err)})
		return
	}
	w.Header().Set("Content-Type", jsonType)
	keepOut(w.Header())
	w.Write(body) // a failed write is the client's loss
}

const jsonType = "application/json; charset=utf-8"

// keepOut keeps a reply out of caches, and its type from being guessed.
func keepOut(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

// Fail answers a request with the fault of an error: what handlers call. It
// recognises *Error, the sentinels of this package, *http.MaxBytesError, and
// anything with a method Fault() *envelope.Fault; whatever else it is given is
// a 500 whose cause stays on the server. Inside a Guard it follows the Guard's
// Brand, Deny and Observe.
//
// The handler must not have written anything yet.
func Fail(w http.ResponseWriter, r *http.Request, err error) {
	if c, ok := r.Context().Value(callKey{}).(*call); ok {
		c.refuse(w, r, err)
		return
	}
	deny(w, r, nil, toError(err))
}

// Fail is the function of that name for what stands outside the Guard's mount
// and shall answer under its Brand: a middleware that recovers from panics, a
// page beside the orgs.
func (g *Guard) Fail(w http.ResponseWriter, r *http.Request, err error) {
	g.mustBeValid()
	if callOf(r.Context(), g) != nil {
		Fail(w, r, err)
		return
	}
	deny(w, r, g, toError(err))
}

// resourcePolicy keeps pages of other origins from embedding a reply, as an image
// or a script, also where they may not read it.
const resourcePolicy = "Cross-Origin-Resource-Policy"

// deny writes a refusal. The Guard is nil outside one.
func deny(w http.ResponseWriter, r *http.Request, g *Guard, e *Error) {
	f := e.Fault()
	h := w.Header()
	keepOut(h)
	if h.Get(resourcePolicy) == "" { // what stands outside may have let others in
		h.Set(resourcePolicy, "same-origin")
	}
	if f.Status == http.StatusTooManyRequests || f.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", strconv.FormatInt(retryAfter(e.RetryAfter), 10))
	}
	if e.Cookie != nil {
		http.SetCookie(w, e.Cookie)
	}
	brand := Brand{}.withDefaults()
	if g != nil {
		brand = g.Brand
	}
	if g != nil && g.Deny != nil {
		g.Deny(w, r, e)
		return
	}
	h.Set("Content-Type", jsonType)
	w.WriteHeader(f.Status)
	w.Write(f.Encode(brand.Faults)) // a failed write is the client's loss
}

// retryAfter is in whole seconds, rounded up, since early is refused again.
func retryAfter(d time.Duration) int64 {
	return max(1, int64((d+time.Second-1)/time.Second))
}
