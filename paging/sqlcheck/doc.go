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
//   - Each sort has an index in each direction: one that begins with the columns of those of
//     sqlpage.Indexes, in their order, collation and direction. An index on an expression has
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
// expression that fails for some rows go unnoticed. Constraints prevent them, such as
// CHECK (price <> 'NaN').
//
// Check does not compare the expression of an index. In a view nothing says what
// is NOT NULL, and its indexes are those of other tables. SQLite does not say the types of
// expressions and of a view. The indexes of a sort by several properties are not checked.
package sqlcheck
