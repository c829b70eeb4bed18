package sqlpage

import (
	"encoding/json"
	"fmt"
	"math"
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

// rank is where a sort has the values of the column among those of other types.
func (c column) rank() int {
	switch c.Type {
	case paging.Boolean:
		return rankTrue
	case paging.Integer, paging.Number:
		return rankNumber
	}
	return rankText
}

// hasType reports whether a value, which is not null, is of the column's type.
func (c column) hasType(value any) bool {
	rank := rankOf(value)
	return rank == c.rank() || rank == rankFalse && c.Type == paging.Boolean
}

func (c column) compare(s *statement, op paging.Op, value any) string {
	s.check(c.comparable(value))
	switch {
	case c.hasType(value):
		return c.guarded(op, c.condition(op, value, s.bind))
	case c.mayHave(value):
		return c.text(op, value, s.bind)
	}
	return "FALSE"
}

// condition compares with a value of the column's type, as a sort does: in
// SQLite, where a column may have values of all types, those of a type that
// comes later are greater.
func (c column) condition(op paging.Op, value any, bind func(operand) string) string {
	if n, ok := value.(json.Number); ok && c.Type == paging.Integer {
		return c.integer(op, n, bind)
	}
	o, _ := c.operand(value)
	return c.key().String() + symbols[op] + bind(o)
}

func (c column) integer(op paging.Op, n json.Number, bind func(operand) string) string {
	if o, ok := c.number(n); ok {
		return c.name + symbols[op] + bind(o)
	}
	if op == paging.OpEq {
		return "FALSE"
	}
	op, bound, within, above := amongIntegers(op, n)
	switch less := op == paging.OpLt || op == paging.OpLte; {
	case within:
		return c.name + symbols[op] + bind(operand{bound, "bigint"})
	case c.dialect == SQLite:
		return c.name + symbols[op] + bind(operand{double(n), ""})
	case less == above:
		return c.name + " IS NOT NULL"
	}
	return "FALSE"
}

// guarded limits a comparison in SQLite to values of the column's type: SQLite
// orders every text after every number. An _id is a text in every row.
func (c column) guarded(op paging.Op, condition string) string {
	less := op == paging.OpLt || op == paging.OpLte
	switch {
	case c.dialect != SQLite || op == paging.OpEq || condition == "FALSE" || c.path == "_id":
		return condition
	case c.isText():
		return "(" + condition + " AND typeof(" + c.name + ") = 'text')"
	case less:
		return condition // in no column is less than a number
	}
	return "(" + condition + " AND " + c.isNumber() + ")"
}

func (c column) isNumber() string { return "typeof(" + c.name + ") IN ('integer', 'real')" }

// mayHave reports whether SQLite may have a value of another type in the
// column: a text among numbers. Among texts it has no numbers, which become
// texts there.
func (c column) mayHave(value any) bool {
	_, text := value.(string)
	return c.dialect == SQLite && text && !c.isText()
}

// text compares with a text what is one, among numbers. The + keeps a text like
// 10 from being taken for a number.
func (c column) text(op paging.Op, value any, bind func(operand) string) string {
	return "(typeof(" + c.name + ") = 'text' AND +" + c.name + c.dialect.bytewise() +
		symbols[op] + bind(operand{value, "text"}) + ")"
}

var symbols = [...]string{
	paging.OpEq: " = ", paging.OpGt: " > ", paging.OpGte: " >= ", paging.OpLt: " < ", paging.OpLte: " <= ",
}

func (c column) in(s *statement, values []any) string {
	var list, texts []string
	for _, value := range values {
		s.check(c.comparable(value))
		if o, ok := c.operand(value); ok {
			list = append(list, s.bind(o))
		} else if c.mayHave(value) {
			texts = append(texts, c.text(paging.OpEq, value, s.bind))
		}
	}
	if list != nil {
		texts = append(texts, c.key().String()+" IN ("+strings.Join(list, ", ")+")")
	}
	return join(texts, " OR ", "FALSE")
}

func (c column) isNull() string { return c.name + " IS NULL" }
func (c column) exists() string { return c.name + " IS NOT NULL" }
func (c column) keys() []key    { return []key{c.key()} }

// canHave reports whether the column can have the value, and not as NULL.
func (c column) canHave(value any) bool {
	_, ok := c.operand(value)
	return ok
}

// bound returns the placeholder of a value that the column can have.
func (c column) bound(s *statement, value any) string {
	o, _ := c.operand(value)
	return s.bindOnce(o)
}

func (c column) equal(s *statement, value any) []string {
	switch {
	case value == nil:
		return []string{c.isNull()}
	case c.hasType(value):
		return []string{c.condition(paging.OpEq, value, s.bindOnce)}
	case c.mayHave(value):
		return []string{c.text(paging.OpEq, value, s.bindOnce)}
	}
	return []string{"FALSE"}
}

func (c column) beyond(s *statement, desc bool, value any) [][]string {
	if value == nil && desc {
		return nil
	}
	if value == nil {
		return [][]string{{c.exists()}}
	}
	s.check(c.comparable(value))
	var ranges [][]string
	if condition := c.beyondValue(s, desc, value); condition != "FALSE" {
		ranges = append(ranges, []string{condition})
	}
	if desc && !c.NotNull {
		ranges = append(ranges, []string{c.isNull()})
	}
	return ranges
}

// beyondValue is what comes after a value in a sort, save null.
func (c column) beyondValue(s *statement, desc bool, value any) string {
	op := paging.OpGt
	if desc {
		op = paging.OpLt
	}
	above := rankOf(value) > c.rank()
	switch {
	case c.hasType(value):
		return c.condition(op, value, s.bindOnce)
	case c.mayHave(value) && desc:
		return "(" + c.isNumber() + " OR " + c.text(op, value, s.bindOnce) + ")"
	case c.mayHave(value):
		return "(" + c.text(op, value, s.bindOnce) + " OR typeof(" + c.name + ") = 'blob')"
	case above && c.dialect == SQLite && desc:
		return c.isNumber()
	case above && c.dialect == SQLite:
		return "typeof(" + c.name + ") IN ('text', 'blob')"
	case above == desc:
		return c.exists()
	}
	return "FALSE"
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
		if d := double(n); !ok && c.dialect == SQLite && d != math.Trunc(d) {
			return operand{d, ""}, true // where a column of integers may have it
		}
		return operand{i, "bigint"}, ok
	case c.Type != paging.Number:
		return operand{}, false
	case c.Double:
		return operand{double(n), "double precision"}, true
	}
	return c.dialect.number(n), true
}

// number returns a number as a column has it that a program filled.
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
	t, err := time.Parse(paging.DateLayout, text)
	return t, err == nil
}
