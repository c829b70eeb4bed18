package mempage

import (
	"slices"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
)

// Page returns the page of rows that q asks for, and whether more rows follow it.
// Page does not change rows, and rows must not change during the call. If the sort
// does not contain _id, _id is added at its end.
//
// get returns a property of a row, or false if the row does not have it. Its values
// are those of paging.Compare. Page compares a date that is a string as a string, so
// it must have the form of paging.DateLayout. A value of another type exists, equals
// nothing and sorts after all others. The value of a path that ends with [] is a
// []any or a []string of the elements.
func Page[T any](rows []T, q paging.Query, get func(row T, path string) (value any, ok bool)) (page []T, more bool) {
	order := q.Order()
	after, where, resumed := q.Cursor()
	matches := compile(where)
	var kept []sortable[T]
	for _, row := range rows {
		property := func(path string) (value any, ok bool) { return present(get(row, path)) }
		if !matches(property) {
			continue
		}
		keys := keysOf(order, property)
		if !resumed || compare(keys, after, order) > 0 {
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

// Count returns how many rows match the filter of q, or nil if the caller did not ask for
// it. get is that of Page.
func Count[T any](rows []T, q paging.Query, get func(row T, path string) (value any, ok bool)) *envelope.Total {
	if q.Count < 1 {
		return nil
	}
	matches, counted := compile(q.Where), 0
	for i := 0; i < len(rows) && counted <= q.Count; i++ {
		if matches(func(path string) (any, bool) { return present(get(rows[i], path)) }) {
			counted++
		}
	}
	return q.Total(counted)
}

// present returns the value of a property. That of a missing one is nil.
func present(value any, ok bool) (any, bool) {
	if !ok {
		return nil, false
	}
	return value, true
}

// sortable is a row with the values it is sorted by.
type sortable[T any] struct {
	row  T
	keys []any
}

func keysOf(order []paging.Key, get getter) []any {
	keys := make([]any, len(order))
	for i, key := range order {
		keys[i], _ = get(key.Path)
	}
	return keys
}

func compare(a, b []any, keys []paging.Key) int {
	for i, key := range keys {
		order, _ := paging.Compare(a[i], b[i])
		if key.Desc {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return 0
}
