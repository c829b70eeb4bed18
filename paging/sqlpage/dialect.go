package sqlpage

import "strconv"

// Dialect is the SQL of one database.
type Dialect uint8

// The dialects. The zero Dialect is none of them.
const (
	PostgreSQL Dialect = iota + 1
	SQLite             // 3.38 or later
)

func (d Dialect) valid() bool { return d == PostgreSQL || d == SQLite }

// bytewise makes a text compare byte by byte, whatever its column says.
func (d Dialect) bytewise() string {
	if d == PostgreSQL {
		return ` COLLATE "C"`
	}
	return " COLLATE BINARY"
}

// operand is a value to bind, and the type that PostgreSQL takes it for. SQLite
// knows one of them, real, for a text to convert.
type operand struct {
	value any
	cast  string
}

// placeholder is what stands for the n-th argument, counted from 1.
func (d Dialect) placeholder(n int, cast string) string {
	if d == PostgreSQL {
		return "$" + strconv.Itoa(n) + "::" + cast
	}
	if cast == "real" {
		// The + takes from it the affinity, for which no index would be read.
		return "+CAST(?" + strconv.Itoa(n) + " AS REAL)"
	}
	return "?" + strconv.Itoa(n)
}

// direction says how an order or an index has a key. NULL is the least in
// SQLite, and the greatest in PostgreSQL unless told otherwise; where there is
// none, PostgreSQL is not told, so that it can use any index.
func (d Dialect) direction(k key, desc bool) string {
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
