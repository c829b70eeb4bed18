package walk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
)

// These are the largest replies that are read, in bytes.
const (
	maxPage  = 32 << 20
	maxFault = 1 << 20
)

type item interface{ ItemID() string }

// walker is one walk.
type walker[T item] struct {
	list     List[T]
	position keyset
	given    int
}

func (w *walker[T]) run(ctx context.Context, yield func(envelope.List[T], error) bool) {
	err := w.position.resume(w.list.After)
	for more := true; more && err == nil; {
		var page envelope.List[T]
		if page, err = w.next(ctx); err != nil {
			break
		}
		if len(page.Data) == 0 && w.given > 0 {
			return // the items that should follow were deleted meanwhile
		}
		if !yield(page, nil) {
			return
		}
		more = page.HasMore && (w.list.Max <= 0 || w.given < w.list.Max)
	}
	if err != nil {
		yield(envelope.List[T]{}, &Error{After: w.position.String(), Err: err})
	}
}

// next requests the next page and moves the position after it. The page has only the items that Max
// still allows.
func (w *walker[T]) next(ctx context.Context) (page envelope.List[T], err error) {
	target, err := w.target()
	if err != nil {
		return page, err
	}
	reply, err := get(ctx, w.list.Client, target)
	if err != nil {
		return page, err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		if fault, ok := errors.AsType[*envelope.Fault](envelope.Decode(reply.Body, maxFault, new(any))); ok {
			return page, fault
		}
		return page, fmt.Errorf("unexpected status %d", reply.StatusCode)
	}
	texts, err := w.decode(reply.Body, &page)
	if err != nil {
		return page, err
	}
	if err := w.moveAfter(&page, texts); err != nil {
		return page, err
	}
	if left := w.list.Max - w.given; w.list.Max > 0 && len(page.Data) > left {
		page.Data, page.HasMore = page.Data[:left:left], true
	}
	w.given += len(page.Data)
	return page, nil
}

var errNoID = fmt.Errorf("%w: an item has no _id", ErrStalled)

// moveAfter moves the position to the last item of a page. texts are the JSON of the items.
func (w *walker[T]) moveAfter(page *envelope.List[T], texts []json.RawMessage) error {
	ids, err := idsOf(page.Data)
	switch {
	case err != nil:
		return err
	case len(ids) > 0:
		return w.position.advance(ids, texts)
	case page.HasMore:
		return fmt.Errorf("%w: an empty page says there is more", ErrStalled)
	case w.position.unsent != "":
		// The walk took that key for null, and no value follows null in descending order. So either the
		// list ends here or the server does not send its sort keys.
		return fmt.Errorf("%w: nothing follows %q, whose %s is not sent", ErrStalled, w.position.id(), w.position.unsent)
	}
	return nil
}

// idsOf returns the ids of items, or an error if one has none. ItemID panics on a nil
// pointer: if the server sent null for a *T, or no field of a pointer that T embeds.
// idsOf returns an error for this panic too.
func idsOf[T item](items []T) (ids []string, err error) {
	defer func() {
		failure := recover()
		if _, ok := failure.(runtime.Error); ok {
			ids, err = nil, errNoID
		} else if failure != nil {
			panic(failure)
		}
	}()
	ids = make([]string, len(items))
	for i, item := range items {
		if ids[i] = item.ItemID(); ids[i] == "" {
			return nil, errNoID
		}
	}
	return ids, nil
}

// target returns the URL of the next page.
func (w *walker[T]) target() (string, error) {
	u, err := url.Parse(w.list.URL)
	if err != nil {
		return "", errURL // err contains the URL, which may hold a password
	}
	query := w.list.Query
	query.Limit = w.limit()
	if w.given > 0 || w.list.After != "" {
		query.CountTo = 0 // it would count what is left
	}
	query, err = w.position.pageQuery(query)
	if err != nil {
		return "", err
	}
	if name := w.list.Property; name != "" {
		object := paging.Query{Lists: map[string]paging.Query{name: query}}
		if len(query.Paths) == 0 {
			object.Paths = []string{name}
		}
		query = object
	}
	u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+query.Encode(), "&")
	return u.String(), nil
}

// limit returns how many items to request, or 0 to leave it to the server.
func (w *walker[T]) limit() int {
	const usual = 100 // without a page size, a smaller rest of Max becomes the limit
	size := w.list.Query.Limit
	if left := w.list.Max - w.given; w.list.Max > 0 && (left < size || size == 0 && left < usual) {
		return left
	}
	return size
}

// decode reads a page. If the position needs items, it returns the JSON of each.
func (w *walker[T]) decode(r io.Reader, page *envelope.List[T]) (items []json.RawMessage, err error) {
	if w.list.Property != "" {
		var object json.RawMessage
		if err := envelope.Decode(r, maxPage, &object); err != nil {
			return nil, err
		}
		list, ok := member(object, w.list.Property)
		if !ok {
			return nil, fmt.Errorf("%w: the object has no %s", envelope.ErrShape, w.list.Property)
		}
		r = bytes.NewReader(list)
	}
	if !w.position.needsItems() {
		return nil, envelope.Decode(r, maxPage, page)
	}
	var texts envelope.List[json.RawMessage]
	if err := envelope.Decode(r, maxPage, &texts); err != nil {
		return nil, err
	}
	page.HasMore, page.Total, page.Data = texts.HasMore, texts.Total, make([]T, len(texts.Data))
	for i, text := range texts.Data {
		if err := json.Unmarshal(text, &page.Data[i]); err != nil {
			return nil, fmt.Errorf("%w: %w", envelope.ErrShape, err)
		}
	}
	return texts.Data, nil
}

// member returns the JSON of a property of an object, by its dotted path.
func member(text json.RawMessage, path string) (value json.RawMessage, ok bool) {
	for name := range strings.SplitSeq(path, ".") {
		var object map[string]json.RawMessage
		if json.Unmarshal(text, &object) != nil {
			return nil, false
		}
		if text, ok = object[name]; !ok {
			return nil, false
		}
	}
	return text, true
}
