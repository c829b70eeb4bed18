package enginetest

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/mempage"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// item maps paths to properties: nil, bool, string, json.Number, []any and map[string]any. A
// missing property is not in the map.
type item map[string]any

func (i item) id() string { return i["_id"].(string) }

func get(i item, path string) (any, bool) {
	v, ok := i[path]
	return v, ok
}

// engine is a database with one table of items.
type engine struct {
	name    string
	db      *sql.DB
	dialect sqlpage.Dialect
	table   sqlpage.Table
	pages   *sqlpage.Pages
}

// columns are the properties with a column; all others are in the document.
var columns = []struct {
	path             string
	column           sqlpage.Column
	postgres, sqlite string
}{
	{"_id", sqlpage.Column{Name: "id", Type: paging.String, NotNull: true}, "text PRIMARY KEY", "TEXT PRIMARY KEY COLLATE NOCASE"},
	{"name", sqlpage.Column{Name: "name", Type: paging.String, NotNull: true}, "text NOT NULL", "TEXT NOT NULL COLLATE NOCASE"},
	{"text", sqlpage.Column{Name: "some_text", Type: paging.String}, "text", "TEXT"},
	{"count", sqlpage.Column{Name: "count", Type: paging.Integer, NotNull: true}, "integer NOT NULL", "INTEGER NOT NULL"},
	{"integer", sqlpage.Column{Name: "big", Type: paging.Integer}, "bigint", "INTEGER"},
	{"number", sqlpage.Column{Name: "num", Type: paging.Number}, "numeric", "ANY"},
	{"double", sqlpage.Column{Name: "dbl", Type: paging.Number, Storage: sqlpage.Double}, "double precision", "REAL"},
	{"flag", sqlpage.Column{Name: "flag", Type: paging.Boolean}, "boolean", "INTEGER"},
	{"at", sqlpage.Column{Name: "at", Type: paging.Date, Storage: sqlpage.Milliseconds}, "timestamp(3) with time zone", "TEXT"},
	{"moment", sqlpage.Column{Name: "moment", Type: paging.Date}, "timestamp with time zone", "TEXT"},
	{"day", sqlpage.Column{Name: "day", Type: paging.Date, Storage: sqlpage.Day}, "date", "TEXT"},
	{"uuid", sqlpage.Column{Name: "uuid", Type: paging.String, Storage: sqlpage.UUID}, "uuid", "TEXT"},
}

var inDocument = []string{"c_mixed", "c_text", "c_number", "c_flag", "c_deep.er"}

// schema has all properties whose values have one type in all items.
var schema = func() paging.Schema {
	s := paging.Schema{Object: "item"}
	add := func(path string, typ paging.Type) {
		s.Properties = append(s.Properties, paging.Property{Path: path, Type: typ, Filter: true, Sort: true, Null: true})
	}
	for _, c := range columns[1:] {
		add(c.path, c.column.Type)
	}
	add("c_text", paging.String)
	add("c_number", paging.Number)
	add("c_flag", paging.Boolean)
	add("c_deep.er", paging.Number)
	return s
}()

func newEngine(t testing.TB, name string, db *sql.DB, dialect sqlpage.Dialect, table string) *engine {
	t.Helper()
	e := &engine{name: name, db: db, dialect: dialect, pages: &sqlpage.Pages{DB: db, Dialect: dialect}}
	e.table = sqlpage.Table{Name: table, Select: []string{"id"}, Properties: map[string]sqlpage.Column{}, SharedByAllTenants: true}
	var create []string
	for _, c := range columns {
		e.table.Properties[c.path] = c.column
		typ := c.sqlite
		if dialect == sqlpage.PostgreSQL {
			typ = c.postgres
		}
		create = append(create, c.column.Name+" "+typ)
	}
	for _, path := range inDocument {
		e.table.Properties[path] = sqlpage.Column{Name: "doc"}
	}
	document, options := "doc TEXT NOT NULL CHECK (json_valid(doc))", " STRICT"
	if dialect == sqlpage.PostgreSQL {
		document, options = "doc jsonb NOT NULL", ""
	}
	e.exec(t, "CREATE TABLE "+table+" ("+strings.Join(append(create, document), ", ")+")"+options)
	indexes, err := sqlpage.Indexes(schema, e.table, dialect)
	if err != nil {
		t.Fatal(err)
	}
	for _, index := range indexes {
		e.exec(t, index)
	}
	t.Cleanup(func() { e.exec(t, "DROP TABLE "+table) })
	return e
}

