package sqlpage

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/paging"
)

// propertySQL is the SQL of one property. The conditions of its methods can stand
// beside AND and OR without parentheses. A condition is true if the filter matches,
// else false or NULL.
type propertySQL interface {
	// compare takes a value that is not null and a comparison operator.
	compare(s *statement, op paging.Op, value any) string
	// in takes values that are not null.
	in(s *statement, values []any) string
	isNull() string
	exists() string
}

// sortable is the SQL of a property that rows are sorted by. A cursor holds values of it.
type sortable interface {
	propertySQL
	// keys returns the expressions that rows are sorted by.
	keys() []key
	// at returns where a value is in a sort, for each key. The value may be null or of
	// another type.
	at(s *statement, desc bool, value any) []position
}

// position is where a value is in the order of one key.
type position struct {
	equal  string   // the condition for having the value; FALSE if no row can
	beyond []string // one for each range of values that come after it
}

// key is an expression that rows are sorted by. Its text is also the element of an
// index.
type key struct {
	expression string
	bytewise   string // a COLLATE clause, or empty
	nullable   bool   // may be NULL, which must sort first
}

func (k key) String() string { return k.expression + k.bytewise }

// property returns the SQL of the property at path. row is the prefix of the columns.
// Without a prefix, SQLite reads a column that does not exist as a text.
func (t *Table) property(path, row string, d Dialect) (propertySQL, error) {
	if path == "object" && t.Object != "" {
		constant := Column{Type: paging.String, NotNull: true}
		return column{Column: constant, name: "'" + t.Object + "'", path: path, dialect: d}, nil
	}
	c, ok := t.Properties[path]
	if !ok {
		return nil, fmt.Errorf("sqlpage: table %s has no property %q", t.Name, path)
	}
	if err := c.validate(path); err != nil {
		return nil, err
	}
	name := row + quote(c.Name)
	if c.UnsafeExpression != "" {
		name = "(" + c.UnsafeExpression + ")"
	}
	switch {
	case c.Type == paging.Any:
		return newDocumentProperty(name, c.inDocument(path), d), nil
	case c.Storage == Array:
		return array{name, c.UnsafeExpression != "", d}, nil
	}
	return column{Column: c, name: name, path: path, dialect: d}, nil
}

// sortProperty is property for a key of a sort.
func (t *Table) sortProperty(path, row string, d Dialect) (sortable, error) {
	p, err := t.property(path, row, d)
	if err != nil {
		return nil, err
	}
	s, ok := p.(sortable)
	if !ok {
		return nil, fmt.Errorf("sqlpage: table %s: nothing is sorted by %q, an array", t.Name, path)
	}
	return s, nil
}

// Storage is how a column stores a Type that has several forms. The zero Storage is
// the form that the package comment names first.
type Storage uint8

// These are the storages that a column must state.
const (
	// Double is a Number stored as a float64: double precision or REAL, without NaN.
	Double Storage = iota + 1
	// UUID is a String stored as uuid, in SQLite as TEXT. Its texts have one form: 36
	// characters in lower case. A text of another form matches nothing, whatever the
	// operator, and never reaches the database. So $prefix finds nothing by a part of a
	// uuid. The order is that of the texts, byte by byte.
	UUID
	// Milliseconds is a Date stored without parts of a millisecond: timestamp(3) with
	// time zone. An index on the column alone then serves a sort. Rows with parts of a
	// millisecond would be lost.
	Milliseconds
	// Day is a Date stored as date, in SQLite as TEXT like 2026-01-02. It is the
	// beginning of the day in UTC.
	Day
	// Enum is a String stored as a type of CREATE TYPE … AS ENUM, in SQLite as TEXT. Its
	// order is that of the texts, byte by byte. PostgreSQL makes no index of this order.
	// So Indexes refuses a schema that sorts by such a column. The package comment has
	// an expression that can be sorted by.
	Enum
	// Array is a String property whose path ends with [], such as tags[]. It is stored as
	// text[], in SQLite as TEXT of a JSON array. A condition is true if it holds for one
	// of the texts. $eq and $in read a GIN index on the column. A sort by an Array is
	// refused.
	Array
	// BigInt is a String stored as smallint, integer or bigint, in SQLite as INTEGER: an _id
	// such as 42, or a tenant. Clients see its digits. The order is that of the numbers, also
	// for filters, so 9 is before 10. A text of another form, such as 042, matches nothing.
	// A $prefix finds the number alone. The Guard needs a grammar with such identifiers: see
	// Digits.
	BigInt
)

// Digits reports whether text is an integer in the form that a BigInt has. It is the Identifier
// of a scope.Grammar for objects with such an _id:
//
//	guard := auth.Guard{Scopes: &scope.Grammar{Identifier: sqlpage.Digits}, …}
func Digits(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == text
}

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
	const others = " WHEN 'array' THEN 5 WHEN 'object' THEN 5 ELSE 0 END)"
	p := documentProperty{dialect: d, text: key{bytewise: bytewise[d]}}
	if d == SQLite {
		arguments := "(" + name + `, '$."` + strings.ReplaceAll(path, ".", `"."`) + `"')`
		kind, value := "json_type"+arguments, "json_extract"+arguments
		p.presence = kind
		p.rank.expression = "(CASE " + kind + " WHEN 'false' THEN 1 WHEN 'true' THEN 2 WHEN 'integer' THEN 3" +
			" WHEN 'real' THEN 3 WHEN 'text' THEN 4" + others
		p.number.expression = "(CASE WHEN " + kind + " IN ('integer', 'real') THEN " + value + " END)"
		p.text.expression = "(CASE " + kind + " WHEN 'text' THEN " + value + " END)"
		return p
	}
	value := name + " -> '" + strings.ReplaceAll(path, ".", "' -> '") + "'"
	kind := "CASE jsonb_typeof(" + value + ")"
	p.presence = "(" + value + ")"
	p.rank.expression = "(" + kind + " WHEN 'boolean' THEN CASE WHEN " + value + " = 'true' THEN 2 ELSE 1 END" +
		" WHEN 'number' THEN 3 WHEN 'string' THEN 4" + others
	p.number.expression = "(" + kind + " WHEN 'number' THEN (" + value + ")::numeric END)"
	p.text.expression = "(" + kind + " WHEN 'string' THEN (" + value + ") #>> '{}' END)"
	return p
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
	rank, symbol := rankOf(value), symbols[beyond(desc)]
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
	if !ok {
		return argument{value, "text"}
	}
	a := driverNumber(d.dialect, n)
	if _, isFloat := a.value.(float64); isFloat {
		return argument{string(n), "real"}
	}
	return a
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
