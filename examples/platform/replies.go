package main

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/idempotency"
	"github.com/tenantkit/tenantkit/auth/openapi"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/mempage"
	"github.com/tenantkit/tenantkit/token"
)

// replyAs makes a handler of a function that returns a value or an error, and may set headers. The
// handler sends the value, or the fault of the error. It begins its reply only when the
// function has returned, so it cannot fail halfway.
func replyAs[T any](answer func(http.ResponseWriter, *http.Request) (T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// A database without an answer must not hold connections as long as clients
		// wait. Otherwise no other request would get one.
		ctx, cancel := context.WithTimeout(r.Context(), answerTime)
		defer cancel()
		ctx, end := holding(ctx)
		defer end()
		value, err := answer(w, r.WithContext(ctx))
		if err != nil {
			fail(w, r, err)
			return
		}
		auth.Reply(w, r, value)
	}
}

// fail answers with the fault of an error. If nothing was written before such a fault, the client may correct
// the request and keep its Idempotency-Key.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	sent := &statusWriter{ResponseWriter: w}
	auth.Fail(sent, r, err)
	if slices.Contains(refusals, sent.status) {
		idempotency.NoEffect(r.Context())
	}
}

// refusals are the statuses of faults before which nothing was written.
var refusals = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge,
	http.StatusUnsupportedMediaType, http.StatusTooManyRequests,
}

func result[T any](data T, err error) (envelope.Result[T], error) {
	return envelope.Result[T]{Data: data}, err
}

// done is the answer of a route that has nothing else to say: true.
func done(err error) (envelope.Result[bool], error) { return result(err == nil, err) }

func reply[T any](answer func(*http.Request) (T, error)) http.HandlerFunc {
	return replyAs(func(_ http.ResponseWriter, r *http.Request) (T, error) { return answer(r) })
}

// as converts a record by show, unless there is an error.
func as[R, T any](show func(R) T) func(R, error) (T, error) {
	return func(record R, err error) (shown T, _ error) {
		if err == nil {
			shown = show(record)
		}
		return shown, err
	}
}

func each[R, T any](records []R, show func(R) T) (all []T) {
	for _, record := range records {
		all = append(all, show(record))
	}
	return all
}

// pageOf is ownPage of records that it converts by show, unless there is an error.
func pageOf[R any, T interface{ ItemID() string }](r *http.Request, object string, show func(R) T) func([]R, error) (envelope.List[T], error) {
	return func(records []R, err error) (none envelope.List[T], _ error) {
		if err != nil {
			return none, err
		}
		return ownPage(r, object, each(records, show))
	}
}

// ownPage answers a list call on the platform's own records. It sends whole
// records, whatever paths[] says, and can filter and sort by _id and object.
func ownPage[T interface{ ItemID() string }](r *http.Request, object string, records []T) (envelope.List[T], error) {
	q, err := (&paging.Schema{Object: object}).Parse(r.URL.RawQuery, nil)
	if err != nil {
		return envelope.List[T]{}, err
	}
	data, more := mempage.Page(records, q, func(record T, path string) (any, bool) {
		return itemProperty(envelope.Item{ID: record.ItemID(), Object: object}, path)
	})
	return envelope.List[T]{Data: data, HasMore: more}, nil
}

func itemProperty(i envelope.Item, path string) (value any, ok bool) {
	if path == "_id" {
		return i.ID, true
	}
	return i.Object, path == "object"
}

// pageFrom answers a list call on what find collects of a store that has another order.
func pageFrom[T any](r *http.Request, s *store, of *paging.Schema, property func(T, string) (any, bool),
	find func(paging.Query, *collected[T]) error) (page envelope.List[T], err error) {
	if err := s.queries.hold(r.Context()); err != nil {
		return page, err
	}
	q, err := of.Parse(r.URL.RawQuery, anyProperty)
	if err != nil {
		return page, err
	}
	kept := &collected[T]{first: q, property: property}
	kept.first.Skip, kept.first.Limit = 0, q.Skip+q.Limit+1
	if err := find(q, kept); err != nil {
		return page, err
	}
	page.Data, page.HasMore = mempage.Page(kept.items, q, property)
	page.HasMore = page.HasMore || kept.cut && len(page.Data) > 0
	return page, nil
}

