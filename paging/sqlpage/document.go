package sqlpage

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/paging"
)

// document is a property in a JSON document. It may be of any type in each row,
// so that each of its expressions is of one type and cannot fail on another.
type document struct {
	there   string // NULL where it is missing
	rank    key    // its type, and of a boolean the value
	number  key    // NULL where it is none
	text    key    // NULL where it is none
	dialect Dialect
}

// The ranks, in the order in which a sort has them.
const (
	rankNull   = 0 // and missing
	rankFalse  = 1
	rankTrue   = 2
	rankNumber = 3
	rankText   = 4 // and 5: arrays and objects
)

func newDocument(name, path string, d Dialect) document {
	if d == PostgreSQL {
		return postgresDocument(name + " -> '" + strings.ReplaceAll(path, ".", "' -> '") + "'")
	}
	return sqliteDocument(name + `, '$."` + strings.ReplaceAll(path, ".", `"."`) + `"'`)
}

func postgresDocument(value string) document {
	kind := "CASE jsonb_typeof(" + value + ")"
	return document{
		there: "(" + value + ")",
		rank: key{expression: "(" + kind + " WHEN 'boolean' THEN CASE WHEN " + value + " = 'true' THEN 2 ELSE 1 END" +
			" WHEN 'number' THEN 3 WHEN 'string' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END)"},
		number: key{expression: "(" + kind + " WHEN 'number' THEN (" + value + ")::numeric END)"},
		text: key{expression: "(" + kind + " WHEN 'string' THEN (" + value + ") #>> '{}' END)",
			bytewise: PostgreSQL.bytewise()},
		dialect: PostgreSQL,
	}
}

func sqliteDocument(arguments string) document {
	kind := "json_type(" + arguments + ")"
	value := "json_extract(" + arguments + ")"
	return document{
		there: kind,
		rank: key{expression: "(CASE " + kind + " WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3" +
			" WHEN 'real' THEN 3 WHEN 'text' THEN 4 WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END)"},
		number: key{expression: "(CASE WHEN " + kind + " IN ('integer', 'real') THEN " + value + " END)"},
		text: key{expression: "(CASE " + kind + " WHEN 'text' THEN " + value + " END)",
			bytewise: SQLite.bytewise()},
		dialect: SQLite,
	}
}

func (d document) compare(s *statement, op paging.Op, value any) string {
	switch v := value.(type) {
	case bool:
		return d.compareBoolean(op, v)
	case json.Number:
		return d.ranked(rankNumber, d.number, symbols[op]+s.bind(d.numeral(v)))
	}
	return d.ranked(rankText, d.text, symbols[op]+s.bind(operand{value, "text"}))
}

// ranked has the rank although the key alone would do, for it leads the index.
func (d document) ranked(rank int, k key, condition string) string {
	return "(" + d.ranks(" = ", rank) + " AND " + k.String() + condition + ")"
}

func (d document) ranks(symbol string, rank int) string {
	return d.rank.expression + symbol + strconv.Itoa(rank)
}

func (d document) compareBoolean(op paging.Op, value bool) string {
	ofFalse, _ := paging.Compare(false, value)
	ofTrue, _ := paging.Compare(true, value)
	switch isFalse, isTrue := op.Holds(ofFalse), op.Holds(ofTrue); {
	case isFalse && isTrue:
		return d.rank.expression + " IN (1, 2)"
	case isFalse:
		return d.ranks(" = ", rankFalse)
	case isTrue:
		return d.ranks(" = ", rankTrue)
	}
	return "FALSE"
}

func (d document) in(s *statement, values []any) string {
	var numbers, texts, any []string
	for _, value := range values {
		switch v := value.(type) {
		case bool:
			any = append(any, d.compareBoolean(paging.OpEq, v))
		case json.Number:
			numbers = append(numbers, s.bind(d.numeral(v)))
		default:
			texts = append(texts, s.bind(operand{v, "text"}))
		}
	}
	if numbers != nil {
		any = append(any, d.ranked(rankNumber, d.number, " IN ("+strings.Join(numbers, ", ")+")"))
	}
	if texts != nil {
		any = append(any, d.ranked(rankText, d.text, " IN ("+strings.Join(texts, ", ")+")"))
	}
	return join(any, " OR ", "FALSE")
}

func (d document) isNull() string { return d.ranks(" = ", rankNull) }
func (d document) exists() string { return d.there + " IS NOT NULL" }
func (d document) keys() []key    { return []key{d.rank, d.number, d.text} }

func (d document) equal(s *statement, value any) []string {
	rank, number, text := rankOf(value), " IS NULL", " IS NULL"
	switch rank {
	case rankNumber:
		number = " = " + d.bound(s, value)
	case rankText:
		text = " = " + d.bound(s, value)
	}
	return []string{d.ranks(" = ", rank), d.number.String() + number, d.text.String() + text}
}

func (d document) beyond(s *statement, desc bool, value any) [][]string {
	rank, symbol := rankOf(value), " > "
	if desc {
		symbol = " < "
	}
	var ranges [][]string
	if rank == rankNumber || rank == rankText {
		ranges = append(ranges, d.within(s, rank, symbol, value))
	}
	if rank == rankNull && desc {
		return nil
	}
	return append(ranges, []string{d.ranks(symbol, rank)})
}

// within compares with a value among those of its own type.
func (d document) within(s *statement, rank int, symbol string, value any) []string {
	conditions := []string{d.ranks(" = ", rank)}
	if rank == rankNumber {
		return append(conditions, d.number.String()+symbol+d.bound(s, value))
	}
	return append(conditions, d.number.String()+" IS NULL", d.text.String()+symbol+d.bound(s, value))
}

func (d document) bound(s *statement, value any) string {
	if n, ok := value.(json.Number); ok {
		return s.bindOnce(d.numeral(n))
	}
	return s.bindOnce(operand{value, "text"})
}

// numeral returns a number as a document has it. There SQLite converted the text,
// and not always to the nearest float64: so it converts this one too.
func (d document) numeral(n json.Number) operand {
	if d.dialect == PostgreSQL {
		return d.dialect.number(n)
	}
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return operand{i, ""}
	}
	return operand{string(n), "real"}
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
