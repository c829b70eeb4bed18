package walk

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/internal/strictjson"
	"github.com/tenantkit/tenantkit/paging"
)

// keyset is a position by the values that the last item has for the sort keys.
type keyset struct {
	keys   []paging.Key // the last key is _id
	values []any        // one for each key; nil at the beginning
	unsent string       // a descending key that the last item lacked, or ""

	// numeric says that ids have not been in the order of texts, so that from then on they
	// must be in that of numbers. It never changes back: a list must not go in circles.
	numeric bool
}

// resume moves to the position that an earlier String returned. An empty text changes nothing.
func (k *keyset) resume(after string) error {
	if after == "" {
		return nil
	}
	values := []any{after}
	if k.needsItems() && decodeFlat(after, 1, &values) != nil {
		return errors.New("not a cursor of this sort")
	}
	return k.moveTo(values)
}

// needsItems reports whether advance needs the JSON of the first and the last item.
func (k *keyset) needsItems() bool { return len(k.keys) > 1 }

// String returns the position for List.After.
func (k *keyset) String() string {
	switch {
	case k.values == nil:
		return ""
	case !k.needsItems():
		return k.id()
	}
	text, _ := json.Marshal(k.values) // of nil, bool, string and json.Number
	return string(text)
}

// id returns the _id of the last item.
func (k *keyset) id() string { return k.values[len(k.values)-1].(string) }

// pageQuery returns q for the page after the position.
func (k *keyset) pageQuery(q paging.Query) (paging.Query, error) {
	q.Sort = k.keys
	if k.needsItems() {
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

// advance moves to the last item of a page that is not empty. If the page does not come after the
// position, it returns ErrStalled and does not move. texts are the JSON of the items, if the
// position needs it. It then looks at the first and the last item only.
func (k *keyset) advance(ids []string, texts []json.RawMessage) error {
	before, unsent, last := k.values, "", len(ids)-1
	if !k.needsItems() {
		if err := k.inOrder(ids); err != nil {
			return err
		}
		return k.moveTo([]any{ids[last]})
	}
	for _, i := range []int{0, last}[:min(len(ids), 2)] {
		var values []any
		var err error
		if values, unsent, err = k.valuesOf(texts[i], ids[i]); err == nil && before != nil {
			err = k.follows(before, values)
		}
		if err != nil {
			return err
		}
		before = values
	}
	k.unsent = unsent
	return k.moveTo(before)
}

// inOrder returns ErrStalled if an id does not come after the one before it. The first must come
// after the position. It allocates nothing, because it looks at each item.
func (k *keyset) inOrder(ids []string) error {
	before := ""
	if k.values != nil {
		before = k.id()
	}
	for _, id := range ids {
		if before != "" {
			if err := k.idFollows(before, id); err != nil {
				return err
			}
		}
		before = id
	}
	return nil
}

// idOrder is below 0 if the id after comes after the one before, and 0 if it is the same: as a text, or
// as a number if all ids are integers.
func (k *keyset) idOrder(before, after string) int {
	if k.keys[len(k.keys)-1].Desc {
		before, after = after, before
	}
	if order := strings.Compare(before, after); order == 0 || order < 0 && !k.numeric {
		return order
	}
	a, aErr := strconv.ParseInt(before, 10, 64)
	b, bErr := strconv.ParseInt(after, 10, 64)
	if aErr != nil || bErr != nil {
		return 1
	}
	k.numeric = true
	return cmp.Compare(a, b)
}

// valuesOf returns the sort key values of an item, and a descending key that it lacks, or "". A key
// that it lacks is null.
func (k *keyset) valuesOf(item json.RawMessage, id string) (values []any, unsent string, err error) {
	for _, key := range k.keys[:len(k.keys)-1] {
		var value any
		switch text, sent := member(item, key.Path); {
		case !sent && key.Desc:
			unsent = cmp.Or(unsent, key.Path)
		case !sent:
		case text[0] == '{' || text[0] == '[':
			return nil, "", fmt.Errorf("%s: an object or array is in no order", key.Path)
		default:
			if err := decodeFlat(string(text), 0, &value); err != nil {
				return nil, "", fmt.Errorf("%s: %w", key.Path, err)
			}
		}
		values = append(values, value)
	}
	return append(values, id), unsent, nil
}

// follows returns ErrStalled if the values after do not follow the values before in
// the order of the keys.
func (k *keyset) follows(before, after []any) error {
	last := len(k.keys) - 1
	for i := range k.keys {
		if !comparable(before[i]) || !comparable(after[i]) {
			return fmt.Errorf("%w: values of %s cannot be compared", ErrStalled, k.keys[i].Path)
		}
	}
	order, i := paging.CompareBy(k.keys[:last], before, after)
	earlier, later := before[last].(string), after[last].(string)
	switch {
	case order == 0:
		return k.idFollows(earlier, later)
	case order < 0:
		return nil
	case after[i] == nil:
		return fmt.Errorf("%w: %q, whose %s is null or not sent, follows %q", ErrStalled, later, k.keys[i].Path, earlier)
	}
	return notAfter(k.keys[i].Path, earlier, later)
}

// idFollows is follows for items that are equal in the keys before _id.
func (k *keyset) idFollows(before, after string) error {
	switch order := k.idOrder(before, after); {
	case order < 0:
		return nil
	case order == 0:
		return fmt.Errorf("%w: %q again", ErrStalled, after)
	}
	return notAfter("_id", before, after)
}

func notAfter(path, before, after string) error {
	return fmt.Errorf("%w: by %s, %q is not after %q", ErrStalled, path, after, before)
}

// comparable reports whether a filter can compare with a value, which is nil, a bool,
// a string or a json.Number. A filter limits the length and the exponent of a number.
func comparable(value any) bool {
	n, ok := value.(json.Number)
	return !ok || paging.Eq("n", n).Op() == paging.OpEq // beyond the limits it matches nothing
}

// moveTo sets the position. It returns an error if no query can ask for the items
// after these values.
func (k *keyset) moveTo(values []any) error {
	if _, err := (paging.Query{Sort: k.keys}).After(values...); err != nil {
		return err
	}
	k.values = values
	return nil
}

// decodeFlat reads JSON that nests objects and arrays to a depth at most. It does not round numbers.
// moveTo rejects a NUL.
func decodeFlat(text string, depth int, v any) error {
	if err := strictjson.Check(text, strictjson.Limits{Depth: depth, AllowNUL: true}); err != nil {
		return err
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return d.Decode(v)
}
