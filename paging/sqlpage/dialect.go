package sqlpage

import (
	"strconv"

	"github.com/tenantkit/tenantkit/internal/sqldialect"
)

// Dialect is the SQL of one database. Package sqlstore has the same type.
type Dialect = sqldialect.Dialect

// These are the dialects. The zero Dialect is not valid.
const (
	PostgreSQL = sqldialect.PostgreSQL
	SQLite     = sqldialect.SQLite // 3.38 or later; its tables are STRICT
)

// bytewise are the COLLATE clauses that compare texts byte by byte, whatever the
// collation of the column.
var bytewise = [...]string{PostgreSQL: ` COLLATE "C"`, SQLite: " COLLATE BINARY"}

// argument is a value to bind and the type that PostgreSQL casts it to. In SQLite the
// only cast is real, which converts a text to a number.
type argument struct {
	value any
	cast  string
}

// placeholder returns the placeholder of the n-th argument, counted from 1.
func placeholder(d Dialect, n int, cast string) string {
	if d == PostgreSQL {
		return "$" + strconv.Itoa(n) + "::" + cast
	}
	if cast == "real" {
		// The + removes the affinity of the CAST, with which SQLite uses no index.
		return "+CAST(?" + strconv.Itoa(n) + " AS REAL)"
	}
	return "?" + strconv.Itoa(n)
}

// direction returns the direction of a key in an ORDER BY or an index. NULL must be
// the least value. It is the least in SQLite, but the greatest in PostgreSQL by
// default. A key that is never NULL gets no NULLS clause, so that PostgreSQL can use
// any index.
func direction(d Dialect, k key, desc bool) string {
	var text string
	if desc {
		text = " DESC"
	}
	switch {
	case d != PostgreSQL || !k.nullable:
		return text
	case desc:
		return text + " NULLS LAST"
	}
	return text + " NULLS FIRST"
}
