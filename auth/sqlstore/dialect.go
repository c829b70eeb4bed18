package sqlstore

import "strings"

// Dialect is the SQL of one database.
type Dialect uint8

// The dialects. The zero Dialect is none of them.
const (
	PostgreSQL Dialect = iota + 1 // 12 or later
	SQLite                        // 3.42 or later
)

func (d Dialect) valid() bool { return d == PostgreSQL || d == SQLite }

// words are what the texts of statements have in braces, other than tables.
// {now} is the engine's clock in Unix milliseconds, rounded down as timestamps
// on the wire are. {max} is the greater of two values.
func (d Dialect) words() []string {
	if d == PostgreSQL {
		return []string{
			"{now}", "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
			"{bytes}", "bytea", "{text}", `text COLLATE "C"`, "{max}", "greatest", "{min}", "least",
			"{skip}", "FOR UPDATE SKIP LOCKED",
		}
	}
	return []string{
		"{now}", "CAST(round(unixepoch('subsec') * 1000) AS INTEGER)",
		"{bytes}", "BLOB", "{text}", "TEXT", "{max}", "max", "{min}", "min",
		"{skip}", "",
		"$", "?", // ?1 is the first argument, $1 a name
	}
}

// replacer writes {now} and its like, and a table such as {ledger} as
// prefix_ledger.
func (d Dialect) replacer(prefix string) *strings.Replacer {
	words := d.words()
	for _, table := range tables {
		words = append(words, "{"+table+"}", prefix+table)
	}
	return strings.NewReplacer(words...)
}
