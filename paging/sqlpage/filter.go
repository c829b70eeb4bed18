package sqlpage

import (
	"strings"

	"github.com/tenantkit/tenantkit/paging"
)

// filter returns a condition that is true where f matches, and an operand of
// AND and OR as it stands.
func (s *statement) filter(f paging.Filter) string {
	switch f.Op() {
	case paging.OpAll:
		return "TRUE"
	case paging.OpAnd:
		return join(s.filters(f), " AND ", "TRUE")
	case paging.OpOr:
		return join(s.filters(f), " OR ", "FALSE")
	case paging.OpNot:
		return s.negation(f.Filters()[0])
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

// values compiles an operator that has values.
func (s *statement) values(p property, f paging.Filter) string {
	var conditions []string
	var values []any
	for _, v := range f.Values() {
		switch {
		case v != nil:
			values = append(values, v)
		case conditions == nil:
			conditions = []string{p.isNull()}
		}
	}
	switch {
	case f.Op() != paging.OpIn && values != nil:
		return p.compare(s, f.Op(), values[0])
	case values != nil:
		conditions = append(conditions, p.in(s, values))
	}
	return join(conditions, " OR ", "FALSE")
}

// negation is true where f is false and where it is NULL.
func (s *statement) negation(f paging.Filter) string {
	switch {
	case f.Op() == paging.OpAll:
		return "FALSE"
	case f.Op() == paging.OpExists || f.Op() == paging.OpEq && f.Values()[0] == nil:
		return "NOT (" + s.filter(f) + ")" // which is never NULL
	}
	return "NOT COALESCE(" + s.filter(f) + ", FALSE)"
}

func (s *statement) filters(f paging.Filter) []string {
	var conditions []string
	for _, part := range f.Filters() {
		conditions = append(conditions, s.filter(part))
	}
	return conditions
}

// join combines conditions; empty is what none of them are.
func join(conditions []string, operator, empty string) string {
	switch len(conditions) {
	case 0:
		return empty
	case 1:
		return conditions[0]
	}
	return "(" + strings.Join(conditions, operator) + ")"
}
