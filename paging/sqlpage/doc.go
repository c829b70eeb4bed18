// Package sqlpage compiles a paging.Query into a statement for PostgreSQL or
// SQLite, over plain columns, JSON documents or both. It matches and orders rows
// like package mempage.
//
//	pages := &sqlpage.Pages{DB: db, Dialect: sqlpage.PostgreSQL} // once
//	ids, all := grant.IDs()                                       // of the caller's scope
//	visible := sqlpage.RowScope{Tenant: org, IDs: ids, AllIDs: all}
//	rows, err := pages.Query(ctx, q, table, visible)
//	… // scan them into notes
//	more := rows.More()
//
// The rows end where the page ends: after q.Limit rows, or at paging.MaxBytes.
//
// Statement returns the text and its arguments, for a program that runs it itself. It then
// counts the rows and the bytes of a page, too.
//
// The names in a statement are those of the Table, which the program writes. Values
// from a request are always bound as arguments.
//
// # Tenants
//
// A Table names the property that holds the tenant, or says SharedByAllTenants. A
// statement needs a RowScope, which the program fills from the caller's credential. Its
// conditions stand beside the filter and the cursor of the query and apply to each
// part of the statement. So no argument of a client reaches another tenant's row, and
// a program that forgets the tenant gets an error. A program that forgets the ids gets
// no rows. Table.Where has further properties of this kind, for lists of which a caller
// sees its own rows.
//
// # Depth
//
// The last page of a list costs as much as the first under two conditions. The client
// must ask for it by the keys of the last item, like package walk. The indexes that
// Indexes returns must exist. The cursor that Parse found or Query.After set is
// compiled to one range of an index, or to a union of a few ranges. Any other
// condition is compiled as it stands, even if it means the same as a cursor.
//
// Each range repeats the filter. If the statement would exceed 64 KiB, it gets one OR
// condition instead. It then reads all rows that the rest of the filter matches.
//
// # Counting
//
// A handler that sends a total adds one line. It does nothing unless the caller asks, and
// the schema must allow that:
//
//	page.Total, err = pages.Count(ctx, q, table, visible)
//
// A count reads every visible row that the filter looks at, up to 10,001 that match. For
// filters that match few rows of many, it takes as long as reading them all. So it ends
// after CountTime. pgx closes the connection of a statement whose context has ended.
//
// # Prepared statements
//
// In SQLite, Pages keeps the statements prepared that were run last. It keeps up to
// 128 on each connection, and none with a text of more than 8 KiB. Clients write
// filters, so without these limits different filters could fill the memory. No page
// waits until the statement of another page is closed. If a program runs the text of
// Statement with sql.DB.QueryContext, SQLite compiles it for each page.
//
// In PostgreSQL, Pages prepares nothing. Drivers such as pgx prepare statements for
// each connection, and preparing twice gains nothing. The driver sets its own limit:
// 512 statements of a connection in pgx. Some poolers share connections between
// transactions and do not know prepared statements. Behind them, tell the driver to
// use none: default_query_exec_mode=exec in pgx. After a change of a column's type,
// pgx may return "cached plan must not change result type" once for each connection.
// It then prepares the statement again.
//
// # What the tables must have
//
// The columns in PostgreSQL, by Type, and those that need a Storage:
//
//   - String: text or varchar of any collation; uuid (UUID); an enum (Enum); text[] (Array);
//     bigint or smaller (BigInt)
//   - Integer: smallint, integer or bigint
//   - Number: numeric without NaN; double precision (Double)
//   - Boolean: boolean
//   - Date: timestamp with time zone of any precision; timestamp(3) with time zone
//     (Milliseconds); date (Day)
//   - Any, a document: jsonb
//
// Texts are compared byte by byte, as COLLATE "C" does. So an index serves pages only
// if it is COLLATE "C", like those of Indexes. Columns of uuid, numbers and booleans are
// compared as they are, and an index on the columns alone serves them.
//
// Clients see milliseconds. A Date is therefore compared and sorted without the rest,
// by an expression that Indexes knows. An index on the column alone serves it only with
// Milliseconds. The rest cannot be in the cursor, because a client makes the cursor of
// the item that it got. Cut a time before it is written to a client:
// time.Time.Truncate(time.Millisecond).
//
// Columns of citext are not supported: citext compares and sorts without case, and a
// client with it. Cast it in an UnsafeExpression, email::text, or in a view.
//
// A list can be sorted by an enum in the order of its texts, through an expression that
// PostgreSQL can index:
//
//	CASE state WHEN 'open' THEN 'open' WHEN 'closed' THEN 'closed' END
//
// The tables in SQLite are STRICT, so that a column has values of one type. The
// encoding is UTF-8. The columns, by Type:
//
//   - String: TEXT of any collation, also for UUID and Enum; TEXT of a JSON array (Array);
//     INTEGER (BigInt)
//   - Integer: INTEGER
//   - Number: INTEGER, REAL, or ANY that holds only numbers
//   - Boolean: INTEGER that is 0 or 1
//   - Date: TEXT like 2026-01-02T03:04:05.000Z; TEXT like 2026-01-02 (Day)
//   - Any, a document: TEXT of valid JSON, or BLOB of JSONB
//
// An older table that is not STRICT also works if it holds no value that such columns
// refuse.
//
// Numbers in SQLite are as exact as int64 and float64. SQLite converts the text of a
// number in a document. With more than 17 digits the result is not always the nearest
// float64. SQLite therefore also converts the number that a filter compares with. A
// filter finds a number in the same spelling, but may miss the same number in another
// spelling by the last bit.
//
// A sort takes numbers with the same float64 for equal, and then sorts by _id. Package
// walk compares numbers exactly. If such numbers are out of order, the walk ends with
// ErrStalled. A walk by _id meets them all.
//
// A Double column rounds the value of a filter to the nearest float64, like its own
// values. So 0.1 finds 0.1, and 9007199254740993 finds 9007199254740992. Package
// mempage rounds nothing and finds only equal numbers.
//
// NULL in a column is a missing property. In a document, $exists tells missing from
// null.
//
// # What is checked
//
// A statement believes what a Table says. Check compares it with the schema and with the database,
// when a program starts:
//
//   - Each property that callers may filter or sort by has a column of its type, and so
//     has object.
//   - Each column exists, and has the type, the precision and the NOT NULL that the Table
//     says. Texts of an array have a deterministic collation. The encoding is UTF-8.
//   - Tables of SQLite are STRICT.
//   - Each sort has an index in each direction: one that begins with the columns of those of
//     Indexes, in their order, collation and direction. An index on an expression has
//     their name, too. The error has the statement of the index, and says so if a text is too long
//     for it.
//
// Check reads only the catalogue and changes nothing. The role needs SELECT on the table, and no
// other right.
//
// # What is not checked
//
// Check looks at rows only for a text that is too long for a missing index. An _id that two rows of
// a tenant share, NaN in a numeric column, infinity in a time, text that is no JSON, and an
// expression that fails for some rows go unnoticed: pages may lack them, or the database refuses the
// statement. Constraints prevent them, such as CHECK (price <> 'NaN').
//
// Check does not compare the expression of an index. In a view nothing says what
// is NOT NULL, and its indexes are those of other tables. SQLite does not say the types of
// expressions and of a view. The indexes of a sort by several properties are not checked.
//
// The package believes the tenant and the ids of a RowScope, too. Take them from the
// principal that the Guard admitted, never from an argument of the request.
//
// # Compatibility
//
// Structs only gain fields: write their literals with field names. ErrProgram
// keeps its meaning. The texts of errors and of statements may change with any version.
package sqlpage
