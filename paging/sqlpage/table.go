package sqlpage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/internal/sqldialect"
	"github.com/tenantkit/tenantkit/paging"
)

// Table says where the properties of a list's items are, and which of them tells
// whose item a row is. Set either Tenant or SharedByAllTenants. In SQLite the table is
// STRICT. A Table must not be changed once used. Its names consist of letters, digits
// and _. The statement quotes them: for PostgreSQL write them in lower case, unless
// the table was created with quoted names.
type Table struct {
	Name       string            // required: notes or public.notes
	Select     []string          // columns to return; at least one
	Properties map[string]Column // by path: all properties that filters and sorts may name; _id is required

	// Object is the property object of each item, for a table without a column of it.
	Object string

	Tenant             string // path of the property that holds the tenant: a String with its own column
	SharedByAllTenants bool   // every tenant sees every row

	// Where are the paths of properties that every statement compares with one value besides
	// the tenant, such as the account whose rows they are: Strings with their own columns. A
	// statement needs a value of RowScope.Where for each. They follow the tenant in each index.
	Where []string
}

// Column is the column of a property. With the zero Type, paging.Any, the column is a
// JSON document, and the path of the property leads into it. The package comment says
// which type of the database each Type needs.
type Column struct {
	Name    string // required, unless there is an UnsafeExpression
	Type    paging.Type
	NotNull bool // declared NOT NULL; without NotNull it may be NULL
	Storage Storage

	// Base is the path of the property that a document is. With the Base meta, the
	// property meta.po is po in the document. Without a Base the document is the item.
	Base string

	// UnsafeExpression is SQL over columns of the row, such as lower(email), that stands
	// for the column Name. It is copied into statements and indexes as it is. So the
	// program writes it, and no part of it is from a request. It must be immutable, and
	// must not fail for any row.
	UnsafeExpression string
}

// validate returns an error if the dialect or the table is not valid, apart from its columns. A
// statement validates the columns that it uses.
func (t *Table) validate(d Dialect) error {
	schema, name, qualified := strings.Cut(t.Name, ".")
	_, id := t.Properties["_id"]
	_, object := t.Properties["object"]
	switch {
	case !sqldialect.Known(d):
		return fmt.Errorf("sqlpage: %d is no dialect", d)
	case !validName(schema) || qualified && !validName(name):
		return fmt.Errorf("sqlpage: %q is no table name", t.Name)
	case len(t.Select) == 0 || slices.ContainsFunc(t.Select, func(name string) bool { return !validName(name) }):
		return fmt.Errorf("sqlpage: table %s: Select must be names of columns", t.Name)
	case !id:
		return fmt.Errorf("sqlpage: table %s: no _id", t.Name)
	case t.Object != "" && (object || !ascii.Name.Only(t.Object)):
		return fmt.Errorf("sqlpage: table %s: Object is no name, or object has a column", t.Name)
	case t.SharedByAllTenants == (t.Tenant != ""):
		return fmt.Errorf("sqlpage: table %s: set either Tenant or SharedByAllTenants", t.Name)
	}
	leading := t.leading()
	for i, path := range leading {
		if c := t.Properties[path]; c.Type != paging.String || c.Storage == Array || slices.Contains(leading[:i], path) {
			return fmt.Errorf("sqlpage: table %s: %q of Tenant or Where is no property of type String, or there twice", t.Name, path)
		}
	}
	return nil
}

// leading returns the paths of the properties that every statement compares with one value.
func (t *Table) leading() []string {
	if t.SharedByAllTenants {
		return t.Where
	}
	return append([]string{t.Tenant}, t.Where...)
}

func (c Column) validate(path string) error {
	switch {
	case c.UnsafeExpression != "" && c.Name != "":
		return fmt.Errorf("sqlpage: %q: set either Name or UnsafeExpression", path)
	case c.UnsafeExpression == "" && !validName(c.Name):
		return fmt.Errorf("sqlpage: %q: %q is no column name", path, c.Name)
	case columnTypes[form{c.Type, c.Storage}] == nil:
		return fmt.Errorf("sqlpage: %q is of an unknown type, or has a storage that its type has not", path)
	case c.Type == paging.Any && !validPath(c.inDocument(path)):
		return fmt.Errorf("sqlpage: %q is no path into a document", path)
	case c.Base != "" && (c.Type != paging.Any || !strings.HasPrefix(path, c.Base+".")):
		return fmt.Errorf("sqlpage: %q is not below the base %q of a document", path, c.Base)
	case c.Type != paging.Any && strings.HasSuffix(path, "[]") != (c.Storage == Array):
		return fmt.Errorf("sqlpage: %q: the path of an Array ends with [], and no other does", path)
	}
	return nil
}

// inDocument returns the path within the column's document.
func (c Column) inDocument(path string) string { return strings.TrimPrefix(path, c.Base+".") }

// validName reports whether name can be quoted without escapes.
func validName(name string) bool {
	return ascii.Name.Holds(name, 1, maxName) && !strings.Contains(name, "-") && !ascii.Digit.Has(name[0])
}

const maxName = 63 // bytes; PostgreSQL cuts longer names

// validPath reports whether each segment of path can be quoted without escapes and is
// the name of a member.
func validPath(path string) bool {
	return ascii.Dotted.Only(path) && !strings.Contains("."+path+".", "..")
}

// names returns the names of the schema, if there is one, and of the table.
func (t *Table) names() (schema, table string) {
	dot := strings.IndexByte(t.Name, '.')
	return t.Name[:max(dot, 0)], t.Name[dot+1:]
}

func (t *Table) quotedName() string { return quote(strings.ReplaceAll(t.Name, ".", `"."`)) }

func quote(name string) string { return `"` + name + `"` }

// RowScope says which rows a statement can return at most. The zero RowScope makes no
// statement for a table of several tenants, or with a Where. Without IDs and AllIDs no row is visible.
//
//	ids, all := grant.IDs() // a scope.Part
//	visible := sqlpage.RowScope{Tenant: string(principal.Org), IDs: ids, AllIDs: all}
type RowScope struct {
	Tenant string   // whose rows; required unless the table is SharedByAllTenants, which ignores it
	IDs    []string // the only _ids of rows
	AllIDs bool     // each _id of the tenant; IDs is ignored

	Where map[string]string // the value of each property of Table.Where, and of no other
}

// visible returns the condition for the rows that v allows.
func (s *statement) visible(v RowScope) string {
	condition := "TRUE"
	for _, path := range s.table.leading() {
		value := v.Where[path]
		if path == s.table.Tenant {
			value = v.Tenant
		}
		own := s.filter(paging.Eq(path, value))
		// An error, not an empty page: the server names the tenant, not the client.
		if own == "FALSE" || value == "" {
			s.check(fmt.Errorf("sqlpage: table %s: %q is no value for %q", s.table.Name, value, path))
		}
		condition = and(condition, own)
	}
	if len(v.Where) > len(s.table.Where) {
		s.check(fmt.Errorf("sqlpage: table %s: a value for a property that its Where does not have", s.table.Name))
	}
	if v.AllIDs {
		return condition
	}
	return and(condition, s.filter(paging.In("_id", v.IDs...)))
}
