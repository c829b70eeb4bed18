package sqlcheck

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// sorts has the database plan the first page and a deep page of each sort.
func (c *check) sorts() {
	for _, path := range append([]string{"_id", c.table.Tenant}, c.within...) {
		if c.wrong[path] {
			return
		}
	}
	c.sort(paging.Property{Path: "_id", Type: paging.String})
	for _, p := range c.schema.Properties {
		if p.Sort && c.comparable(p) && p.Path != "_id" && !c.wrong[p.Path] {
			c.sort(p)
		}
	}
}

func (c *check) sort(p paging.Property) {
	p.Sort = true
	indexes, err := sqlpage.Indexes(paging.Schema{Properties: []paging.Property{p}}, *c.table, c.dialect, c.within[len(c.table.Where):]...)
	if err != nil {
		c.problem(p.Path, "callers may sort by it: %w", err)
		return
	}
	if p.Path != "_id" {
		indexes = indexes[1:] // up and down
	}
	for i, index := range indexes {
		trouble, err := c.plans(p, i == 1)
		if err != nil {
			c.problem(p.Path, "%w", err)
			return
		}
		if trouble == "" {
			continue
		}
		where := "create"
		if c.view {
			where = "create for the tables of the view, in their names,"
		}
		long, err := c.longest(p.Path)
		if err != nil {
			c.problem(p.Path, "%w", err)
			return
		}
		c.problem(p.Path, "a sort by it %s: %s\n\t%s%s", trouble, where, index, long)
	}
}

// maxIndexed is how many bytes PostgreSQL takes for the values of a row in one index, roughly: it
// compresses them first.
const maxIndexed = 2700

// longest says how long the longest text of a property is, if no index can have it. It reads all
// rows, so it is asked for only if the index is missing.
func (c *check) longest(path string) (advice string, err error) {
	column := c.table.Properties[path]
	if c.dialect != sqlpage.PostgreSQL || column.Type != paging.String || column.Storage != 0 {
		return "", nil
	}
	name := cmp.Or(column.UnsafeExpression, `"`+column.Name+`"`)
	var bytes int
	if err := c.db.QueryRowContext(c.ctx, "SELECT coalesce(max(octet_length("+name+")), 0) FROM "+c.quotedName()).Scan(&bytes); err != nil || bytes <= maxIndexed {
		return "", err
	}
	return fmt.Sprintf("\n\tThe longest text has %d bytes. PostgreSQL refuses about %d in one index: shorten it, and add CHECK (octet_length(%s) <= 2000).", bytes, maxIndexed, name), nil
}

// plans returns what is wrong with the plans of a sort.
func (c *check) plans(p paging.Property, desc bool) (trouble string, err error) {
	first := paging.Query{Sort: []paging.Key{{Path: p.Path, Desc: desc}}, Limit: 100}
	for _, path := range c.within[len(c.table.Where):] {
		text, err := json.Marshal(map[string]any{path: c.sample(path, paging.String)})
		if err != nil {
			return "", err
		}
		f, err := paging.ParseFilter(string(text))
		if err != nil {
			return "", err
		}
		first.Where = paging.And(first.Where, f)
	}
	after := []any{c.sample(p.Path, p.Type)}
	if p.Path != "_id" {
		after = append(after, c.sample("_id", paging.String))
	}
	deep, err := first.After(after...)
	if err != nil {
		return "", err
	}
	for _, q := range []paging.Query{first, deep} {
		if trouble, err = c.plan(q); trouble != "" || err != nil {
			return trouble, err
		}
	}
	return "", nil
}

// These values stand for any value.
const (
	sampleText   = "sqlcheck"
	sampleUUID   = "5ca1ab1e-0000-4000-8000-000000000000"
	sampleDate   = "2001-02-03T00:00:00.000Z"
	sampleNumber = json.Number("1234567")
)

// sample returns a value of a property. typ is its type if it is in a document.
func (c *check) sample(path string, typ paging.Type) any {
	column := c.table.Properties[path]
	if column.Type != paging.Any {
		typ = column.Type
	}
	switch {
	case column.Storage == sqlpage.UUID:
		return sampleUUID
	case typ == paging.Date:
		return sampleDate
	case typ == paging.Boolean:
		return true
	case typ == paging.Integer, typ == paging.Number:
		return sampleNumber
	case column.Storage == sqlpage.BigInt:
		return string(sampleNumber)
	}
	return sampleText
}

// plan has the database plan a page and returns what is wrong with the plan.
func (c *check) plan(q paging.Query) (trouble string, err error) {
	visible := sqlpage.Visible{AllIDs: true}
	if c.table.Tenant != "" {
		visible.Tenant = c.sample(c.table.Tenant, paging.String).(string)
	}
	for _, path := range c.table.Where {
		if visible.Where == nil {
			visible.Where = map[string]string{}
		}
		visible.Where[path] = c.sample(path, paging.String).(string)
	}
	text, args, err := sqlpage.Statement(q, *c.table, visible, c.dialect)
	if err != nil {
		return "", err
	}
	_, _, deep := q.Cursor()
	if c.dialect == sqlpage.SQLite {
		return c.planOfSQLite(deep, text, args)
	}
	return c.planOfPostgreSQL(deep, text, args)
}

