// Package sqlcheck compares a Schema and a Table of package sqlpage with each other and
// with the database, when a program starts. A mistake is then an error at the start, and
// not an empty page or a slow one.
//
//	if err := sqlcheck.Check(ctx, db, sqlpage.PostgreSQL, schema, table); err != nil {
//		log.Fatal(err)
//	}
//
// # What is checked
//
//   - Each property that callers may filter or sort by has a column of its type, and so
//     has object.
//   - Each column exists, and has the type, the precision and the NOT NULL that the Table
//     says. Texts of an array have a deterministic collation. The encoding is UTF-8.
//   - Tables of SQLite are STRICT.
//   - An index serves each sort in each direction: no page reads the rows of other
//     tenants, or sorts all rows of its own. The error has the statement of the index, and says
//     so if a text is too long for it: sqlpage.Indexes says how long texts may be.
//
// The database itself says which index it reads, with EXPLAIN. So indexes on expressions,
// those below a view and those of partitions count, whatever their names. PostgreSQL
// would read a small table as a whole. Check therefore turns such plans off, in a
// transaction that ends without a change.
//
// Check changes nothing. The role needs SELECT on the table, and no other right.
//
// # What is not checked
//
// Check looks at rows only for a text that is too long for a missing index. An _id that two rows of a tenant share, NaN in a numeric
// column, infinity in a time, text that is no JSON, and an expression that fails for some
// rows go unnoticed. Constraints prevent them, such as CHECK (price <> 'NaN').
//
// In a view nothing says what is NOT NULL. SQLite does not say the types of expressions
// and of a view. Of a table that is partitioned by its tenant, Check sees one partition,
// or none if there is no default. The indexes of a sort by several properties are not
// checked.
package sqlcheck
