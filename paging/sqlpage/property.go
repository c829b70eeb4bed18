package sqlpage

import (
	"fmt"

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
	// equal returns the conditions for having the value, one for each key. The value
	// may be null or of another type. A condition is FALSE if no row can have the
	// value.
	equal(s *statement, value any) []string
	// beyond returns the ranges of an index that come after the value in a sort. Each
	// range is a list of conditions on the leading keys.
	beyond(s *statement, desc bool, value any) [][]string
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
