package mempage

import (
	"cmp"
	"slices"

	"github.com/tenantkit/tenantkit/paging"
)

// Page returns the page of rows that q asks for, and whether there are more
// after it. The rows are left as they are, and must not change meanwhile.
//
// get returns a property of a row, and false when the row does not have it. A
// value is nil, a bool, a string, a number of any Go type, a json.Number or a
// time.Time; a value of another type is there, but equals nothing and is in no
// order. A property by which rows are sorted should have values of one type.
func Page[T any](rows []T, q paging.Query, get func(row T, path string) (value any, ok bool)) (page []T, more bool) {
	matches := compile(q.Where)
	var kept []sortable[T]
	for _, row := range rows {
		property := func(path string) value {
			v, ok := get(row, path)
			return valueOf(v, ok)
		}
		if matches(property) {
			kept = append(kept, sortable[T]{row, keysOf(q.Sort, property)})
		}
	}
	slices.SortStableFunc(kept, func(a, b sortable[T]) int { return a.compare(b, q.Sort) })

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

func keysOf(sort []paging.Key, property property) []value {
	keys := make([]value, len(sort))
	for i, key := range sort {
		keys[i] = property(key.Path)
	}
	return keys
}

func (s sortable[T]) compare(other sortable[T], sort []paging.Key) int {
	for i, key := range sort {
		order := s.keys[i].compare(other.keys[i])
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
