package sqlpage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/paging"
)

// Check compares a schema and a table with each other and with the database, when a program
// starts. It returns an error if pages would fail, lack rows or be slow. The error lists all that is
// wrong, and what to change. within are the properties that every query compares with one value, as
// for Indexes. The package comment says what is checked.
//
// A failure of the database is an error, too. So ctx should have a deadline.
func Check(ctx context.Context, db *sql.DB, dialect Dialect, schema paging.Schema, table Table, within ...string) error {
	if _, err := table.indexes(paging.Schema{}, dialect, within); err != nil {
		return err // an invalid table, dialect or within
	}
	c := &check{
		ctx: ctx, db: db, dialect: dialect, schema: &schema, table: &table, within: within,
		wrong: map[string]bool{}, named: []any{table.quotedName()},
	}
	if dialect == SQLite {
		schema, name := table.names()
		c.named = []any{name, schema}
	}
	c.properties()
	err := c.columns()
	if err == nil {
		err = c.sorts()
	}
	if err != nil {
		c.problem("", "%w", err)
	}
	return errors.Join(c.problems...)
}

type check struct {
	ctx     context.Context
	db      *sql.DB
	dialect Dialect
	schema  *paging.Schema
	table   *Table
	within  []string
	named   []any // the name of the table, for the statements of catalogues

	view     bool
	wrong    map[string]bool // paths with a problem, by which no page can be planned
	problems []error
}

// problem adds a problem of the property at path, or of the table if path is empty.
func (c *check) problem(path, format string, args ...any) {
	subject := "sqlpage: table " + c.table.Name
	if path != "" {
		c.wrong[path] = true
		subject += ": " + path
	}
	c.problems = append(c.problems, fmt.Errorf("%s: %w", subject, fmt.Errorf(format, args...)))
}

// properties compares the schema with the table.
func (c *check) properties() {
	if c.table.Properties["_id"].Type != paging.String {
		c.problem("_id", "must be of the type String: for a number, set Storage: sqlpage.BigInt")
	}
	if object := c.table.Properties["object"]; c.table.Object == "" && object.Type != paging.String {
		c.problem("object", "every caller may filter by it: set Object in the Table, or give it a column of texts")
	}
	for _, p := range c.schema.Properties {
		column, ok := c.table.Properties[p.Path]
		switch {
		case !c.comparable(p):
		case !ok:
			c.problem(p.Path, "callers may filter or sort by it: give it a column in the Table")
		case column.Type != paging.Any && kind(column.Type) != kind(p.Type):
			c.problem(p.Path, "is %s in the Schema and %s in the Table", p.Type, column.Type)
		case p.Sort && column.Storage == Enum && c.dialect == PostgreSQL:
			c.problem(p.Path, "callers may sort by it: PostgreSQL cannot index the order of an enum")
		}
	}
}

// comparable reports whether callers may compare a property.
func (c *check) comparable(p paging.Property) bool {
	return (p.Filter || p.Sort) && p.Type != paging.Any && p.List == nil && c.schema.Visible(p.Path)
}

// kind returns the type that a type is compared with.
func kind(t paging.Type) paging.Type {
	if t == paging.Integer {
		return paging.Number
	}
	return t
}

// catalogued is what the database says of a column.
type catalogued struct {
	name      string // without case in SQLite
	typ       string // lower case; a domain is its base type, and an enum "enum"; empty if it is not known
	precision int    // of a time in PostgreSQL, or negative
	notNull   bool   // or a column of a view, of which nothing says it
	unordered bool   // texts that differ may be equal: a nondeterministic collation
}

