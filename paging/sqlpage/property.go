package sqlpage

import (
	"fmt"

	"github.com/tenantkit/tenantkit/paging"
)

// property is a property of a row as SQL. A condition that it returns is an
// operand of AND and OR as it stands, and true where the filter matches; else
// it is false or NULL.
type property interface {
	// compare has a value that is not null, and an operator that takes one.
	compare(s *statement, op paging.Op, value any) string
	// in has values that are not null.
	in(s *statement, values []any) string
	isNull() string
	exists() string

	// keys are what rows are sorted by.
	keys() []key
	// equal returns conditions on the keys, one by one, of having the value,
	// which may be null or of another type; FALSE where it is never had.
	equal(s *statement, value any) []string
	// beyond returns conditions on the leading keys of having what comes after
	// the value in a sort: each element is one range of an index.
	beyond(s *statement, desc bool, value any) [][]string
}

// key is an expression that rows are sorted by. As a text it is also what an
// index is over.
type key struct {
	expression string
	bytewise   string // a COLLATE clause, or nothing
	nullable   bool   // NULL must come first
}

func (k key) String() string { return k.expression + k.bytewise }

// property returns what a path is in the table. Columns are prefixed with row,
// without which SQLite takes one that is not there for a text.
func (t *Table) property(path, row string, d Dialect) (property, error) {
	c, ok := t.Properties[path]
	if !ok {
		return nil, fmt.Errorf("sqlpage: table %s has no property %q", t.Name, path)
	}
	name := row + quote(c.Name)
	if c.Type == paging.Any {
		return newDocument(name, path, d), nil
	}
	return column{Column: c, name: name, path: path, dialect: d}, nil
}