func anyProperty(string) bool { return true }

// collected is what a page may have of a store. It keeps few more than the items of the page, however many
// the store has.
type collected[T any] struct {
	first    paging.Query // of the page, what it skips, and the item after it
	property func(T, string) (any, bool)
	items    []T
	cut      bool // there are so many bytes that it keeps fewer: those after them are unknown
}

// room is how many items may await their turn to be sorted among the first.
const room = 8 * token.MaxPage

func (c *collected[T]) add(items ...T) {
	if c.items = append(c.items, items...); len(c.items) >= c.first.Limit+room {
		c.full()
	}
}

// full drops what is not among the first, and reports whether all of them are there.
func (c *collected[T]) full() bool {
	var more bool
	if c.items, more = mempage.Page(c.items, c.first, c.property); more && len(c.items) < c.first.Limit {
		c.cut, c.first.Limit = true, len(c.items)
	}
	return len(c.items) == c.first.Limit
}

// date formats a time as the platform's objects do. The zero time is "".
func date(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(dateLayout)
}

// orNull returns nil for "", which is null in JSON.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// shownOnce is a secret, in the only reply that shows it.
type shownOnce string

// invalid collects everything that is wrong with a body, so that a client can
// correct it all at once.
type invalid struct {
	detail string // auth.DetailBody or auth.DetailOption
	faults []*auth.Error
}

// maxFaults limits how many faults one reply lists.
const maxFaults = 32

func (e *invalid) add(path, reason string) {
	if len(e.faults) < maxFaults {
		e.faults = append(e.faults, &auth.Error{Detail: e.detail, Path: path, Reason: reason})
	}
}

func (e *invalid) orNil() error {
	if len(e.faults) == 0 {
		return nil
	}
	return &auth.Error{Detail: e.detail, Faults: e.faults}
}

func wrongBody(path, reason string) error {
	return &auth.Error{Detail: auth.DetailBody, Faults: []*auth.Error{{Detail: auth.DetailBody, Path: path, Reason: reason}}}
}

// inFields replaces the library's names in an error by the names of the request's fields. So a
// client finds them in its request. A name that fields does not have stays. A path may continue
// below a field, as scope[2] does.
func inFields(err error, fields map[string]string) error {
	e, ok := err.(*auth.Error)
	if !ok { // also one that a store's failure wraps
		return err
	}
	named := *e
	if end := strings.IndexAny(e.Path+".", ".["); fields[e.Path[:end]] != "" {
		named.Path = fields[e.Path[:end]] + e.Path[end:]
	}
	named.Faults = nil
	for _, child := range e.Faults {
		named.Faults = append(named.Faults, inFields(child, fields).(*auth.Error))
	}
	return &named
}

// endpoint is a handler, and what the OpenAPI document says of it.
type endpoint struct {
	http.Handler
	openapi.Route
}

// reads is the endpoint of a function for requests whose body is not read.
func reads[T any](answer func(*http.Request) (T, error)) endpoint {
	return endpoint{reply(answer), openapi.Route{Reply: *new(T)}}
}

// formed is the endpoint of a function that gets the values of a body by their path. If the body is
// optional and missing, there are no values. The body of an empty form may only be an empty object.
func formed[T any](f body.Form, optional bool, answer func(http.ResponseWriter, *http.Request, map[string]any) (T, error)) endpoint {
	e := endpoint{Route: openapi.Route{Reply: *new(T)}}
	if len(f) > 0 {
		e.Request, e.BodyOptional = f, optional
	}
	e.Handler = replyAs(func(w http.ResponseWriter, r *http.Request) (none T, err error) {
		var values map[string]any
		if !optional || hasBody(r) {
			if values, _, err = f.Read(r, maxBody); err != nil {
				return none, err
			}
		}
		return answer(w, r, values)
	})
	return e
}

