// Package paging reads and writes the query arguments of list calls: paths[],
// limit, where, sort and skip, and the same under the name of a list property
// (section 4.1 of the interface).
//
// A Schema says what the items of a list look like; its Parse turns a raw
// query into a Query or refuses it, with everything that is wrong at once. The
// handler adds what the caller may see with And, and gives the Query to a back
// end.
//
// # Choosing
//
// Parse is for calls that answer a list, ParseObject for those that answer one
// object, whose list properties have arguments too. ParseFilter reads a filter
// that no caller sent: of a configuration, a job or a test.
//
// Package mempage pages a slice, package sqlpage compiles a statement, and the
// JSON of a Filter is a MongoDB filter as it stands. Another back end walks the
// filter by its Op and asks Query.Cursor where the page begins. Package walk is the
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
// A property may have values of several types, whatever the Schema says of it: a
// text where others have numbers. A sort has them all the same, by type: null,
// booleans, numbers, texts, arrays and objects. Compare is that order.
//
// A cursor is the values of an item for the keys of a sort. A client that asks for
// what follows the item sends them in the last condition of its where, in the form
// in which Query.After and package walk write it. Parse takes that for a cursor. It
// may have a value of any type, so that a walk meets every item once. Only a text in
// a Date that is no date is refused there, as in any filter, and package walk does
// not go on after arrays and objects. All other conditions compare, also those of
// that form: what the server adds, and what a walk was asked to filter by, which
// Query.Encode then ends with an empty condition.
//
// # Bounds
//
// A where has at most 8 KiB, 16 levels of objects and arrays, 256 conditions and
// logical operators, and 200 values. To the where of its first page a walk by k
// properties and _id adds, from the second page on, an $and of two levels around
// both, and a condition of up to 8 levels with (k+1)(k+2)/2 values and 2k+1 logical
// operators: by the 8 properties that a sort may have, 45 values and 62 conditions
// and operators. It has the value of the first property k+1 times, so a long text
// is a bad sort key. The bounds hold for this cursor and for the rest one by one, so
// that a filter that was accepted for the first page is for all others. With both of
// them at their bounds a URL has 16 KiB before it is escaped, which proxies and
// servers on the way must let through.
//
// A sort has at most 8 properties, paths[] 100 paths, skip goes to 10,000, and
// one request has the arguments of at most 8 list properties.
//
// # What is left to the handler
//
// Query.Paths says what the caller asks for, and not what it may read. Narrow
// what is sent with envelope.Select, by Query.Wants, by Schema.Visible and by the
// caller's scope on that instance.
//
// # What is not checked
//
// A Schema is taken as it is: a property whose Path is misspelt is one that no
// caller can name. The paths and values given to Eq and its like are taken as they
// are, too, and so is what a program changes in a Query after Parse: what comes
// with a request goes through Parse.
//
// All functions may be called by several goroutines at once, as long as nobody
// changes the Schema or Query they were given.
//
// # Compatibility
//
// Structs only gain fields: write their literals with field names. That a refusal
// is an *Error is part of the API of this package, and so are Argument and
// Pointer of a Problem; its Text is not. The canonical form of a filter is, for
// clients store it.
package paging
