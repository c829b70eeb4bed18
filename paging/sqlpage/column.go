package sqlpage

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/paging"
)

// column is a property with a column of its own.
type column struct {
	Column
	name    string // quoted
	path    string
	dialect Dialect
}

func (c column) key() key {
	k := key{expression: c.name, nullable: !c.NotNull}
	if c.isText() {
		k.bytewise = c.dialect.bytewise()
	}
	return k
}

func (c column) isText() bool {
	return c.Type == paging.String || c.Type == paging.Date && c.dialect == SQLite
}

func (c column) compare(s *statement, op paging.Op, value any) string {
	if n, ok := value.(json.Number); ok && c.Type == paging.Integer && op != paging.OpEq {
		return c.compareInteger(s, op, n)
	}
	s.check(c.comparable(value))
	o, ok := c.operand(value)
	if !ok {
		return "FALSE"
	}
	return c.condition(s, op, o)
}

func (c column) compareInteger(s *statement, op paging.Op, n json.Number) string {
	op, bound, within, above := amongIntegers(op, n)
	switch less := op == paging.OpLt || op == paging.OpLte; {
	case within:
		return c.condition(s, op, operand{bound, "bigint"})
	case less == above:
		return c.name + " IS NOT NULL"
	}
	return "FALSE"
}

func (c column) condition(s *statement, op paging.Op, o operand) string {
	text := c.key().String() + symbols[op] + s.bind(o)
	if guard := c.guard(op); guard != "" {
		return "(" + text + " AND " + guard + ")"
	}
	return text
}

// guard keeps SQLite, whose columns may have values of any type and all types
// in one order, from finding a text that is greater than a number or a number
// that is less than a text.
func (c column) guard(op paging.Op) string {
	greater := op == paging.OpGt || op == paging.OpGte
	switch {
	case c.dialect != SQLite || op == paging.OpEq || greater == c.isText():
		return ""
	case greater:
		return "typeof(" + c.name + ") <> 'text'"
	}
	return "typeof(" + c.name + ") = 'text'"
}

var symbols = [...]string{
	paging.OpEq: " = ", paging.OpGt: " > ", paging.OpGte: " >= ", paging.OpLt: " < ", paging.OpLte: " <= ",
}

func (c column) in(s *statement, values []any) string {
	var list []string
	for _, value := range values {
		s.check(c.comparable(value))
		if o, ok := c.operand(value); ok {
			list = append(list, s.bind(o))
		}
	}
	if list == nil {
		return "FALSE"
	}
	return c.key().String() + " IN (" + strings.Join(list, ", ") + ")"
}

func (c column) isNull() string { return c.name + " IS NULL" }
func (c column) exists() string { return c.name + " IS NOT NULL" }
func (c column) keys() []key    { return []key{c.key()} }

func (c column) places(value any) bool {
	_, ok := c.operand(value)
	return ok || value == nil
}

func (c column) equal(s *statement, value any) []string {
	if value == nil {
		return []string{c.isNull()}
	}
	return []string{c.key().String() + " = " + c.bound(s, value)}
}

func (c column) beyond(s *statement, desc bool, value any) [][]string {
	switch {
	case value == nil && desc:
		return nil
	case value == nil:
		return [][]string{{c.exists()}}
	case !desc:
		return [][]string{{c.key().String() + " > " + c.bound(s, value)}}
	}
	ranges := [][]string{{c.key().String() + " < " + c.bound(s, value)}}
	if !c.NotNull {
		ranges = append(ranges, []string{c.isNull()})
	}
	return ranges
}

// bound returns the placeholder of a value that the column can have.
func (c column) bound(s *statement, value any) string {
	o, _ := c.operand(value)
	return s.bindOnce(o)
}

// operand returns what the column has where it equals value, or false where it
// never does.
func (c column) operand(value any) (operand, bool) {
	switch v := value.(type) {
	case bool:
		return c.boolean(v), c.Type == paging.Boolean
	case json.Number:
		return c.number(v)
	case string:
		if c.Type == paging.Date && c.dialect == PostgreSQL {
			t, ok := parseDate(v)
			return operand{t, "timestamptz"}, ok
		}
		return operand{v, "text"}, c.isText()
	}
	return operand{}, false
}

func (c column) boolean(v bool) operand {
	switch {
	case c.dialect == PostgreSQL:
		return operand{v, "boolean"}
	case v:
		return operand{int64(1), ""}
	}
	return operand{int64(0), ""}
}

func (c column) number(n json.Number) (operand, bool) {
	switch {
	case c.Type == paging.Integer:
		i, ok := whole(n)
		return operand{i, "bigint"}, ok
	case c.Type != paging.Number:
		return operand{}, false
	case c.Double:
		return operand{double(n), "double precision"}, true
	}
	return c.dialect.number(n), true
}

// number returns a number of any kind.
func (d Dialect) number(n json.Number) operand {
	if d == PostgreSQL {
		return operand{string(n), "numeric"}
	}
	if i, ok := whole(n); ok {
		return operand{i, ""}
	}
	return operand{double(n), ""}
}

// comparable returns an error for a text that a column of dates has no order
// with. Schema.Parse lets none through.
func (c column) comparable(value any) error {
	text, ok := value.(string)
	if !ok || c.Type != paging.Date {
		return nil
	}
	if _, ok := parseDate(text); !ok {
		return fmt.Errorf("sqlpage: %s is compared with a text that is no date", c.path)
	}
	return nil
}

// parseDate reads a date as filters have it. It is bound as a time, for
// PostgreSQL reads no text of the year 0.
func parseDate(text string) (time.Time, bool) {
	t, err := time.Parse("2006-01-02T15:04:05.000Z", text)
	return t, err == nil
}
