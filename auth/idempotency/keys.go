package idempotency

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/internal/verbs"
	"github.com/tenantkit/tenantkit/scope"
)

const (
	header  = "Idempotency-Key"
	maxKey  = 255     // characters
	maxBody = 1 << 20 // bytes of a request with a key: all are read before the handler runs
)

// Options configure Keys. The zero Options suit the Store of sqlstore.
type Options struct {
	// Sealer encrypts what is kept. Open returns an error for what was sealed with other bound bytes, or
	// altered. Both are safe for concurrent use. nil: the Store itself, if it has these methods, as that of
	// sqlstore does. Beside another Store it is required.
	Sealer interface {
		Seal(secret, bound []byte) []byte
		Open(sealed, bound []byte) (secret []byte, err error)
	}

	Keep     time.Duration // how long a key is known, from its first request on; 0: 24 hours
	Lease    time.Duration // how long a handler may take, see the package comment; 0: a minute
	MaxReply int           // bytes of body of a response that is kept; 0: 64 KiB

	// MaxBytes limits the entries of a caller of an org: beyond it new keys get 429 until entries expire.
	// An entry counts what is sealed of it and 1 KiB, so this limits their number, too. Requests that
	// begin at the same time may exceed it. 0: 16 MiB, which are at most 16,384 entries.
	MaxBytes int64
}

// Keys wraps handlers. It is safe for concurrent use.
type Keys struct {
	store   Store
	options Options
}

// New returns Keys with the defaults of its options filled in. It panics without a Store or a Sealer,
// and if the Lease is not shorter than Keep.
func New(s Store, o Options) *Keys {
	o.Keep, o.Lease = cmp.Or(o.Keep, 24*time.Hour), cmp.Or(o.Lease, time.Minute)
	o.MaxReply, o.MaxBytes = cmp.Or(o.MaxReply, 64<<10), cmp.Or(o.MaxBytes, 16<<20)
	if o.Sealer == nil {
		o.Sealer, _ = s.(interface {
			Seal(secret, bound []byte) []byte
			Open(sealed, bound []byte) (secret []byte, err error)
		})
	}
	if s == nil || o.Sealer == nil || o.Lease < time.Millisecond || o.Keep <= o.Lease || o.MaxReply < 0 || o.MaxBytes < 0 {
		panic("idempotency: New needs a Store, a Sealer, and a Lease shorter than Keep")
	}
	return &Keys{s, o}
}

// route is how Keys treats the requests of one handler.
type route struct{ required, reference bool }

// Reference is for handlers whose success shows a secret: pass it to Wrap or Required. Of a response
// below status 400 only a reference is kept: see the package comment.
func Reference(r *route) { r.reference = true }

// Wrap returns a handler that executes requests with the same Idempotency-Key once. It costs a request
// without that header nothing. Of an auth.PartHandler it returns one.
//
// A body of more than 1 MiB is refused with 413. A key that is malformed or given twice is refused with
// 400, one of another request with 422, one whose request is not complete with 409 and Retry-After, one
// whose response is not for this request or not kept with 409, and one too many with 429. None of these
// leaves an entry. If the store does not answer, the handler does not run: 503.
func (k *Keys) Wrap(h http.Handler, options ...func(*route)) http.Handler {
	var to route
	for _, set := range options {
		set(&to)
	}
	part, ok := h.(auth.PartHandler)
	if !ok {
		part = func(w http.ResponseWriter, r *http.Request, _ scope.Part) { h.ServeHTTP(w, r) }
	}
	once := auth.PartHandler(func(w http.ResponseWriter, r *http.Request, p scope.Part) {
		if k.ignores(r, to) {
			part(w, r, p)
			return
		}
		k.serve(w, r, to, func(w http.ResponseWriter, r *http.Request) { part(w, r, p) })
	})
	if ok {
		return once
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { once(w, r, scope.Part{}) })
}

// Required is Wrap, and refuses a request without a key with 400, and one without a principal with 401.
func (k *Keys) Required(h http.Handler, options ...func(*route)) http.Handler {
	return k.Wrap(h, append(options[:len(options):len(options)], func(r *route) { r.required = true })...)
}

// ignores reports whether the request goes to its handler as if there were no keys.
func (k *Keys) ignores(r *http.Request, to route) bool {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	// Without a caller an entry would be anybody's who guesses its key.
	return reads || !to.required && (len(r.Header[header]) == 0 || auth.From(r.Context()).Account == "")
}

func (k *Keys) serve(w http.ResponseWriter, r *http.Request, to route, next http.HandlerFunc) {
	a, again, err := k.begin(w, r, to)
	switch {
	case err != nil:
		auth.Fail(w, r, err)
		return
	case again != nil:
		auth.Emit(r.Context(), auth.Event{Verb: verbs.RepeatAnswered, Account: auth.From(r.Context()).Account})
		again.serve(w, r)
		return
	}
	// What the handler does after its lease could be done twice. A client that goes away does not stop it: its
	// repetition would get the response of a handler that was interrupted.
	ctx, cancel := context.WithDeadline(context.WithValue(context.WithoutCancel(r.Context()), attemptKey{}, a), a.ends)
	defer cancel()
	defer a.end(r.Context())
	r = r.WithContext(ctx) // the caller's request stays as it is
	r.Body = io.NopCloser(bytes.NewReader(a.request))
	next(a, r)
	a.returned = true
}

