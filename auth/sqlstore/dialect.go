package sqlstore

import (
	"strings"

	"github.com/tenantkit/tenantkit/internal/sqldialect"
)

// Dialect is the SQL of one database. Package sqlpage uses the same type.
type Dialect = sqldialect.Dialect

// The dialects. The zero Dialect is invalid.
const (
	PostgreSQL = sqldialect.PostgreSQL // 12 or later
	SQLite     = sqldialect.SQLite     // 3.42 or later
)

// substitutions has the placeholders of statements, and what replaces each in PostgreSQL and in SQLite: see
// newReplacer. {now} is the engine's clock in Unix milliseconds, rounded down like timestamps on the wire. A
// SELECT with {lock} waits for concurrent changes of its rows and sees them, and no row changes before the
// transaction ends; LIMIT and OFFSET count the rows that are left. With {skip} it leaves out the locked rows.
// SELECT {each}(…) has a row for each text in a JSON array. {find} returns where a text has another one, or 0.
var substitutions = [][3]string{
	{"{now}", "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint", "CAST(round(unixepoch('subsec') * 1000) AS INTEGER)"},
	{"{bytes}", "bytea", "BLOB"},
	{"{text}", `text COLLATE "C"`, "TEXT"},
	{"{int}", "bigint", "INTEGER"},
	{"{strict}", "", " STRICT"},
	{"{unlogged}", "UNLOGGED ", ""},
	{"{lock}", "FOR UPDATE", ""},
	{"{skip}", "FOR UPDATE SKIP LOCKED", ""},
	{"{each}(", "jsonb_array_elements_text(", "value FROM json_each("},
	{"{find}", "strpos", "instr"},
	{"$", "$", "?"}, // in SQLite ?1 is the first argument, and $1 is a named one
}

// newReplacer returns the Replacer for statements. It replaces placeholders such as {now},
// and writes a table such as {ledger} by its name.
func newReplacer(d Dialect, prefix string) *strings.Replacer {
	var all []string
	for _, s := range substitutions {
		all = append(all, s[0], s[d]) // the dialects are 1 and 2
	}
	for _, table := range tables {
		all = append(all, "{"+table+"}", tableName(prefix, table))
	}
	return strings.NewReplacer(all...)
}
