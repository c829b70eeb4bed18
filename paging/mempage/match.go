package mempage

import (
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/paging"
)

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
	case paging.OpIn:
		values := f.Values()
		return of(path, func(v any) bool {
			return slices.ContainsFunc(values, func(value any) bool { return holds(paging.OpEq, v, value) })
		})
	case paging.OpEq, paging.OpGt, paging.OpGte, paging.OpLt, paging.OpLte:
		value := f.Values()[0]
		return of(path, func(v any) bool { return holds(f.Op(), v, value) })
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
