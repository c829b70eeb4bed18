package walk

import (
	"context"
	"errors"
	"iter"
	"net/http"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
)

// Item is what a list is made of. A struct that embeds envelope.Item is one.
type Item interface{ ItemID() string }

// List is a list to walk through. It holds no state: each range over what its
// methods return starts again, and any number of them may run at once.
type List[T Item] struct {
	Client *http.Client // nil: http.DefaultClient
	URL    string       // required; query parameters that it has are kept
	Query  paging.Query // Limit is used where PageSize is 0, Skip for the first page

	PageSize int // items to ask for at once; 0: Query.Limit or what the server has
	Max      int // items to give out in all; 0: no bound

	// After is where to go on: the After of an Error or, in a list sorted by
	// _id alone, the _id of the last item. Empty: from the beginning.
	After string

	// Skip pages by counting, and not by the values of the last item. That is
	// slow on long lists, servers bound it, and items may appear twice or not
	// at all when the list changes meanwhile.
	Skip bool
}

// All returns the items of the list. An error is an *Error, and comes last.
func (l List[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return items(l.Pages(ctx))
}

// Pages returns the pages of the list; only the first may be empty. An error is
// an *Error, and comes last.
func (l List[T]) Pages(ctx context.Context) iter.Seq2[envelope.List[T], error] {
	return func(yield func(envelope.List[T], error) bool) {
		w := walker[T]{list: l}
		w.run(ctx, yield)
	}
}

// Rest returns the items of a list property that follow those in first, which
// came with the object that URL is of. Query is what the property was asked
// with. An error is an *Error, and comes last; its After, once set, wins over
// first.
func (l List[T]) Rest(ctx context.Context, first envelope.List[T], property string) iter.Seq2[T, error] {
	return items(func(yield func(envelope.List[T], error) bool) {
		w := walker[T]{list: l, property: property}
		if l.After == "" {
			w.first = &first
		}
		w.run(ctx, yield)
	})
}

// items gives out pages item by item.
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

// Error is why a walk ended early.
type Error struct {
	After string // the position behind the last item given out, for List.After
	Err   error  // an *envelope.Fault, ErrStalled, what a context says, …
}

func (e *Error) Error() string { return "walk: " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// ErrStalled is about a page that does not get further: one that is empty and
// says there is more, an item without _id, a last _id that is not behind the
// one before.
var ErrStalled = errors.New("the list does not advance")
