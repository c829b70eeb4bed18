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

// describe reads columns by their oid, through domains to their base types. The first
// query of the recursion follows WITH.
const describe = ` UNION ALL
	SELECT name, typbasetype, typtypmod, not_null OR typnotnull, collated FROM d JOIN pg_catalog.pg_type t ON t.oid = d.type WHERE typtype = 'd')
	SELECT name, CASE WHEN typname = 'citext' THEN 'citext' WHEN typtype = 'e' THEN 'enum' ELSE pg_catalog.format_type(t.oid, NULL) END,
		modifier, not_null, NOT COALESCE(collisdeterministic, TRUE)
	FROM d JOIN pg_catalog.pg_type t ON t.oid = d.type LEFT JOIN pg_catalog.pg_collation c ON c.oid = d.collated WHERE typtype <> 'd'`

const withColumns = `WITH RECURSIVE d (name, type, modifier, not_null, collated) AS (`

// catalogues has the statements that read about the table. Their arguments are check.named.
var catalogues = map[Dialect]struct {
	table   string // one row: whether it is a view, whether columns keep their types, and the encoding
	columns string // the columns, as described reads them; the last argument is whether the table is a view
	indexes string // the name of each index, and its elements in the form of index.elements
}{
	PostgreSQL: {
		table: `SELECT relkind = 'v', TRUE, pg_catalog.current_setting('server_encoding') FROM pg_catalog.pg_class
			WHERE oid = pg_catalog.to_regclass($1::text)`,
		columns: withColumns + `SELECT attname::text, atttypid, atttypmod, attnotnull OR $2::boolean OR relkind = 'm', attcollation
			FROM pg_catalog.pg_attribute JOIN pg_catalog.pg_class r ON r.oid = attrelid
			WHERE attrelid = pg_catalog.to_regclass($1::text) AND attnum > 0 AND NOT attisdropped` + describe,
		indexes: `SELECT indexrelid::regclass::text, string_agg(COALESCE(attname, '()') || CASE collname WHEN 'C' THEN ' COLLATE C' ELSE '' END ||
			(ARRAY['', ' DESC NULLS LAST', ' NULLS FIRST', ' DESC'])[1 + option], ', ' ORDER BY n)
		FROM pg_catalog.pg_index i CROSS JOIN LATERAL ROWS FROM (pg_catalog.unnest(indkey::int2[]), pg_catalog.unnest(indcollation::oid[]),
			pg_catalog.unnest(indoption::int2[])) WITH ORDINALITY AS e (key, collated, option, n)
		LEFT JOIN pg_catalog.pg_attribute ON attrelid = indrelid AND attnum = key AND key <> 0
		LEFT JOIN pg_catalog.pg_collation c ON c.oid = collated
		WHERE indrelid = pg_catalog.to_regclass($1::text) AND indisvalid AND indpred IS NULL AND n <= indnkeyatts GROUP BY indexrelid`,
	},
	SQLite: {
		table: `SELECT type = 'view', strict OR type = 'view', encoding FROM pragma_table_list(?1), pragma_encoding
			WHERE schema = lower(?2) OR ?2 = ''`,
		columns: `SELECT lower(name), lower(iif(?3, '', type)), -1, "notnull" OR pk > 0 OR ?3, FALSE FROM pragma_table_xinfo(?1, NULLIF(?2, ''))`,
		indexes: `SELECT of, group_concat(COALESCE(name, '()') || replace(' COLLATE ' || coll, ' COLLATE BINARY', '') || iif(desc, ' DESC', ''), ', ')
		FROM (SELECT i.name AS of, e.* FROM pragma_index_list(?1, NULLIF(?2, '')) i, pragma_index_xinfo(i.name, NULLIF(?2, '')) e
			WHERE key AND NOT partial ORDER BY i.name, seqno) GROUP BY of`,
	},
}

// catalogue reads what the database says of the table and of its columns.
func (c *check) catalogue() ([]catalogued, error) {
	var typed bool
	var encoding string
	err := c.db.QueryRowContext(c.ctx, catalogues[c.dialect].table, c.named...).Scan(&c.view, &typed, &encoding)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, errors.New("there is no such table or view, or it is not in the search path")
	case err != nil:
		return nil, err
	}
	if encoding != "UTF8" && encoding != "UTF-8" {
		c.problem("", "the encoding of the database is %s, and must be UTF-8", encoding)
	}
	if !typed {
		c.problem("", "the table is not STRICT, so a column may have values of another type, which pages do not find")
	}
	return c.described(catalogues[c.dialect].columns, append(slices.Clip(c.named), c.view)...)
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

// sorts looks for an index for each sort in each direction. Nothing says what is below a view.
func (c *check) sorts() error {
	if c.view || slices.ContainsFunc(slices.Concat([]string{"_id"}, c.table.leading(), c.within), func(path string) bool { return c.wrong[path] }) {
		return nil
	}
	found := map[string]string{}
	err := c.read(catalogues[c.dialect].indexes, c.named, func(scan func(...any) error) error {
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
