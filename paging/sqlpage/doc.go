// Package sqlpage compiles a paging.Query into a statement for PostgreSQL or
// SQLite, over plain columns, JSON documents or both. It matches and orders
// rows as package mempage does.
//
//	text, args, err := sqlpage.Statement(q, table, sqlpage.PostgreSQL)
//	rows, err := db.QueryContext(ctx, text, args...)
//	… // scan them into notes
//	notes, more := paging.Trim(notes, q.Limit)
//
// Names are those of the Table, which the program writes; what comes with a
// request is bound.
//
// # Depth
//
// The last page of a list costs as much as the first when the client asks for
// it by the keys of its last item, as package walk does, and the indexes that
// Indexes prints are there. A where of that form is recognised, and compiled to
// one range of an index or to a union of a few.
//
// # What the tables must have
//
// In PostgreSQL a String is a text, an Integer a smallint, integer or bigint, a
// Number a numeric without NaN, a Boolean a boolean, a Date a timestamp(3) with
// time zone, and a document a jsonb. A unique index on _id serves pages only
// where it is COLLATE "C".
//
// In SQLite a Boolean is 0 or 1, a Date a text like 2026-01-02T03:04:05.000Z,
// and a document a valid JSON text or JSONB. Numbers are as exact as an int64
// and a float64, and the encoding is UTF-8.
//
// A column that is NULL is a missing property; in a document missing and null
// are told apart by $exists.
package sqlpage
