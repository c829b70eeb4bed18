package mempage

import (
	"slices"

	"github.com/tenantkit/tenantkit/paging"
)

// property returns a property of the row at hand.
type property func(path string) value

// matcher is a compiled filter.
type matcher func(property) bool

func compile(f paging.Filter) matcher {
	path := f.Path()
	switch f.Op() {
	case paging.OpAll:
		return func(property) bool { return true }
	case paging.OpAnd:
		return all(f.Filters())
	case paging.OpOr:
		return anyOf(f.Filters())
	case paging.OpNot:
		inner := compile(f.Filters()[0])
		return func(p property) bool { return !inner(p) }
	case paging.OpExists:
		return func(p property) bool { return p(path).kind != missing }
	case paging.OpIn:
		operands := operands(f)
		return func(p property) bool { return slices.ContainsFunc(operands, p(path).equals) }
	}
	return ordered(f.Op(), path, operands(f)[0])
}

// ordered compiles a comparison with one value.
func ordered(op paging.Op, path string, operand value) matcher {
	var holds func(order int) bool
	switch op {
	case paging.OpEq:
		return func(p property) bool { return p(path).equals(operand) }
	case paging.OpGt:
		holds = func(order int) bool { return order > 0 }
	case paging.OpGte:
		holds = func(order int) bool { return order >= 0 }
	case paging.OpLt:
		holds = func(order int) bool { return order < 0 }
	case paging.OpLte:
		holds = func(order int) bool { return order <= 0 }
	default:
		panic("mempage: a filter of an unknown operator")
	}
	return func(p property) bool {
		v := p(path)
		return v.kind == operand.kind && holds(v.order(operand))
	}
}

func all(filters []paging.Filter) matcher {
	matchers := compileAll(filters)
	return func(p property) bool {
		return !slices.ContainsFunc(matchers, func(m matcher) bool { return !m(p) })
	}
}

func anyOf(filters []paging.Filter) matcher {
	matchers := compileAll(filters)
	return func(p property) bool {
		return slices.ContainsFunc(matchers, func(m matcher) bool { return m(p) })
	}
}

func compileAll(filters []paging.Filter) []matcher {
	matchers := make([]matcher, len(filters))
	for i, f := range filters {
		matchers[i] = compile(f)
	}
	return matchers
}

func operands(f paging.Filter) []value { return valuesOf(f.Values()) }
