package sqlpage

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/paging"
)

var errNoTable = errors.New("there is no such table or view, or it is not in the search path")

// describe reads columns by their oid, through domains to their base types. The first
// query of the recursion follows WITH.
const describe = ` UNION ALL
	SELECT name, typbasetype, typtypmod, not_null OR typnotnull, collated FROM d JOIN pg_catalog.pg_type t ON t.oid = d.type WHERE typtype = 'd')
	SELECT name, CASE WHEN typname = 'citext' THEN 'citext' WHEN typtype = 'e' THEN 'enum' ELSE pg_catalog.format_type(t.oid, NULL) END,
		modifier, not_null, NOT COALESCE(collisdeterministic, TRUE)
	FROM d JOIN pg_catalog.pg_type t ON t.oid = d.type LEFT JOIN pg_catalog.pg_collation c ON c.oid = d.collated WHERE typtype <> 'd'`

const withColumns = `WITH RECURSIVE d (name, type, modifier, not_null, collated) AS (`

func (c *check) postgreSQL() ([]catalogued, error) {
	var kind, encoding string
	if err := c.aboutTable(`SELECT relkind::text, pg_catalog.current_setting('server_encoding') FROM pg_catalog.pg_class
		WHERE oid = pg_catalog.to_regclass($1::text)`, []any{c.table.quotedName()}, &kind, &encoding); err != nil {
		return nil, err
	}
	c.view = kind == "v"
	c.encoded(encoding == "UTF8", encoding)
	return c.described(withColumns+`SELECT attname::text, atttypid, atttypmod, attnotnull OR $2::boolean, attcollation FROM pg_catalog.pg_attribute
		WHERE attrelid = pg_catalog.to_regclass($1::text) AND attnum > 0 AND NOT attisdropped`+describe, c.table.quotedName(), c.view || kind == "m")
}

func (c *check) sqlite() ([]catalogued, error) {
	var kind, encoding string
	var strict bool
	schema, name := c.table.names()
	if err := c.aboutTable(`SELECT type, strict, encoding FROM pragma_table_list(?1), pragma_encoding
		WHERE schema = lower(?2) OR ?2 = ''`, []any{name, schema}, &kind, &strict, &encoding); err != nil {
		return nil, err
	}
	c.view = kind == "view"
	c.encoded(encoding == "UTF-8", encoding)
	if !strict && !c.view {
		c.problem("", "the table is not STRICT, so a column may have values of another type, which pages do not find")
	}
	return c.described(`SELECT lower(name), lower(iif(?3, '', type)), -1, "notnull" OR pk > 0 OR ?3, FALSE FROM pragma_table_xinfo(?1, NULLIF(?2, ''))`, name, schema, c.view)
}

// aboutTable reads the one row that there is of a table.
func (c *check) aboutTable(query string, args []any, into ...any) error {
	err := c.db.QueryRowContext(c.ctx, query, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return errNoTable
	}
	return err
}

func (c *check) encoded(utf8 bool, encoding string) {
	if !utf8 {
		c.problem("", "the encoding of the database is %s, and must be UTF-8", encoding)
	}
}

// expression describes an UnsafeExpression.
func (c *check) expression(text string) (catalogued, error) {
	one := "(SELECT (" + text + ") FROM " + c.table.quotedName() + " LIMIT 0)"
	query := "SELECT '', '', -1, TRUE, FALSE WHERE " + one + " IS NULL"
	if c.dialect == PostgreSQL {
		query = withColumns + "SELECT '', pg_catalog.pg_typeof(" + one + ")::oid, 3, TRUE, 0::oid" + describe
	}
	found, err := c.described(query)
	if err != nil {
		return catalogued{}, err
	}
	return found[0], nil
}

func (c *check) described(query string, args ...any) (found []catalogued, err error) {
	err = c.read(query, args, func(scan func(...any) error) error {
		var is catalogued
		err := scan(&is.name, &is.typ, &is.precision, &is.notNull, &is.unordered)
		found = append(found, is)
		return err
	})
	return found, err
}

