package sqlpage

import (
	"strings"

	"github.com/tenantkit/tenantkit/paging"
)

// array is a column of texts in an array. A condition is true if it holds for one of
// them. An array has no place in a sort.
type array struct {
	name       string
	expression bool // the name is an UnsafeExpression
	dialect    Dialect
}

func (a array) compare(s *statement, op paging.Op, value any) string {
	if op == paging.OpEq {
		return a.in(s, []any{value})
	}
	if _, ok := value.(string); !ok {
		return "FALSE"
	}
	return a.some(a.text() + symbols[op] + s.bind(argument{value, "text"}))
}

func (a array) in(s *statement, values []any) string {
	var list []string
	for _, value := range values {
		if text, ok := value.(string); ok {
			list = append(list, s.bind(argument{text, "text"}))
		}
	}
	switch {
	case list == nil:
		return "FALSE"
	case a.dialect == PostgreSQL:
		return a.name + " && ARRAY[" + strings.Join(list, ", ") + "]" // a GIN index serves it
	}
	return a.some(a.text() + " IN " + row(list))
}

// text returns the text of an element, or NULL.
func (a array) text() string {
	if a.dialect == PostgreSQL {
		return "e" + bytewise(PostgreSQL)
	}
	return "CASE e.type WHEN 'text' THEN e.value END"
}

// some returns a condition that is true if an element e has the condition.
func (a array) some(condition string) string {
	elements := "json_each(" + a.name + ")"
	switch {
	case a.dialect == PostgreSQL:
		elements = "unnest(" + a.name + ")"
	case a.expression:
		// In json_each itself, a name such as value would be that of its own column.
		elements = "(SELECT " + a.name + " AS texts) AS a CROSS JOIN json_each(a.texts)"
	}
	return "EXISTS (SELECT 1 FROM " + elements + " AS e WHERE " + condition + ")"
}

func (a array) isNull() string {
	null := "e.type = 'null'"
	if a.dialect == PostgreSQL {
		null = "e IS NULL"
	}
	return "(" + a.name + " IS NULL OR " + a.some(null) + ")"
}

func (a array) exists() string { return a.name + " IS NOT NULL" }
