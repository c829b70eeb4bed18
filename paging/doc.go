// Package paging reads and writes the query arguments of list calls: paths[],
// limit, where, sort and skip, and the same under the name of a list property
// (section 4.1 of the interface).
//
// A Schema says what the items of a list look like; its Parse turns a raw
// query into a Query or refuses it, with everything that is wrong at once. The
// handler adds what the caller may see with And, and gives the Query to a back
// end: package mempage pages a slice, package sqlpage compiles a statement, and
// the JSON of a Filter is a MongoDB filter as it stands. Package walk is the
// client.
//
// # What filters mean
//
// A missing property and null are equal, and equal to null. Comparison is by
// type: a number is neither greater nor less than a text, and not equal to one.
// Texts compare byte by byte, numbers exactly, false is less than true, and in
// a sort null comes first. Logic has two values: what does not match is matched
// by its negation, so that $ne, $nin, $nor and $not match a missing property.
//
// # What is left to the handler
//
// Query.Paths says what the caller asks for, and not what it may read. Narrow
// what is sent with envelope.Select, by Query.Wants, by Schema.Visible and by the
// caller's scope on that instance.
package paging
