package sqlpage

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/paging"
)

// documentProperty is the SQL of one property inside a JSON document. Each row may
// hold a value of another type. So each expression returns only one type and cannot
// fail on values of other types.
type documentProperty struct {
	presence string // NULL if the property is missing
	rank     key    // rank of the value's type
	number   key    // NULL if the value is no number
	text     key    // NULL if the value is no text
	dialect  Dialect
}

// These are the ranks of types, in the order of a sort.
const (
	rankNull   = 0 // or missing
	rankFalse  = 1
	rankTrue   = 2
	rankNumber = 3
	rankText   = 4
	rankOther  = 5 // arrays and objects
)

func newDocumentProperty(name, path string, d Dialect) documentProperty {
	if d == PostgreSQL {
		return postgresDocumentProperty(name + " -> '" + strings.ReplaceAll(path, ".", "' -> '") + "'")
	}
	return sqliteDocumentProperty(name + `, '$."` + strings.ReplaceAll(path, ".", `"."`) + `"'`)
}

func postgresDocumentProperty(value string) documentProperty {
	kind := "CASE jsonb_typeof(" + value + ")"
	return documentProperty{
		presence: "(" + value + ")",
		rank: key{expression: "(" + kind + " WHEN 'boolean' THEN CASE WHEN " + value + " = 'true' THEN 2 ELSE 1 END" +
			" WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END)"},
		number: key{expression: "(" + kind + " WHEN 'number' THEN (" + value + ")::numeric END)"},
		text: key{expression: "(" + kind + " WHEN 'string' THEN (" + value + ") #>> '{}' END)",
			bytewise: bytewise(PostgreSQL)},
		dialect: PostgreSQL,
	}
}

func sqliteDocumentProperty(arguments string) documentProperty {
	kind := "json_type(" + arguments + ")"
	value := "json_extract(" + arguments + ")"
	return documentProperty{
		presence: kind,
		rank: key{expression: "(CASE " + kind + " WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3" +
			" WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END)"},
		number: key{expression: "(CASE WHEN " + kind + " IN ('integer', 'real') THEN " + value + " END)"},
		text: key{expression: "(CASE " + kind + " WHEN 'text' THEN " + value + " END)",
			bytewise: bytewise(SQLite)},
		dialect: SQLite,
	}
}

func (d documentProperty) compare(s *statement, op paging.Op, value any) string {
	if b, ok := value.(bool); ok {
		return d.compareBoolean(op, b)
	}
	return d.ranked(rankOf(value), symbols[op]+s.bind(d.argument(value)))
}

// ranked returns a condition on the number key or the text key. The conditions on other
// keys are redundant, but these keys are before it in the index. The last one comes last,
// because a scan then seldom reads it.
func (d documentProperty) ranked(rank int, condition string) string {
	text := d.ranks(" = ", rank) + " AND " + d.keys()[keyIndex(rank)].String() + condition
	if rank == rankText {
		text += " AND " + d.number.String() + " IS NULL"
	}
	return "(" + text + ")"
}

// keyIndex returns the index of the key for values of a rank: the number key or the
// text key.
func keyIndex(rank int) int { return rank - rankNumber + 1 }

// ranks returns a comparison of the rank key with a rank.
func (d documentProperty) ranks(symbol string, rank int) string {
	return d.rank.expression + symbol + strconv.Itoa(rank)
}

func (d documentProperty) compareBoolean(op paging.Op, value bool) string {
	var ranks []string
	for _, b := range []bool{false, true} {
		if order, _ := paging.Compare(b, value); op.Holds(order) {
			ranks = append(ranks, strconv.Itoa(rankOf(b)))
		}
	}
	if ranks == nil {
		return "FALSE"
	}
	return d.rank.expression + " IN " + row(ranks)
}

func (d documentProperty) in(s *statement, values []any) string {
	var any []string
	var lists [rankText + 1][]string
	for _, value := range values {
		if b, ok := value.(bool); ok {
			any = append(any, d.compareBoolean(paging.OpEq, b))
			continue
		}
		rank := rankOf(value)
		lists[rank] = append(lists[rank], s.bind(d.argument(value)))
	}
	for rank, list := range lists {
		if list != nil {
			any = append(any, d.ranked(rank, " IN "+row(list)))
		}
	}
	return join(any, " OR ", "FALSE")
}

func (d documentProperty) isNull() string { return d.ranks(" = ", rankNull) }
func (d documentProperty) exists() string { return d.presence + " IS NOT NULL" }
func (d documentProperty) keys() []key    { return []key{d.rank, d.number, d.text} }

func (d documentProperty) at(s *statement, desc bool, value any) []position {
	rank, symbol := rankOf(value), " > "
	if desc {
		symbol = " < "
	}
	all := []position{{equal: d.ranks(" = ", rank)}, {equal: d.number.String() + " IS NULL"}, {equal: d.text.String() + " IS NULL"}}
	if rank != rankNull || !desc {
		all[0].beyond = []string{d.ranks(symbol, rank)}
	}
	if rank >= rankNumber {
		key, bound := d.keys()[keyIndex(rank)].String(), s.bindOnce(d.argument(value))
		all[keyIndex(rank)] = position{key + " = " + bound, []string{key + symbol + bound}}
	}
	return all
}

// argument returns a number or a text in the form that documents have. SQLite converts
// the text of a number in a document, not always to the nearest float64. So SQLite must
// convert this text too.
func (d documentProperty) argument(value any) argument {
	n, ok := value.(json.Number)
	switch {
	case !ok:
		return argument{value, "text"}
	case d.dialect == PostgreSQL:
		return driverNumber(d.dialect, n)
	}
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return argument{i, ""}
	}
	return argument{string(n), "real"}
}

func rankOf(value any) int {
	switch v := value.(type) {
	case nil:
		return rankNull
	case bool:
		if v {
			return rankTrue
		}
		return rankFalse
	case json.Number:
		return rankNumber
	}
	return rankText
}