// engines returns all databases, each with a table of that name.
func engines(t testing.TB, table string) []*engine {
	t.Helper()
	return []*engine{
		newEngine(t, "SQLite", sqlite(t), sqlpage.SQLite, table),
		newEngine(t, "PostgreSQL", postgres(t), sqlpage.PostgreSQL, table),
	}
}

func sqlite(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1) // in memory, each connection has its own database
	t.Cleanup(func() { db.Close() })
	return db
}

func (e *engine) exec(t testing.TB, text string, args ...any) {
	t.Helper()
	if _, err := e.db.Exec(text, args...); err != nil {
		t.Fatalf("%s: %s: %v", e.name, text, err)
	}
}

// fill replaces the content of the table.
func (e *engine) fill(t testing.TB, items []item) {
	t.Helper()
	e.exec(t, "DELETE FROM "+e.table.Name)
	e.insert(t, items...)
}

func (e *engine) insert(t testing.TB, items ...item) {
	t.Helper()
	var rows []string
	var args []any
	for _, i := range items {
		var row []string
		for _, c := range columns {
			args = append(args, e.value(c.column, i[c.path]))
			row = append(row, fmt.Sprintf("$%d", len(args)))
		}
		args = append(args, string(i.document()))
		rows = append(rows, "("+strings.Join(append(row, fmt.Sprintf("$%d", len(args))), ", ")+")")
	}
	if rows != nil {
		e.exec(t, "INSERT INTO "+e.table.Name+" VALUES "+strings.Join(rows, ", "), args...)
	}
}

func (e *engine) remove(t testing.TB, i item) {
	t.Helper()
	e.exec(t, "DELETE FROM "+e.table.Name+" WHERE id = $1", i.id())
}

// update changes the row of an item, if it still exists.
func (e *engine) update(t testing.TB, i item) {
	t.Helper()
	var set []string
	args := []any{i.id()}
	for _, c := range columns[1:] {
		args = append(args, e.value(c.column, i[c.path]))
		set = append(set, fmt.Sprintf("%s = $%d", c.column.Name, len(args)))
	}
	args = append(args, string(i.document()))
	set = append(set, fmt.Sprintf("doc = $%d", len(args)))
	e.exec(t, "UPDATE "+e.table.Name+" SET "+strings.Join(set, ", ")+" WHERE id = $1", args...)
}

// value returns a property as a driver takes it.
func (e *engine) value(c sqlpage.Column, v any) any {
	if e.dialect == sqlpage.PostgreSQL {
		if c.Type == paging.Date && v != nil {
			at, _ := time.Parse(time.RFC3339, v.(string))
			if c.Storage == 0 { // clients do not see the microseconds
				at = at.Add(rand.N(time.Millisecond).Truncate(time.Microsecond))
			}
			return at
		}
		if n, ok := v.(json.Number); ok {
			return string(n)
		}
		return v
	}
	if n, ok := v.(json.Number); ok {
		if i, err := n.Int64(); err == nil {
			return i
		}
		f, _ := n.Float64()
		return f
	}
	if c.Storage == sqlpage.Day && v != nil {
		return v.(string)[:len(time.DateOnly)]
	}
	return v
}

// document returns the JSON of the properties without a column.
func (i item) document() []byte {
	rest := item{}
	for _, path := range inDocument {
		if v, ok := i[path]; ok {
			rest[path] = v
		}
	}
	return rest.json()
}

// json returns the item with its paths as nested objects.
func (i item) json() []byte {
	tree := map[string]any{}
	for path, v := range i {
		outer, inner, nested := strings.Cut(path, ".")
		if nested {
			tree[outer] = map[string]any{inner: v}
		} else {
			tree[path] = v
		}
	}
	text, err := json.Marshal(tree)
	if err != nil {
		panic(err)
	}
	return text
}

// page returns the _ids of a page.
func (e *engine) page(t testing.TB, q paging.Query) (ids []string, more bool) {
	t.Helper()
	rows, err := e.pages.Query(t.Context(), q, e.table, everyRow)
	if err != nil {
		t.Fatalf("%s: %s: %v", e.name, q.Where, err)
	}
	ids = readIDs(t, rows)
	return ids, rows.More()
}

// rowsOfPage are *sql.Rows or *sqlpage.Rows.
type rowsOfPage interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close() error
}

// readIDs reads and closes the rows of a page.
func readIDs(t testing.TB, rows rowsOfPage) (ids []string) {
	t.Helper()
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return ids
}

// inMemory returns the _ids of a page by its definition.
func inMemory(items []item, q paging.Query) (ids []string, more bool) {
	page, more := mempage.Page(items, q, get)
	return idsOf(page), more
}

func idsOf(items []item) (ids []string) {
	for _, i := range items {
		ids = append(ids, i.id())
	}
	return ids
}
