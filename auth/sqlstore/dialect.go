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

// substitutions returns pairs: a placeholder in a statement, and the SQL that replaces
// it. The names of tables are not among them. {now} is the engine's clock in Unix
// milliseconds, rounded down like timestamps on the wire. {max} is the greater of two
// values. A SELECT with {lock} waits for concurrent changes of its rows and sees them, and
// no row changes before the transaction ends; LIMIT and OFFSET count the rows that are left.
// With {skip} it leaves out the locked rows. SELECT {each}(…) has a row for each text in a JSON array.
// {find} returns where a text has another one, or 0.
func substitutions(d Dialect) []string {
	if d == PostgreSQL {
		return []string{
			"{now}", "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
			"{bytes}", "bytea", "{text}", `text COLLATE "C"`, "{int}", "bigint", "{strict}", "", "{unlogged}", "UNLOGGED ", "{max}", "greatest", "{min}", "least",
			"{lock}", "FOR UPDATE", "{skip}", "FOR UPDATE SKIP LOCKED",
			"{each}(", "jsonb_array_elements_text(", "{find}", "strpos",
		}
	}
	return []string{
		"{now}", "CAST(round(unixepoch('subsec') * 1000) AS INTEGER)",
		"{bytes}", "BLOB", "{text}", "TEXT", "{int}", "INTEGER", "{strict}", " STRICT", "{unlogged}", "", "{max}", "max", "{min}", "min",
		"{lock}", "", "{skip}", "",
		"{each}(", "value FROM json_each(", "{find}", "instr",
		"$", "?", // in SQLite ?1 is the first argument, and $1 is a named one
	}
}

// newReplacer returns the Replacer for statements. It replaces placeholders such as {now},
// and writes a table such as {ledger} by its name.
func newReplacer(d Dialect, prefix string) *strings.Replacer {
	all := substitutions(d)
	for _, table := range tables {
		all = append(all, "{"+table+"}", tableName(prefix, table))
	}
	return strings.NewReplacer(all...)
}
