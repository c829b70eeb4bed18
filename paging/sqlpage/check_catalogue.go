package sqlpage

import (
	"database/sql"
	"errors"
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
