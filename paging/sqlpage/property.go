package sqlpage

import (
	"fmt"
	"strconv"

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

// isUUID reports whether text is a UUID in the form that PostgreSQL writes. All such
// texts have their hyphens at the same places, and 0-9 are before a-f in ASCII. So
// their order is the order of the bytes, by which PostgreSQL sorts uuid.
func isUUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i, c := range []byte(text) {
		hyphen := i == 8 || i == 13 || i == 18 || i == 23
		digit := '0' <= c && c <= '9' || 'a' <= c && c <= 'f'
		if hyphen != (c == '-') || !hyphen && !digit {
			return false
		}
	}
	return true
}
