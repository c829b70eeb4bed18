package sqlpage

import (
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/paging"
)

// filter returns a condition that is true if f matches. It can stand beside AND and
// OR without parentheses.
func (s *statement) filter(f paging.Filter) string {
	switch f.Op() {
	case paging.OpAnd:
		return join(s.filters(f), " AND ", "TRUE")
	case paging.OpOr:
		return join(s.filters(f), " OR ", "FALSE")
	case paging.OpNot:
		inner := f.Filters()[0]
		if inner.Op() == paging.OpExists || inner.Op() == paging.OpEq && inner.Values()[0] == nil {
			return "NOT (" + s.filter(inner) + ")" // it is never NULL
		}
		return "NOT COALESCE(" + s.filter(inner) + ", FALSE)"
	}
	p := s.property(f.Path())
	if p == nil {
		return "FALSE"
	}
	if f.Op() == paging.OpExists {
		return p.exists()
	}
	return s.values(p, f)
}

// values compiles an operator that takes values.
func (s *statement) values(p propertySQL, f paging.Filter) string {
	values := f.Values()
	n := len(values)
	values = slices.DeleteFunc(values, func(v any) bool { return v == nil })
	if f.Op() != paging.OpIn && len(values) > 0 {
		return p.compare(s, f.Op(), values[0])
	}
	var conditions []string
	if len(values) < n {
		conditions = append(conditions, p.isNull())
	}
	if len(values) > 0 {
		conditions = append(conditions, p.in(s, values))
	}
	return join(conditions, " OR ", "FALSE")
}

func (s *statement) filters(f paging.Filter) []string {
	var conditions []string
	for _, part := range f.Filters() {
		conditions = append(conditions, s.filter(part))
	}
	return conditions
}

// join combines conditions with an operator. empty is the result without conditions.
func join(conditions []string, operator, empty string) string {
	switch len(conditions) {
	case 0:
		return empty
	case 1:
		return conditions[0]
	}
	return "(" + strings.Join(conditions, operator) + ")"
}