// begin gets the lease of a request, or what an earlier request of its identity has left.
func (k *Keys) begin(w http.ResponseWriter, r *http.Request, to route) (*attempt, *reply, error) {
	p, tenant, values := auth.From(r.Context()), auth.TenantFrom(r.Context()), r.Header[header]
	switch {
	case tenant == nil:
		return nil, nil, errors.New("idempotency: the handler is not below a Guard")
	case p.Account == "":
		return nil, nil, &auth.Error{Detail: auth.DetailNoCredentials}
	case len(values) != 1 || !ascii.Visible.Holds(values[0], 1, maxKey):
		return nil, nil, &auth.Error{Detail: auth.DetailIdempotencyHeader, Reason: "one header of 1 to 255 visible ASCII characters is required"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, nil, &auth.Error{Detail: auth.DetailBody, Err: err} // Fail tells one that is too large
	}
	a := &attempt{ResponseWriter: w, keys: k, route: to, request: body, print: printOf(r, body, tenant, p),
		entry: Entry{ID: identity(p, r.Pattern, values[0]), Org: p.Org, Caller: callerOf(p), Fence: rand.Text()}}
	e := a.entry
	e.Sealed = k.seal(&e, record{prints: a.print})
	a.ends = time.Now().Add(k.options.Lease) // not before the body has come, which may take long
	ctx, cancel := tenant.Bound(r.Context())
	defer cancel()
	held, err := k.store.Begin(ctx, e, k.options)
	switch {
	case err != nil:
		return nil, nil, err
	case held.ID != e.ID:
		return nil, nil, &auth.Error{Detail: auth.DetailThrottled, Reason: "too many idempotency keys", RetryAfter: time.Minute}
	case held.Fence == e.Fence && bytes.Equal(held.Sealed, e.Sealed):
		return a, nil, nil
	}
	// If this is another request than that of an attempt whose lease has ended, it lets the new lease end:
	// the first one may still be repeated.
	again, err := k.match(&held, a.print)
	if err == nil && again == nil && held.Fence != e.Fence {
		err = errBusy(nil)
	}
	return a, again, err
}

// match opens what an earlier request has left: its response if it is complete. It returns an error if
// that is not for this request.
func (k *Keys) match(held *Entry, print prints) (*reply, error) {
	earlier, err := k.open(held)
	switch {
	case err != nil || (earlier.Reply == nil) != (held.Fence != ""):
		// It was sealed with a key that is gone, for another row, or it was altered.
		return nil, &auth.Error{Detail: auth.DetailIdempotencyReply, Reason: "it cannot be opened", Err: err}
	case !bytes.Equal(earlier.Request, print.Request):
		return nil, &auth.Error{Detail: auth.DetailIdempotencyKey}
	case !bytes.Equal(earlier.Authority, print.Authority):
		return nil, &auth.Error{Detail: auth.DetailIdempotencyAuthority, Reason: "the account, scope, roles or access differ from those of the first request"}
	}
	return earlier.Reply, nil
}

// errBusy is for a request that another attempt executes.
func errBusy(cause error) error {
	return &auth.Error{Detail: auth.DetailIdempotencyPending, RetryAfter: time.Second, Err: cause}
}

// prints are digests of what must be equal for a response to be sent again. They are only kept sealed:
// whoever could read them could try out the secrets that a body may hold.
type prints struct{ Request, Authority []byte }

// digest hashes lists of strings. Quotes keep other lists from giving the same bytes.
func digest(lists ...[]string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q", lists))
}

// callerOf returns the account that called, whatever account it acts as.
func callerOf(p auth.Principal) string { return cmp.Or(p.Caller, p.Account) }

// identity returns the ID of an entry.
func identity(p auth.Principal, pattern, key string) [sha256.Size]byte {
	return digest([]string{"identity", string(p.Org), callerOf(p), p.App, pattern, key})
}

func printOf(r *http.Request, body []byte, t *auth.Tenant, p auth.Principal) prints {
	query := r.URL.RawQuery
	if values, err := url.ParseQuery(query); err == nil {
		query = values.Encode() // in the order of its names
	}
	sum := sha256.Sum256(body)
	request := digest([]string{r.Method, t.Path(), query, string(sum[:])}, r.Header["Content-Type"])
	// By this a principal may see a response.
	authority := digest([]string{p.Account, fmt.Sprintf("%d %t %t", p.Grant, p.SkipACL, p.SkipCreateACL)},
		slices.Compact(slices.Sorted(slices.Values(p.Roles))), chainsOf(p.Scope), chainsOf(p.Granted))
	return prints{request[:], authority[:]}
}

// chainsOf returns what s permits, each chain once, in order. Chains yields nothing of an intersection that is too large, of which
// Missing still knows something: it equals no other.
func chainsOf(s scope.Set) (all []string) {
	for chain := range s.Chains() {
		all = append(all, chain)
	}
	if none := (scope.Set{}); all == nil && none.Missing(s) != nil {
		all = []string{rand.Text()}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