// columns compares the table with the database.
func (c *check) columns() error {
	found, err := c.catalogue()
	if err != nil {
		return err
	}
	byName := map[string]catalogued{}
	for _, f := range found {
		byName[f.name] = f
	}
	for _, name := range c.table.Select {
		if _, ok := byName[c.nameOf(name)]; !ok {
			c.problem("", "Select: there is no column %s", name)
			c.wrong["_id"] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(c.table.Properties)) {
		says := c.table.Properties[path]
		is, ok := byName[c.nameOf(says.Name)]
		if says.UnsafeExpression != "" {
			if is, err = c.expression(says.UnsafeExpression); err != nil {
				c.problem(path, "%w", err)
				continue
			}
			ok = true
		}
		if !ok {
			c.problem(path, "there is no column %s", says.Name)
			continue
		}
		c.compare(path, says, is)
	}
	return nil
}

func (c *check) nameOf(name string) string {
	if c.dialect == SQLite {
		return strings.ToLower(name)
	}
	return name
}

// compare compares what the table says of a property with the column.
func (c *check) compare(path string, says Column, is catalogued) {
	accepted := columnTypes[form{says.Type, says.Storage}][c.dialect]
	switch {
	case is.typ != "" && !slices.Contains(accepted, is.typ):
		c.problem(path, "is %s in the database, and the Table needs %s%s", is.typ, strings.Join(accepted, " or "), c.instead(is.typ))
	case says.Storage == Milliseconds && c.dialect == PostgreSQL && (is.precision < 0 || is.precision > 3):
		c.problem(path, "is timestamp with time zone, and Milliseconds needs timestamp(3) with time zone: leave Storage out")
	case says.Storage == Array && is.unordered:
		c.problem(path, "has a nondeterministic collation, in which texts that differ are equal: give it another one")
	}
	if says.NotNull && !is.notNull {
		c.problem(path, "NotNull is set, but the column may be NULL: declare it NOT NULL, or leave NotNull out")
	}
}

// form is a Type with its Storage.
type form struct {
	typ     paging.Type
	storage Storage
}

// columnTypes has the types of columns by form, in PostgreSQL and in SQLite.
var columnTypes = map[form]map[Dialect][]string{
	{paging.Any, 0}:             {PostgreSQL: {"jsonb"}, SQLite: {"text", "blob"}},
	{paging.String, 0}:          {PostgreSQL: {"text", "character varying"}, SQLite: {"text"}},
	{paging.String, UUID}:       {PostgreSQL: {"uuid"}, SQLite: {"text"}},
	{paging.String, Enum}:       {PostgreSQL: {"enum"}, SQLite: {"text"}},
	{paging.String, Array}:      {PostgreSQL: {"text[]"}, SQLite: {"text"}},
	{paging.String, BigInt}:     {PostgreSQL: {"smallint", "integer", "bigint"}, SQLite: {"integer", "int"}},
	{paging.Integer, 0}:         {PostgreSQL: {"smallint", "integer", "bigint"}, SQLite: {"integer", "int"}},
	{paging.Number, 0}:          {PostgreSQL: {"numeric"}, SQLite: {"integer", "int", "real", "any"}},
	{paging.Number, Double}:     {PostgreSQL: {"double precision"}, SQLite: {"real"}},
	{paging.Boolean, 0}:         {PostgreSQL: {"boolean"}, SQLite: {"integer", "int"}},
	{paging.Date, 0}:            {PostgreSQL: {"timestamp with time zone"}, SQLite: {"text"}},
	{paging.Date, Milliseconds}: {PostgreSQL: {"timestamp with time zone"}, SQLite: {"text"}},
	{paging.Date, Day}:          {PostgreSQL: {"date"}, SQLite: {"text"}},
}

// instead returns what to write in PostgreSQL for a type that was met.
func (c *check) instead(typ string) string {
	if c.dialect == PostgreSQL && advice[typ] != "" {
		return ": " + advice[typ]
	}
	return ""
}

const asNumber = "set Type: paging.Integer, or Storage: sqlpage.BigInt for an _id"

var advice = map[string]string{
	"citext":              "citext compares and sorts without case; make it text, or set UnsafeExpression to the cast, such as email::text",
	"uuid":                "set Storage: sqlpage.UUID",
	"enum":                "set Storage: sqlpage.Enum",
	"text[]":              "set Storage: sqlpage.Array, with a path that ends with []",
	"double precision":    "set Storage: sqlpage.Double",
	"real":                "make it double precision",
	"date":                "set Storage: sqlpage.Day",
	"numeric":             "set Type: paging.Number",
	"bigint":              asNumber,
	"integer":             asNumber,
	"json":                "make it jsonb",
	"character varying[]": "make it text[], or set UnsafeExpression to the cast, such as tags::text[]",
	"character":           "it is compared without its last blanks; make it text",

	"timestamp without time zone": "make it timestamp with time zone, or set UnsafeExpression to made AT TIME ZONE 'UTC'",
}
