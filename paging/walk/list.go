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

	// After is where to go on: the After of an Error, or what the package
	// comment says of Max. Empty: from the beginning.
	After string

	// Skip pages by counting, and not by the values of the last item. That is
	// slow on long lists, ends with ErrStalled beyond 10,000 items, and items
	// may appear twice or not at all when the list changes meanwhile.
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

// AllOf returns the items of a list property of the object that URL is of. The
// property is named by its path in the object; Query is the list's own, and its
// Paths are those of the items: AllOf puts the property before the arguments,
// and before each of the paths[]. An error is an *Error, and comes last.
func (l List[T]) AllOf(ctx context.Context, property string) iter.Seq2[T, error] {
	return items(func(yield func(envelope.List[T], error) bool) {
		w := walker[T]{list: l, property: property}
		w.run(ctx, yield)
	})
}

// Rest is AllOf without the items in first, which came with the object. Query
// is what the property was asked with there. An After, once set, wins over first.
//
// Where Query has a Sort, T must encode its keys, null ones too: Rest encodes
// items of first again to see their values. A key that T leaves out, by omitempty
// say, is an error. Max does not count the items in first.
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

// Error is why a walk ended early. Err is or wraps
//
//   - an *envelope.Fault, where the server refused, whatever the status
//   - ErrStalled
//   - an error of package envelope, where a reply is no list, or too large
//   - an error of the Client or the context, without the URL
//   - an error about the List itself: its URL or After, or a T that Rest cannot use
type Error struct {
	After string // the cursor of the last item given out, for List.After
	Err   error
}

// Error says what Err does.
func (e *Error) Error() string { return "walk: " + e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ErrStalled is about a page that does not get further: one that is empty and
// says there is more, an item that is null or has no _id, items that are not
// after those before. The package comment says what is compared.
var ErrStalled = errors.New("the list does not advance")
