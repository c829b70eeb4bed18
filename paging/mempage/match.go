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
	case paging.OpAnd:
		return all(f.Filters())
	case paging.OpOr:
		return anyOf(f.Filters())
	case paging.OpNot:
		inner := compile(f.Filters()[0])
		return func(get getter) bool { return !inner(get) }
	case paging.OpExists:
		return func(get getter) bool {
			_, ok := get(path)
			return ok
		}
	case paging.OpIn:
		return in(path, f.Values())
	case paging.OpEq, paging.OpGt, paging.OpGte, paging.OpLt, paging.OpLte:
		return compared(f.Op(), path, f.Values()[0])
	}
	panic("mempage: a filter of an unknown operator")
}

func in(path string, values []any) matcher {
	return of(path, func(v any) bool {
		return slices.ContainsFunc(values, func(value any) bool { return holds(paging.OpEq, v, value) })
	})
}

func compared(op paging.Op, path string, value any) matcher {
	return of(path, func(v any) bool { return holds(op, v, value) })
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

func all(filters []paging.Filter) matcher {
	matchers := compileAll(filters)
	return func(get getter) bool {
		return !slices.ContainsFunc(matchers, func(m matcher) bool { return !m(get) })
	}
}

func anyOf(filters []paging.Filter) matcher {
	matchers := compileAll(filters)
	return func(get getter) bool {
		return slices.ContainsFunc(matchers, func(m matcher) bool { return m(get) })
	}
}

func compileAll(filters []paging.Filter) []matcher {
	matchers := make([]matcher, len(filters))
	for i, f := range filters {
		matchers[i] = compile(f)
	}
	return matchers
}
