package auth

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tenantkit/tenantkit/envelope"
)

// Reply answers 200 with v as JSON: an envelope.List, an envelope.Result or an object.
// Handlers call it unless they Fail. Caches do not store the reply.
//
// v is encoded before anything is sent. A value that JSON cannot hold, such as a function
// or a NaN, is answered with a 500 fault, and Observe gets the reason.
//
// The handler must not have written anything before.
func Reply(w http.ResponseWriter, r *http.Request, v any) {
	body, err := envelope.Encode(v)
	if err != nil {
		// Do not pass err itself: one that wraps ErrNotFound would be answered with 404.
		Fail(w, r, &Error{Detail: DetailInternal, Err: fmt.Errorf("auth: the reply cannot be encoded: %w", err)})
		return
	}
	w.Header().Set("Content-Type", jsonType)
	setNoStore(w.Header())
	w.Write(body) // a failed write is the client's loss
}

const jsonType = "application/json; charset=utf-8"

// setNoStore forbids to cache a reply and to guess its type.
func setNoStore(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

// Fail answers a request with the fault of an error. Handlers call it. It recognizes
// *Error, the sentinels of this package, *http.MaxBytesError, and any error with a method
// Fault() *envelope.Fault. Any other error is a 500 whose cause stays on the server. Inside
// a Guard it uses the Guard's Brand and Observe.
//
// The handler must not have written anything before.
func Fail(w http.ResponseWriter, r *http.Request, err error) {
	if c, ok := r.Context().Value(callKey{}).(*call); ok {
		c.answer(w, r, err, decision{handler: c.isAdmitted()})
		return
	}
	deny(w, r, &noGuard, toError(err))
}

// noGuard denies requests outside a Guard.
var noGuard = Guard{Brand: Brand{}.withDefaults()}

// FailAs is Fail for a protocol with errors of its own form, such as OAuth. It informs the
// Guard's observer, forbids to cache the reply and sets Retry-After. Then write must write
// the status and the body, with a challenge if it needs one.
func FailAs(w http.ResponseWriter, r *http.Request, err error, write func(*Error)) {
	e := toError(err)
	if c, ok := r.Context().Value(callKey{}).(*call); ok {
		c.observe(r, e, decision{handler: c.isAdmitted()})
	}
	setRefused(w.Header(), e)
	write(e)
}

// Fail does the same as the function Fail for handlers outside the Guard's mount, and uses
// the Guard's Brand. Such a handler is a middleware that recovers from panics, or a page
// beside the orgs.
func (g *Guard) Fail(w http.ResponseWriter, r *http.Request, err error) {
	g.mustBeValid()
	if callOf(r.Context(), g) != nil {
		Fail(w, r, err)
		return
	}
	deny(w, r, g, toError(err))
}

// resourcePolicy is a header that keeps pages of other origins from embedding a reply, as
// an image or a script. They could embed it even if they cannot read it.
const resourcePolicy = "Cross-Origin-Resource-Policy"

// deny writes a refusal.
func deny(w http.ResponseWriter, r *http.Request, g *Guard, e *Error) {
	f := e.Fault()
	h := w.Header()
	setRefused(h, e)
	if e.Cookie != nil {
		http.SetCookie(w, e.Cookie)
	}
	page, kind, body := "", jsonType, f.Encode(g.Brand.Faults)
	if g.ErrorPage != "" {
		page = g.ErrorPage + "#" + url.PathEscape(f.Detail)
		h.Add("Link", "<"+page+`>; rel="help"`)
	}
	if prefersProblem(r) {
		kind, body = problemType, asProblem(f, body, page, g.requestID(r))
	}
	h.Set("Content-Type", kind)
	w.WriteHeader(f.Status)
	w.Write(body) // a failed write is the client's loss
}

// setRefused sets the headers that every refusal has.
func setRefused(h http.Header, e *Error) {
	setNoStore(h)
	if h.Get(resourcePolicy) == "" { // keep what a handler outside has set for its replies
		h.Set(resourcePolicy, "same-origin")
	}
	if status := e.Fault().Status; e.RetryAfter > 0 || status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		seconds := int64((e.RetryAfter + time.Second - 1) / time.Second) // rounded up: an early retry is refused again
		h.Set("Retry-After", strconv.FormatInt(max(1, seconds), 10))
	}
}