// takes is the endpoint of a function that gets the values of a body.
func takes[T any](f body.Form, answer func(*http.Request, map[string]any) (T, error)) endpoint {
	return formed(f, false, func(_ http.ResponseWriter, r *http.Request, values map[string]any) (T, error) {
		return answer(r, values)
	})
}

// mayTake is takes for a body that may be missing.
func mayTake[T any](f body.Form, answer func(*http.Request, map[string]any) (T, error)) endpoint {
	return formed(f, true, func(_ http.ResponseWriter, r *http.Request, values map[string]any) (T, error) {
		return answer(r, values)
	})
}

// does is the endpoint of a function that takes nothing but the request's path.
func does[T any](answer func(*http.Request) (T, error)) endpoint {
	return formed(nil, true, func(_ http.ResponseWriter, r *http.Request, _ map[string]any) (T, error) { return answer(r) })
}

// takesAs is takes for a function that sets headers, such as cookies.
func takesAs[T any](f body.Form, answer func(http.ResponseWriter, *http.Request, map[string]any) (T, error)) endpoint {
	return formed(f, false, answer)
}

// doesAs is does for such a function.
func doesAs[T any](answer func(http.ResponseWriter, *http.Request) (T, error)) endpoint {
	return formed(nil, true, func(w http.ResponseWriter, r *http.Request, _ map[string]any) (T, error) { return answer(w, r) })
}

// saying adds what is not said by the summary.
func (e endpoint) saying(description string) endpoint {
	e.Description = description
	return e
}

// listing adds the arguments of a list.
func (e endpoint) listing(of openapi.List) endpoint {
	e.List = of
	return e
}

// own is the list of records of the platform itself: see ownPage.
func own(object string) openapi.List { return &paging.Schema{Object: object} }

// router registers routes. Each POST and PATCH may have an Idempotency-Key, except those that anybody
// may send: without a caller there is nobody to whom a key belongs.
type router struct {
	*auth.Mux
	keys      *idempotency.Keys
	described map[string]openapi.Route
	checks    []check // before each handler, the first one first
}

// check returns an error for a request that its route does not serve.
type check func(http.ResponseWriter, *http.Request) error

// with returns the router of routes that have more checks.
func (m router) with(checks ...check) router {
	m.checks = slices.Concat(m.checks, checks)
	return m
}

func (m router) on(pattern string, n auth.Need, summary string, e endpoint) {
	h := e.Handler
	if len(m.checks) > 0 {
		h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for _, check := range m.checks {
				if err := check(w, r); err != nil {
					fail(w, r, err)
					return
				}
			}
			e.Handler.ServeHTTP(w, r)
		})
	}
	if takesKey(pattern, n) {
		e.IdempotencyKey = "optional"
		if keepsWhole(pattern) {
			h = m.keys.Wrap(h)
		} else {
			h = m.keys.Wrap(h, idempotency.Reference)
		}
	}
	e.Summary = summary
	m.described[pattern] = e.Route
	m.Handle(pattern, n, h)
}

// keptWhole are the routes whose responses are kept. Those of all others may hold a secret, such as that of
// a new app, a token or a recovery code: of them a reference is kept.
var keptWhole = []string{
	"POST /admin/accounts", "PATCH /admin/accounts/{id}", "POST /admin/accounts/{id}/activate", "POST /admin/accounts/{id}/deactivate",
	"POST /admin/invitations", "POST /admin/invitations/{id}/resend",
	"POST /admin/roles", "PATCH /admin/roles/{name}", "PATCH /admin/settings", "PATCH /apps/{key}",
}

func takesKey(pattern string, n auth.Need) bool {
	return (strings.HasPrefix(pattern, "POST ") || strings.HasPrefix(pattern, "PATCH ")) && !n.Describe().Public
}

func keepsWhole(pattern string) bool {
	return slices.Contains(keptWhole, pattern) || slices.ContainsFunc(schemas, func(s schema) bool {
		return pattern == "POST /"+s.plural || pattern == "PATCH /"+s.plural+"/{id}"
	})
}
