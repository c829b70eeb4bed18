package walk

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/paging"
)

// keyset is the position behind the item whose sort keys have these values.
type keyset struct {
	keys   []paging.Key  // the last of them is _id
	values []any         // of keys; nil at the beginning
	behind paging.Filter // what follows
}

func (k *keyset) resume(after string) error {
	if after == "" {
		return nil
	}
	if !k.exact() {
		return k.moveTo([]any{after})
	}
	values, err := parseValues(after)
	if err != nil || len(values) != len(k.keys) {
		return errAfter
	}
	return k.moveTo(values)
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

func (k *keyset) narrow(q paging.Query) paging.Query {
	q.Sort = k.keys
	if k.exact() {
		q.Paths = slices.Clone(q.Paths)
		for _, key := range k.keys[:len(k.keys)-1] {
			q.Paths = append(q.Paths, key.Path)
		}
	}
	if k.values == nil {
		return q
	}
	q.Skip = 0
	return q.And(k.behind)
}

func (k *keyset) advance(_ int, id string, text json.RawMessage) error {
	if !k.advances(id) {
		return fmt.Errorf("%w: %q follows %q", ErrStalled, id, k.id())
	}
	values := make([]any, 0, len(k.keys))
	for _, key := range k.keys[:len(k.keys)-1] {
		value, err := scalar(text, key.Path)
		if err != nil {
			return err
		}
		values = append(values, value)
	}
	return k.moveTo(append(values, id))
}

// advances reports whether a page that ends with id is behind the one before.
func (k *keyset) advances(id string) bool {
	switch last := k.id(); {
	case last == "":
		return true
	case k.exact():
		return id != last
	case k.keys[0].Desc:
		return id < last
	default:
		return id > last
	}
}

// moveTo sets the position: what follows is greater by the first key, or equal
// by that and greater by the next, and so on.
func (k *keyset) moveTo(values []any) error {
	var following, equal []paging.Filter
	for i, key := range k.keys {
		greater, err := beyond(key, values[i])
		if err != nil {
			return err
		}
		following = append(following, paging.And(append(slices.Clip(equal), greater)...))
		same, err := condition(key.Path, "$eq", values[i])
		if err != nil {
			return err
		}
		equal = append(equal, same)
	}
	k.values, k.behind = values, paging.Or(following...)
	return nil
}

// beyond matches what comes after a value in the order of key, in which null is
// the least.
func beyond(key paging.Key, value any) (paging.Filter, error) {
	switch {
	case value == nil && key.Desc:
		return paging.Or(), nil
	case value == nil:
		return paging.Not(paging.Null(key.Path)), nil
	case !key.Desc:
		return condition(key.Path, "$gt", value)
	case key.Path == "_id":
		return condition(key.Path, "$lt", value)
	}
	// Not $lt, which would leave out what is null.
	atLeast, err := condition(key.Path, "$gte", value)
	return paging.Not(atLeast), err
}

// condition compares a property with a value whose type is known to its text
// only.
func condition(path, operator string, value any) (paging.Filter, error) {
	text, err := json.Marshal(map[string]any{path: map[string]any{operator: value}})
	if err != nil {
		return paging.Filter{}, err
	}
	return paging.ParseFilter(string(text))
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
	for _, v := range values {
		switch v.(type) {
		case map[string]any, []any:
			return nil, errors.New("an object or array is in no order")
		}
	}
	return values, nil
}
