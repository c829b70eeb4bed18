package mempage

import (
	"cmp"
	"slices"

	"github.com/tenantkit/tenantkit/paging"
)

// Page returns the page of rows that q asks for, and whether there are more
// after it. The rows are left as they are, and must not change meanwhile. A sort
// that does not end with _id is ended with it.
//
// get returns a property of a row, and false when the row does not have it. A
// value is nil, a bool, a string, a number of any Go type, a json.Number or a
// time.Time, which counts as the text 2026-01-02T03:04:05.000Z that it is on the
// wire; what is finer than a millisecond is cut off. A date that is a string is
// compared as it stands, so it should be written like that. A value of another
// type is there, equals nothing and comes after all others.
func Page[T any](rows []T, q paging.Query, get func(row T, path string) (value any, ok bool)) (page []T, more bool) {
	order := q.Order()
	after, where, resumed := q.Cursor()
	matches, position := compile(where), valuesOf(after)
	var kept []sortable[T]
	for _, row := range rows {
		property := func(path string) value {
			v, ok := get(row, path)
			return valueOf(v, ok)
		}
		if !matches(property) {
			continue
		}
		keys := keysOf(order, property)
		if !resumed || compare(keys, position, order) > 0 {
			kept = append(kept, sortable[T]{row, keys})
		}
	}
	slices.SortStableFunc(kept, func(a, b sortable[T]) int { return compare(a.keys, b.keys, order) })

	kept = kept[min(max(q.Skip, 0), len(kept)):]
	kept, more = paging.Trim(kept, q.Limit)
	page = make([]T, len(kept))
	for i := range kept {
		page[i] = kept[i].row
	}
	return page, more
}

// sortable is a row with what it is sorted by.
type sortable[T any] struct {
	row  T
	keys []value
}

func keysOf(order []paging.Key, property property) []value {
	keys := make([]value, len(order))
	for i, key := range order {
		keys[i] = property(key.Path)
	}
	return keys
}

func compare(a, b []value, keys []paging.Key) int {
	for i, key := range keys {
		order := a[i].compare(b[i])
		if key.Desc {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return 0
}

// compare orders values of any types: null and missing first, then by type.
func (v value) compare(w value) int {
	if v.kind.isNull() && w.kind.isNull() {
		return 0
	}
	return cmp.Or(cmp.Compare(v.kind, w.kind), v.order(w))
}
