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

// Bounds of what is read of one reply.
const (
	maxPage  = 32 << 20
	maxFault = 1 << 20
)

// walker is one walk.
type walker[T Item] struct {
	list     List[T]
	property string            // of AllOf and Rest
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
	if len(w.first.Data) == 0 {
		return false, errEmpty
	}
	ids, err := idsOf(w.first.Data)
	if err != nil {
		return false, err
	}
	ends, err := w.endsOfFirst()
	if err != nil {
		return false, err
	}
	return true, w.cursor.advance(spanOf(ids, ends))
}

// endsOfFirst returns the texts of the first and the last item that came with
// the object. They are encoded again, so T must have the properties of the sort:
// what T leaves out cannot be told from null.
func (w *walker[T]) endsOfFirst() (texts []json.RawMessage, err error) {
	if !w.cursor.exact() {
		return nil, nil
	}
	items := w.first.Data
	for _, item := range []T{items[0], items[len(items)-1]} {
		text, err := json.Marshal(item)
		if err != nil {
			return nil, err
		}
		order := w.list.Query.Order()
		for _, key := range order[:len(order)-1] { // _id it has
			if _, ok := member(text, key.Path); !ok {
				return nil, fmt.Errorf("%T does not encode %s, by which the list is sorted", item, key.Path)
			}
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// next asks for the next page and moves the cursor after it.
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
	texts, err := w.decode(reply.Body, &page)
	if err != nil {
		return page, err
	}
	if err := w.moveAfter(&page, texts); err != nil {
		return page, err
	}
	w.trim(&page)
	return page, nil
}

var errNoID = fmt.Errorf("%w: an item has no _id", ErrStalled)

var errEmpty = fmt.Errorf("%w: an empty page says there is more", ErrStalled)

// moveAfter moves the cursor to the last item of a page. It has the texts of the
// items where it needs them.
func (w *walker[T]) moveAfter(page *envelope.List[T], texts []json.RawMessage) error {
	ids, err := idsOf(page.Data)
	switch {
	case err != nil:
		return err
	case len(ids) > 0:
		return w.cursor.advance(spanOf(ids, texts))
	case page.HasMore:
		return errEmpty
	}
	return w.cursor.end()
}

func spanOf(ids []string, texts []json.RawMessage) span {
	if len(texts) == 0 {
		return span{ids: ids}
	}
	return span{ids, texts[0], texts[len(texts)-1]}
}

// idsOf returns the ids of items, and an error where one has none. An ItemID that
// goes through a nil pointer panics: where the server sent null for a *T, or
// nothing of what T embeds as a pointer.
func idsOf[T Item](items []T) (ids []string, err error) {
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
	query, err = w.cursor.narrow(query)
	if err != nil {
		return "", err
	}
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

// decode reads a page and, where the cursor needs them, the texts of its first
// and last item.
func (w *walker[T]) decode(r io.Reader, page *envelope.List[T]) (texts []json.RawMessage, err error) {
	var text strings.Builder
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
	if first, last := endsOf(text.String()); first != nil {
		texts = []json.RawMessage{first, last}
	}
	return texts, nil
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
