// Package sqlpage compiles a paging.Query into a statement for PostgreSQL or
// SQLite, over plain columns, JSON documents or both. It matches and orders
// rows as package mempage does.
//
//	pages := &sqlpage.Pages{DB: db, Dialect: sqlpage.PostgreSQL} // once
//	rows, err := pages.Query(ctx, q, table)
//	… // scan them into notes
//	notes, more := paging.Trim(notes, q.Limit)
//
// Statement returns the text and its arguments, for a program that runs it itself.
//
// Names are those of the Table, which the program writes; what comes with a
// request is bound.
//
// # Depth
//
// The last page of a list costs as much as the first when the client asks for
// it by the keys of its last item, as package walk does, and the indexes that
// Indexes prints are there. The cursor that Parse found in the where, or that
// Query.After added, is compiled to one range of an index or to a union of a few.
// Any other condition is compiled as it stands, also where it comes to the same.
// Where that would make a statement of more than 64 KiB, for each of the few
// repeats the filter, it is compiled to one condition instead, which reads all rows
// that the rest of the filter leaves.
//
// # Prepared statements
//
// In SQLite, Pages keeps the statements prepared that were run last, up to 128 on
// each connection, and none whose text is longer than 8 KiB: clients write filters,
// and no number of different ones must fill the memory. No page waits until another
// one's statement is closed. Statement, run by sql.DB.QueryContext, is compiled for
// each page.
//
// In PostgreSQL, Pages prepares nothing, as drivers such as pgx do so for each
// connection, and to prepare a statement twice gains nothing. Their bound is theirs:
// 512 statements of a connection in pgx. Behind a pooler that shares connections
// between transactions and does not know prepared statements, tell the driver to use
// none: default_query_exec_mode=exec in pgx. After a change of a column's type,
// pgx may return "cached plan must not change result type" once for each connection,
// and then prepares the statement anew.
//
// # What the tables must have
//
// In PostgreSQL a String is a text, an Integer a smallint, integer or bigint, a
// Number a numeric without NaN, a Boolean a boolean, a Date a timestamp(3) with
// time zone, and a document a jsonb. A unique index on _id serves pages only
// where it is COLLATE "C".
//
// In SQLite a String is a column of type TEXT, a Boolean is 0 or 1, a Date a TEXT
// like 2026-01-02T03:04:05.000Z, and a document a valid JSON text or JSONB. The
// encoding is UTF-8. A text in a column of numbers comes after them, as in a
// document, and is neither greater nor less than one.
//
// Numbers in SQLite are as exact as an int64 and a float64. In a document SQLite
// makes the float64 of the text, and where that has more than 17 digits not always
// the nearest: so it makes one of what a filter compares with, too. A filter finds
// what is spelled as it is, and may miss the same number in another spelling by the
// last bit. What the float64 does not tell apart is one number in a sort, after
// which comes _id: a list of such numbers package walk, which compares exactly,
// ends with ErrStalled when they come in disorder. By _id it meets them all.
//
// A column that is Double rounds what it is compared with to the nearest float64,
// as it rounded what it has: 0.1 finds 0.1, and 9007199254740993 finds
// 9007199254740992. Package mempage, which rounds nothing, does not.
//
// A column that is NULL is a missing property; in a document missing and null
// are told apart by $exists.
//
// # What is not checked
//
// What a Table says is believed, of columns, types and NOT NULL: rows that have
// something else may be left out of pages, or the database refuses the statement.
// The package knows no org: add the condition that rows
// belong to the caller's with Query.And, or every tenant gets all of them.
//
// # Compatibility
//
// Structs only gain fields: write their literals with field names. ErrTooLong stays
// what it is; the texts of errors and of statements may change with any version.
package sqlpage
