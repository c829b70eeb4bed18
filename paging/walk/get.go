package walk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/internal/clock"
	"github.com/tenantkit/tenantkit/paging"
)

// These values say how often and how patiently a page is requested again.
const (
	retries  = 4
	backoff  = 250 * time.Millisecond // doubled each time
	patience = time.Minute            // the longest Retry-After; a longer one ends the walk
)

// get requests target, and again while the server is busy. Each attempt goes through
// the whole client, so that a signing transport signs each attempt anew.
func get(ctx context.Context, client *http.Client, target string) (*http.Response, error) {
	client = staying(client)
	for attempt := 0; ; attempt++ {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
		if err != nil {
			return nil, errURL
		}
		request.Header.Set("Accept", "application/json")
		reply, err := client.Do(request)
		if err != nil {
			// A query may hold personal data, and a URL may hold a token.
			if e, ok := errors.AsType[*url.Error](err); ok {
				err = fmt.Errorf("%s: %w", e.Op, e.Err)
			}
			return nil, err
		}
		wait := retryAfter(reply.Header)
		if !slices.Contains(busy, reply.StatusCode) || attempt == retries || wait > patience {
			return reply, nil
		}
		_, _ = io.CopyN(io.Discard, reply.Body, 64<<10) // so that its connection can be used again
		_ = reply.Body.Close()
		// A random time more, so that clients that were refused together do not come back together.
		if err := clock.Sleep(ctx, wait+rand.N(backoff<<attempt)); err != nil {
			return nil, err
		}
	}
}

var errURL = errors.New("List.URL is not valid")

// busy are the statuses of a server that may answer later.
var busy = []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// retryAfter reads Retry-After (RFC 9110, section 10.2.3): seconds or a date.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(time.Until(date), 0)
	}
	return 0
}

// staying returns a client that follows no redirect to another server, where a
// transport would present its credential to a stranger.
func staying(client *http.Client) *http.Client {
	client = cmp.Or(client, http.DefaultClient)
	copied := *client
	copied.CheckRedirect = func(request *http.Request, via []*http.Request) error {
		if first := via[0].URL; request.URL.Scheme != first.Scheme || request.URL.Host != first.Host {
			return errors.New("redirected to another server")
		}
		if client.CheckRedirect != nil {
			return client.CheckRedirect(request, via)
		}
		if len(via) >= 10 {
			return errors.New("too many redirects")
		}
		return nil
	}
	return &copied
}

// List describes a list to walk. It holds no state: each range over the result of a
// method starts again. Any number of walks may run at once.
//
// T is a struct that embeds envelope.Item, or another type of an item that knows its _id.
type List[T interface{ ItemID() string }] struct {
	Client *http.Client // nil: http.DefaultClient
	URL    string       // required; its query parameters are kept
	Query  paging.Query // Limit is that of a page; Skip leaves out items at the start of the list; CountTo is for the Total of the first page

	// Property is the path of a list property, if URL is that of one object. Query is then the
	// query of the list property, and its Paths are relative to the items.
	Property string

	Max int // the most items to return in all; 0: no maximum

	// After is where the walk resumes: the After of an Error, or the value that the
	// package comment describes under Resuming. If it is empty, the walk starts at the
	// beginning.
	After string
}

// All returns the items of the list. An error is an *Error, and comes last.
func (l List[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return items(l.Pages(ctx))
}

// Pages returns the pages of the list. Only the first page may be empty. An error is
// an *Error, and comes last.
func (l List[T]) Pages(ctx context.Context) iter.Seq2[envelope.List[T], error] {
	return func(yield func(envelope.List[T], error) bool) {
		w := walker[T]{list: l, position: keyset{keys: l.Query.Order()}}
		w.run(ctx, yield)
	}
}

// items returns the items of pages one by one.
func items[T any](pages iter.Seq2[envelope.List[T], error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for page, err := range pages {
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page.Data {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// Error reports why a walk ended early. Err is or wraps one of these:
//
//   - an *envelope.Fault, if the server refused, whatever the status
//   - ErrStalled
//   - an error of package envelope, if a reply is no list, or too large
//   - an error of the Client or the context, without the URL
//   - an error about the List itself: its URL or After
type Error struct {
	After string // the position after the last item returned, for List.After
	Err   error
}

// Error returns the text of Err, prefixed with the package.
func (e *Error) Error() string { return "walk: " + e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ErrStalled reports a page that does not advance. The page may be empty although it
// says there is more. An item may be null or have no _id. Its items may not come after
// those before. The package comment says what is compared.
var ErrStalled = errors.New("the list does not advance")
