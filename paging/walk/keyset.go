package walk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/paging"
)

// keyset is a cursor of the values that the last item has for the keys of the sort.
type keyset struct {
	keys   []paging.Key // the last of them is _id
	values []any        // of keys; nil at the beginning
	unsent string       // a key of the sort downwards that the last item came without
}

func (k *keyset) resume(after string) error {
	if after == "" {
		return nil
	}
	if !k.exact() {
		return k.moveTo([]any{after})
	}
	values, err := parseValues(after)
	if err != nil {
		return errAfter
	}
	return k.moveTo(values)
}

// end refuses an end after an item whose key was not sent. It counted as null,
// after which a sort downwards has nothing: either the list ends there, or the
// server does not send what it sorts by.
func (k *keyset) end() error {
	if k.unsent == "" {
		return nil
	}
	return fmt.Errorf("%w: nothing follows %q, whose %s is not sent", ErrStalled, k.id(), k.unsent)
}

func (k *keyset) exact() bool { return len(k.keys) > 1 }

func (k *keyset) String() string {
	if k.values == nil {
		return ""
	}
	if !k.exact() {
		return k.id()
	}
	text, _ := json.Marshal(k.values) // of nil, bool, string and json.Number
	return string(text)
}

// id returns the _id of the last item, "" at the beginning.
func (k *keyset) id() string {
	if k.values == nil {
		return ""
	}
	id, _ := k.values[len(k.values)-1].(string)
	return id
}

func (k *keyset) narrow(q paging.Query) (paging.Query, error) {
	q.Sort = k.keys
	if k.exact() {
		q.Paths = slices.Clone(q.Paths)
		for _, key := range k.keys[:len(k.keys)-1] {
			q.Paths = append(q.Paths, key.Path)
		}
	}
	if k.values == nil {
		return q, nil
	}
	q.Skip = 0
	return q.After(k.values...)
}

func (k *keyset) advance(page span) error {
	n := len(page.ids)
	if !k.exact() {
		if err := k.inOrder(page.ids); err != nil {
			return err
		}
		return k.moveTo([]any{page.ids[n-1]})
	}
	last, err := k.valuesOf(page.last, page.ids[n-1])
	if err != nil {
		return err
	}
	first, err := k.valuesOf(page.first, page.ids[0])
	if err != nil {
		return err
	}
	if k.values != nil {
		err = k.follows(k.values, first)
	}
	if n > 1 && err == nil {
		err = k.follows(first, last)
	}
	if err != nil {
		return err
	}
	if err := k.moveTo(last); err != nil {
		return err
	}
	k.unsent = k.unsentIn(page.last)
	return nil
}

// unsentIn returns a key of the sort downwards that an item does not have.
func (k *keyset) unsentIn(text json.RawMessage) string {
	for _, key := range k.keys[:len(k.keys)-1] {
		if _, ok := member(text, key.Path); !ok && key.Desc {
			return key.Path
		}
	}
	return ""
}

// inOrder refuses ids of which one does not come after the one before, or the
// first not after the cursor.
func (k *keyset) inOrder(ids []string) error {
	before := k.id()
	for _, id := range ids {
		order := strings.Compare(before, id)
		if k.keys[0].Desc {
			order = -order
		}
		if before != "" && order >= 0 {
			return fmt.Errorf("%w: %q follows %q", ErrStalled, id, before)
		}
		before = id
	}
	return nil
}

// valuesOf returns the values of an item by which it is sorted.
func (k *keyset) valuesOf(text json.RawMessage, id string) ([]any, error) {
	values := make([]any, 0, len(k.keys))
	for _, key := range k.keys[:len(k.keys)-1] {
		value, err := scalar(text, key.Path)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return append(values, id), nil
}

// follows refuses values that do not come after those before, in the order of
// the keys.
func (k *keyset) follows(before, after []any) error {
	for i, key := range k.keys {
		order, _ := paging.Compare(before[i], after[i])
		if key.Desc {
			order = -order
		}
		switch {
		case !comparable(before[i]) || !comparable(after[i]):
			return fmt.Errorf("%w: values of %s cannot be compared", ErrStalled, key.Path)
		case order < 0:
			return nil
		case order > 0 && after[i] == nil:
			return fmt.Errorf("%w: %q, whose %s is null or not sent, follows %q", ErrStalled, after[len(after)-1], key.Path, before[len(before)-1])
		case order > 0:
			return fmt.Errorf("%w: by %s, %q is not after %q", ErrStalled, key.Path, after[len(after)-1], before[len(before)-1])
		}
	}
	return fmt.Errorf("%w: %q again", ErrStalled, after[len(after)-1])
}

// comparable reports whether a filter can compare with a value, which is nil, a
// bool, a string or a json.Number. Filters bound the exponent of a number.
func comparable(value any) bool {
	n, ok := value.(json.Number)
	if !ok {
		return true
	}
	_, err := paging.ParseFilter(`{"n":` + string(n) + `}`)
	return err == nil
}

// moveTo sets the cursor, if it can be asked for.
func (k *keyset) moveTo(values []any) error {
	if _, err := (paging.Query{Sort: k.keys}).After(values...); err != nil {
		return err
	}
	k.values = values
	return nil
}

// scalar returns the value by which an item is sorted; a missing one is null.
func scalar(item json.RawMessage, path string) (any, error) {
	text, ok := member(item, path)
	if !ok {
		return nil, nil
	}
	values, err := parseValues("[" + string(text) + "]")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return values[0], nil
}

// parseValues reads a JSON array of strings, numbers, booleans and null,
// without rounding.
func parseValues(text string) (values []any, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&values); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("something follows the array")
	}
	for _, v := range values {
		switch v.(type) {
		case map[string]any, []any:
			return nil, errors.New("an object or array is in no order")
		}
	}
	return values, nil
}