const (
	readsAll  = "reads rows that are not on the page"
	sortsRows = "sorts all rows"
)

// node is a node of a plan of PostgreSQL.
type node struct {
	Type   string `json:"Node Type"`
	Filter string
	Plans  []node
}

func (c *check) planOfPostgreSQL(deep bool, text string, args []any) (trouble string, err error) {
	tx, err := c.db.BeginTx(c.ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return "", err
	}
	defer tx.Rollback()
	// What reads or sorts a whole table is then only in a plan if there is no other.
	if _, err := tx.ExecContext(c.ctx, `SELECT pg_catalog.set_config(name, 'off', TRUE) FROM pg_catalog.pg_settings
		WHERE name IN ('enable_seqscan', 'enable_bitmapscan', 'enable_sort', 'enable_incremental_sort', 'jit')`); err != nil {
		return "", err
	}
	var plan []byte
	if err := tx.QueryRowContext(c.ctx, "EXPLAIN (FORMAT JSON, VERBOSE) "+text, args...).Scan(&plan); err != nil {
		return "", err
	}
	var tree []struct{ Plan node }
	if err := json.Unmarshal(plan, &tree); err != nil || len(tree) != 1 {
		return "", fmt.Errorf("an EXPLAIN that is not understood: %s", plan)
	}
	if deep {
		return tree[0].Plan.trouble(true, nil), nil
	}
	if trouble = tree[0].Plan.trouble(false, args); trouble != "" {
		return trouble, nil
	}
	var late bool
	err = tx.QueryRowContext(c.ctx, lateColumns, string(plan), c.leading()).Scan(&late)
	if late {
		trouble = readsAll
	}
	return trouble, err
}

// lateColumns reports whether an index of a plan has another column before those of the
// tenant and within. PostgreSQL then compares them, but reads the whole index. In a small
// table it may prefer that to the right index of the same columns.
const lateColumns = `SELECT EXISTS (SELECT 1
	FROM pg_catalog.jsonb_path_query($1::jsonb, '$.** ? (exists (@."Index Cond"))') n
	JOIN pg_catalog.pg_index used ON used.indexrelid = pg_catalog.to_regclass(pg_catalog.format('%I.%I', n ->> 'Schema', n ->> 'Index Name'))
	WHERE NOT EXISTS (SELECT 1 FROM pg_catalog.pg_index i
		WHERE i.indrelid = used.indrelid AND i.indisvalid
		AND i.indkey::int2[] @> used.indkey::int2[] AND i.indkey::int2[] <@ used.indkey::int2[]
		AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_attribute
			WHERE attrelid = i.indrelid AND attnum = ANY ((i.indkey::int2[])[0:$2::integer - 1])
			AND attname !~ '\W' AND attname <> ALL (pg_catalog.regexp_split_to_array(n ->> 'Index Cond', '\W+')))))`

// leading returns how many columns an index begins with, before those of the sort.
func (c *check) leading() int {
	if c.table.Tenant == "" {
		return len(c.within)
	}
	return len(c.within) + 1
}

// trouble returns what is wrong with a page. The first page has only the tenant and
// within as arguments: an index must have them. A deep page may sort the first rows of
// its parts, and may read a part of few rows by another index.
func (n node) trouble(deep bool, args []any) string {
	filtered := func(arg any) bool {
		switch arg.(type) {
		case string, int64:
			return strings.Contains(n.Filter, fmt.Sprint(arg))
		}
		return false
	}
	switch {
	case n.Type == "Seq Scan", slices.ContainsFunc(args, filtered):
		return readsAll
	case !deep && strings.HasSuffix(n.Type, "Sort") && !slices.ContainsFunc(n.Plans, node.isEmpty):
		return sortsRows
	}
	for _, below := range n.Plans {
		if trouble := below.trouble(deep, args); trouble != "" {
			return trouble
		}
	}
	return ""
}

// isEmpty reports whether a plan reads no table: no partition can have the rows.
func (n node) isEmpty() bool { return n.Type == "Result" && n.Plans == nil }

// planOfSQLite looks for an index that begins with the tenant and within, and for one
// with the order of the page. SQLite does not say what it filters by.
func (c *check) planOfSQLite(deep bool, text string, args []any) (trouble string, err error) {
	rows, err := c.db.QueryContext(c.ctx, "EXPLAIN QUERY PLAN "+text, args...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	union, found := strings.Contains(text, " UNION ALL "), 0
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			return "", err
		}
		found = max(found, strings.Count(step, "=?"))
		switch {
		case deep && strings.HasPrefix(step, "SCAN ") && !(union && (parent == 0 || step == "SCAN part")):
			trouble = readsAll
		case !deep && strings.HasPrefix(step, "USE TEMP B-TREE"):
			trouble = sortsRows
		}
	}
	if !deep && trouble == "" && found < c.leading() {
		trouble = readsAll
	}
	return trouble, rows.Err()
}
