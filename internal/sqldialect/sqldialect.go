// Package sqldialect names the databases whose SQL the packages write, so that a program names its
// database once.
package sqldialect

// Dialect is the SQL of one database. The zero Dialect is invalid.
type Dialect uint8

const (
	PostgreSQL Dialect = iota + 1
	SQLite
)

// Known reports whether d is one of the dialects.
func Known(d Dialect) bool { return d == PostgreSQL || d == SQLite }
