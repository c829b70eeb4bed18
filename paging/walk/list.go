package walk

import (
	"context"
	"errors"
	"iter"
	"net/http"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
)

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
