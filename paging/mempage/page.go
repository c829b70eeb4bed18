// Package mempage answers a paging.Query from a slice. Use it for lists that are in
// memory anyway, and in tests. It is also the simplest definition of what the other
// back ends do. Each page looks at every row.
//
// # What is not checked
//
// Page compares any property that the query names, and returns whole rows.
// paging.Schema.Parse decides what a caller may compare, and the handler decides what
// it sends.
package mempage

import (
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/internal/sizeof"
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
//
// A page ends with the row with which it has paging.MaxBytes. These are the bytes of all texts
// that the rows hold, sent or not, also behind pointers, except those of fields that are not
// exported.
func Page[T any](rows []T, q paging.Query, get func(row T, path string) (value any, ok bool)) (page []T, more bool) {
	order := q.Order()
	after, where, resumed := q.Cursor()
	matches := compile(where)
	var kept []sortable[T]
	for _, row := range rows {
		property := propertyOf(row, get)
		if !matches(property) {
			continue
		}
		keys := make([]any, len(order))
		for i, key := range order {
			keys[i], _ = property(key.Path)
		}
		if resumed {
			if beyond, _ := paging.CompareBy(order, keys, after); beyond <= 0 {
				continue
			}
		}
		kept = append(kept, sortable[T]{row, keys})
	}
	slices.SortStableFunc(kept, func(a, b sortable[T]) int {
		by, _ := paging.CompareBy(order, a.keys, b.keys)
		return by
	})

	kept = kept[min(max(q.Skip, 0), len(kept)):]
	if more = 0 < q.Limit && q.Limit < len(kept); more || q.Limit < 1 {
		kept = kept[:max(q.Limit, 0)]
	}
	page = make([]T, 0, len(kept))
	for left := paging.MaxBytes; len(page) < len(kept); {
		if left <= 0 {
			return page, true
		}
		page = append(page, kept[len(page)].row)
		sizeof.Use(&left, &page[len(page)-1])
	}
	return page, more
}

// Count returns how many rows match the filter of q, or nil if the caller did not ask for
// it. get is that of Page.
func Count[T any](rows []T, q paging.Query, get func(row T, path string) (value any, ok bool)) *envelope.Total {
	if q.CountTo < 1 {
		return nil
	}
	matches, counted := compile(q.Where), 0
	for i := 0; i < len(rows) && counted <= q.CountTo; i++ {
		if matches(propertyOf(rows[i], get)) {
			counted++
		}
	}
	return q.Total(counted)
}

// propertyOf returns a getter for a row. The value of a missing property is nil.
func propertyOf[T any](row T, get func(row T, path string) (value any, ok bool)) getter {
	return func(path string) (value any, ok bool) {
		if value, ok = get(row, path); !ok {
			value = nil
		}
		return value, ok
	}
}

// sortable is a row with the values it is sorted by.
type sortable[T any] struct {
	row  T
	keys []any
}

// getter returns a property of one row, or nil and false if it is missing.
type getter func(path string) (value any, ok bool)

// matcher is a compiled filter.
type matcher func(getter) bool

func compile(f paging.Filter) matcher {
	path := f.Path()
	switch f.Op() {
	case paging.OpAnd, paging.OpOr:
		var parts []matcher
		for _, part := range f.Filters() {
			parts = append(parts, compile(part))
		}
		decides := f.Op() == paging.OpOr // what one part decides alone
		return func(get getter) bool {
			return slices.ContainsFunc(parts, func(m matcher) bool { return m(get) == decides }) == decides
		}
	case paging.OpNot:
		inner := compile(f.Filters()[0])
		return func(get getter) bool { return !inner(get) }
	case paging.OpExists:
		return func(get getter) bool {
			_, ok := get(path)
			return ok
		}
	case paging.OpIn, paging.OpEq, paging.OpGt, paging.OpGte, paging.OpLt, paging.OpLte:
		values := f.Values()
		return of(path, func(v any) bool {
			return slices.ContainsFunc(values, func(value any) bool { return holds(f.Op(), v, value) })
		})
	}
	panic("mempage: a filter of an unknown operator")
}

// of returns a matcher for a condition on the property at path, or on any of its
// elements if the path ends with [].
func of(path string, condition func(value any) bool) matcher {
	elements := strings.HasSuffix(path, "[]")
	return func(get getter) bool {
		v, _ := get(path)
		if elements {
			switch v := v.(type) {
			case []any:
				return slices.ContainsFunc(v, condition)
			case []string:
				return slices.ContainsFunc(v, func(text string) bool { return condition(text) })
			}
		}
		return condition(v)
	}
}

func holds(op paging.Op, v, value any) bool {
	order, sameType := paging.Compare(v, value)
	return sameType && op.Holds(order)
}
