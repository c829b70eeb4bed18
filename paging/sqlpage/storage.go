package sqlpage

import (
	"strconv"

	"github.com/tenantkit/tenantkit/paging"
)

// Storage is how a column stores a Type that has several forms. The zero Storage is
// the form that the package comment names first.
type Storage uint8

// These are the storages that a column must state.
const (
	// Double is a Number stored as a float64: double precision or REAL, without NaN.
	Double Storage = iota + 1
	// UUID is a String stored as uuid, in SQLite as TEXT. Its texts have one form: 36
	// characters in lower case. A text of another form matches nothing, whatever the
	// operator, and never reaches the database. So $prefix finds nothing by a part of a
	// uuid. The order is that of the texts, byte by byte.
	UUID
	// Milliseconds is a Date stored without parts of a millisecond: timestamp(3) with
	// time zone. An index on the column alone then serves a sort. Rows with parts of a
	// millisecond would be lost.
	Milliseconds
	// Day is a Date stored as date, in SQLite as TEXT like 2026-01-02. It is the
	// beginning of the day in UTC.
	Day
	// Enum is a String stored as a type of CREATE TYPE … AS ENUM, in SQLite as TEXT. Its
	// order is that of the texts, byte by byte. PostgreSQL makes no index of this order.
	// So Indexes refuses a schema that sorts by such a column. The package comment has
	// an expression that can be sorted by.
	Enum
	// Array is a String property whose path ends with [], such as tags[]. It is stored as
	// text[], in SQLite as TEXT of a JSON array. A condition is true if it holds for one
	// of the texts. $eq and $in read a GIN index on the column. A sort by an Array is
	// refused.
	Array
	// BigInt is a String stored as smallint, integer or bigint, in SQLite as INTEGER: an _id
	// such as 42, or a tenant. Clients see its digits. The order is that of the numbers, also
	// for filters, so 9 is before 10. A text of another form, such as 042, matches nothing.
	// A $prefix finds the number alone. The Guard needs a grammar with such identifiers: see
	// Digits.
	BigInt
)

// Digits reports whether text is an integer in the form that a BigInt has. It is the Identifier
// of a scope.Grammar for objects with such an _id:
//
//	guard := auth.Guard{Scopes: &scope.Grammar{Identifier: sqlpage.Digits}, …}
func Digits(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == text
}

var storedType = [...]paging.Type{
	Double: paging.Number, UUID: paging.String, Milliseconds: paging.Date, Day: paging.Date, Enum: paging.String,
	Array: paging.String, BigInt: paging.String,
}

// isUUID reports whether text is a UUID in the form that PostgreSQL writes. All such
// texts have their hyphens at the same places, and 0-9 are before a-f in ASCII. So
// their order is the order of the bytes, by which PostgreSQL sorts uuid.
func isUUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i, c := range []byte(text) {
		hyphen := i == 8 || i == 13 || i == 18 || i == 23
		digit := '0' <= c && c <= '9' || 'a' <= c && c <= 'f'
		if hyphen != (c == '-') || !hyphen && !digit {
			return false
		}
	}
	return true
}