// read calls each for each row.
func (c *check) read(query string, args []any, each func(scan func(...any) error) error) error {
	rows, err := c.db.QueryContext(c.ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// These list the indexes of a table: the name, and the elements in the form of index.elements.
const (
	indexesOfPostgreSQL = `SELECT indexrelid::regclass::text, string_agg(COALESCE(attname, '()') || CASE collname WHEN 'C' THEN ' COLLATE C' ELSE '' END ||
			(ARRAY['', ' DESC NULLS LAST', ' NULLS FIRST', ' DESC'])[1 + option], ', ' ORDER BY n)
		FROM pg_catalog.pg_index i CROSS JOIN LATERAL ROWS FROM (pg_catalog.unnest(indkey::int2[]), pg_catalog.unnest(indcollation::oid[]),
			pg_catalog.unnest(indoption::int2[])) WITH ORDINALITY AS e (key, collated, option, n)
		LEFT JOIN pg_catalog.pg_attribute ON attrelid = indrelid AND attnum = key AND key <> 0
		LEFT JOIN pg_catalog.pg_collation c ON c.oid = collated
		WHERE indrelid = pg_catalog.to_regclass($1::text) AND indisvalid AND indpred IS NULL AND n <= indnkeyatts GROUP BY indexrelid`
	indexesOfSQLite = `SELECT of, group_concat(COALESCE(name, '()') || replace(' COLLATE ' || coll, ' COLLATE BINARY', '') || iif(desc, ' DESC', ''), ', ')
		FROM (SELECT i.name AS of, e.* FROM pragma_index_list(?1, NULLIF(?2, '')) i, pragma_index_xinfo(i.name, NULLIF(?2, '')) e
			WHERE key AND NOT partial ORDER BY i.name, seqno) GROUP BY of`
)

// sorts looks for an index for each sort in each direction. Nothing says what is below a view.
func (c *check) sorts() error {
	if c.view || slices.ContainsFunc(slices.Concat([]string{"_id", c.table.Tenant}, c.table.Where, c.within), func(path string) bool { return c.wrong[path] }) {
		return nil
	}
	query, args := indexesOfPostgreSQL, []any{c.table.quotedName()}
	if c.dialect == SQLite {
		schema, name := c.table.names()
		query, args = indexesOfSQLite, []any{name, schema}
	}
	found := map[string]string{}
	err := c.read(query, args, func(scan func(...any) error) error {
		var name, elements string
		err := scan(&name, &elements)
		found[name[strings.LastIndexByte(name, '.')+1:]] = elements
		return err
	})
	if err != nil {
		return err
	}
	sortable := slices.DeleteFunc(slices.Clone(c.schema.Properties), func(p paging.Property) bool { return !c.comparable(p) || c.wrong[p.Path] })
	indexes, err := c.table.indexes(paging.Schema{Properties: sortable}, c.dialect, c.within)
	for _, index := range indexes {
		if index.isAmong(found) {
			continue
		}
		long, err := c.longest(index.path)
		if err != nil {
			return err
		}
		c.problem(index.path, "a sort by it has no index: create\n\t%s%s", index.text, long)
	}
	return err
}

// isAmong reports whether there is an index that begins with the elements of i. The catalogue has
// expressions in another form. So one with an expression also needs its name.
func (i index) isAmong(found map[string]string) bool {
	for has, of := range found {
		if strings.HasPrefix(of+", ", i.elements+", ") && (!strings.Contains(i.elements, "()") || strings.Trim(has, `"`) == i.name) {
			return true
		}
	}
	return false
}

// maxIndexed is how many bytes PostgreSQL takes for the values of a row in one index, roughly: it
// compresses them first.
const maxIndexed = 2700

// longest says how long the longest text of a property is, if no index can have it. It reads all
// rows, so it is asked for only if the index is missing.
func (c *check) longest(path string) (advice string, err error) {
	column := c.table.Properties[path]
	if c.dialect != PostgreSQL || column.Type != paging.String || column.Storage != 0 {
		return "", nil
	}
	name := cmp.Or(column.UnsafeExpression, `"`+column.Name+`"`)
	var bytes int
	if err := c.db.QueryRowContext(c.ctx, "SELECT coalesce(max(octet_length("+name+")), 0) FROM "+c.table.quotedName()).Scan(&bytes); err != nil || bytes <= maxIndexed {
		return "", err
	}
	return fmt.Sprintf("\n\tThe longest text has %d bytes. PostgreSQL refuses about %d in one index: shorten it, and add CHECK (octet_length(%s) <= 2000).", bytes, maxIndexed, name), nil
}
