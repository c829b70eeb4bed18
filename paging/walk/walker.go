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
	"strings"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
)

// Bounds of what is read of one reply.
const (
	maxPage  = 32 << 20
	maxFault = 1 << 20
)

// walker is one walk.
type walker[T Item] struct {
	list     List[T]
	property string            // of Rest
	first    *envelope.List[T] // of Rest; nil where After is set
	cursor   cursor
	given    int
}

func (w *walker[T]) run(ctx context.Context, yield func(envelope.List[T], error) bool) {
	more, err := w.start()
	for more && err == nil {
		var page envelope.List[T]
		if page, err = w.next(ctx); err != nil {
			break
		}
		if len(page.Data) == 0 && w.given > 0 {
			return // what was to follow has gone meanwhile
		}
		if !yield(page, nil) {
			return
		}
		more = page.HasMore && !w.full()
	}
	if err != nil {
		yield(envelope.List[T]{}, &Error{After: w.cursor.String(), Err: err})
	}
}

// start sets the cursor, and reports whether there is anything to ask for.
func (w *walker[T]) start() (more bool, err error) {
	w.cursor = newCursor(w.list.Query, w.list.Skip)
	if err := w.cursor.resume(w.list.After); err != nil {
		return false, err
	}
	if w.first == nil {
		return true, nil
	}
	if !w.first.HasMore {
		return false, nil
	}
	text, err := w.lastOfFirst()
	if err != nil {
		return false, err
	}
	return true, w.behind(w.first, text)
}

// lastOfFirst returns the text of the last item that came with the object. It
// is encoded again, so T must have the properties of the sort: what T leaves
// out cannot be told from null.
func (w *walker[T]) lastOfFirst() (json.RawMessage, error) {
	n := len(w.first.Data)
	if n == 0 || !w.cursor.exact() {
		return nil, nil
	}
	text, err := json.Marshal(w.first.Data[n-1])
	if err != nil {
		return nil, err
	}
	for _, key := range unique(w.list.Query.Sort) {
		if key.Path == "_id" {
			break
		}
		if _, ok := member(text, key.Path); !ok {
			return nil, fmt.Errorf("%T does not encode %s, by which the list is sorted", w.first.Data[n-1], key.Path)
		}
	}
	return text, nil
}

// next asks for the next page and moves behind it.
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
		return page, refusal(reply)
	}
	text, err := w.decode(reply.Body, &page)
	if err != nil {
		return page, err
	}
	if err := w.behind(&page, text); err != nil {
		return page, err
	}
	w.trim(&page)
	return page, nil
}

// behind moves the cursor behind a page.
func (w *walker[T]) behind(page *envelope.List[T], text json.RawMessage) error {
	for _, item := range page.Data {
		if item.ItemID() == "" {
			return fmt.Errorf("%w: an item has no _id", ErrStalled)
		}
	}
	n := len(page.Data)
	if n == 0 {
		if page.HasMore {
			return fmt.Errorf("%w: an empty page says there is more", ErrStalled)
		}
		return nil
	}
	return w.cursor.advance(n, page.Data[n-1].ItemID(), text)
}

// full reports whether Max items have been given out.
func (w *walker[T]) full() bool { return w.list.Max > 0 && w.given >= w.list.Max }

// trim cuts the page down to what is left of Max.
func (w *walker[T]) trim(page *envelope.List[T]) {
	if left := w.list.Max - w.given; w.list.Max > 0 && len(page.Data) > left {
		page.Data, page.HasMore = page.Data[:left:left], true
	}
	w.given += len(page.Data)
}

// target returns the URL of the next page.
func (w *walker[T]) target() (string, error) {
	u, err := url.Parse(w.list.URL)
	if err != nil {
		return "", errURL // the error holds the URL, which may hold a password
	}
	query := w.list.Query
	query.Limit = w.limit()
	query = w.cursor.narrow(query)
	if w.property != "" {
		query = property(w.property, query)
	}
	u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+query.Encode(), "&")
	return u.String(), nil
}

// property returns the query of an object for one of its list properties.
func property(name string, list paging.Query) paging.Query {
	q := paging.Query{Lists: map[string]paging.Query{name: list}}
	if len(list.Paths) == 0 {
		q.Paths = []string{name}
	}
	return q
}

// limit returns how many items to ask for, 0 to leave it to the server.
func (w *walker[T]) limit() int {
	const usual = 100 // what is left of Max is only asked for where it is less
	size := w.list.PageSize
	if size == 0 {
		size = w.list.Query.Limit
	}
	if left := w.list.Max - w.given; w.list.Max > 0 && (left < size || size == 0 && left < usual) {
		return left
	}
	return size
}

// decode reads a page and, where the cursor needs it, the text of its last
// item.
func (w *walker[T]) decode(r io.Reader, page *envelope.List[T]) (last json.RawMessage, err error) {
	var text bytes.Buffer
	if w.property != "" {
		list, err := listProperty(r, w.property)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(list)
	}
	if w.cursor.exact() {
		r = io.TeeReader(r, &text)
	}
	if err := envelope.Decode(r, maxPage, page); err != nil || !w.cursor.exact() {
		return nil, err
	}
	var items struct {
		Data []json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(text.Bytes(), &items); err != nil || len(items.Data) == 0 {
		return nil, err
	}
	return items.Data[len(items.Data)-1], nil
}

// listProperty reads an object and returns the text of one of its properties.
func listProperty(r io.Reader, path string) (text json.RawMessage, err error) {
	if err := envelope.Decode(r, maxPage, &text); err != nil {
		return nil, err
	}
	text, ok := member(text, path)
	if !ok {
		return nil, fmt.Errorf("%w: the object has no %s", envelope.ErrShape, path)
	}
	return text, nil
}

// member returns a property of a JSON object, by its dotted path.
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

// refusal returns the error that a reply other than 200 stands for.
func refusal(reply *http.Response) error {
	var fault *envelope.Fault
	if err := envelope.Decode(reply.Body, maxFault, new(any)); errors.As(err, &fault) {
		return fault
	}
	return fmt.Errorf("unexpected status %d", reply.StatusCode)
}
