// Package paging reads and writes the query arguments of list calls: paths[],
// limit, where, sort and skip. A list property has the same arguments under its
// name (section 4.1 of the interface).
//
// A Schema describes the items of a list. Its Parse turns a raw query into a Query,
// or returns an error that lists everything that is wrong. The handler adds the
// server's own conditions with Query.And and gives the Query to a back end.
//
// # Choosing
//
// Parse is for calls that answer a list. ParseObject is for calls that answer one
// object, because the list properties of an object have arguments too. ParseFilter
// reads a filter from a configuration, a job or a test, not from a caller.
//
// Package mempage pages a slice. Package sqlpage compiles a Query to SQL. MongoDB
// accepts the JSON of a Filter unchanged. Any other back end reads a Filter by its
// Op and asks Query.Cursor where the page begins. Package walk is the client.
//
// # What filters mean
//
// A missing property counts as null, and null equals null. Values of two types have
// no order: a number is neither greater nor less than a string, and never equal to
// one. Strings compare byte by byte and numbers exactly. False is less than true.
// Logic has two values: a negation matches every item that its filter does not
// match. So $ne, $nin, $nor and $not match items without the property.
//
// $prefix is no operator of MongoDB. Parse replaces it by the range of $gte and $lt that
// Prefix returns, so no back end meets it and an index serves it.
//
// A property may have values of several types, whatever the Schema says: a string in
// one item, a number in another. A sort orders such values by type: null, booleans,
// numbers, strings, then arrays and objects. Compare implements this order.
//
// A path that ends with [], such as c_tags[], names the elements of an array. A
// condition matches if it holds for one of them, and a negation if it holds for none.
// MongoDB means the same by the path without []. No item can be sorted by such a path.
//
// # Cursors
//
// A cursor holds the values that one item has for the keys of a sort. A client sends
// it as the last condition of where to get the items after that item. Query.After
// and package walk write this cursor condition, and Parse recognizes it.
//
// The values of a cursor may have any type, whatever the Schema says, so that a walk
// meets every item once. There is one exception: as in any filter, Parse refuses a
// string that is no date for a property of type Date. Package walk does not continue
// after an array or an object.
//
// All other conditions only compare, even if they have the form of a cursor
// condition. This holds for conditions that the server adds with Query.And. It also
// holds for a filter of the caller that ends with such a condition: Query.Encode
// then adds an empty condition after it.
//
// Schema.NextLink makes a Link header with the cursor of the last item, for clients that
// follow links.
//
// # Counting
//
// With count=true a caller asks how many items match where, if Schema.Count allows it. A
// cursor in where is a condition like others: the total of a later page is that of the
// rest. So clients ask on the first page, like package walk. A back end counts up to
// Query.CountTo+1 items among those that the caller may see, within a time. It makes the
// reply's total with Query.Total, and returns ErrSlowCount at the end of its time.
//
// # Limits
//
// A where has at most 8 KiB, 16 levels of objects and arrays, 256 conditions and
// logical operators, and 200 values.
//
// From its second page on, a walk adds a cursor condition to the caller's where, and
// one $and around both. The $and has two levels. With a sort by k properties and
// _id, the cursor condition has up to 8 levels, (k+1)(k+2)/2 values and 2k+1 logical
// operators. With 8 properties, the most that a sort may have, these are 45 values
// and 62 conditions and operators. The value of the first property occurs k+1 times,
// so a long string is a bad sort key.
//
// The cursor condition and the rest of the where each have the full limits.
// Therefore a filter that is accepted for the first page is accepted for all pages.
// If both are at their limits, the URL has 16 KiB before it is escaped. Proxies and
// servers between client and handler must allow that length.
//
// A sort has at most 8 properties, and paths[] at most 100 paths. skip is at most
// 10,000. One request has arguments for at most 8 list properties.
//
// # What is left to the handler
//
// Query.Paths says what the caller asks for, not what the caller may read. The
// handler must limit the reply with envelope.Select: by Query.Wants, by
// Schema.Visible and by the caller's scope on that instance.
//
// # What is not checked
//
// The package does not check a Schema: if the Path of a property is misspelt, no
// caller can name that property. It does not check the paths and values that are
// given to Eq, Gt and the other constructors. It does not check what a program
// changes in a Query after Parse. Everything that comes with a request must go
// through Parse.
//
// Several goroutines may call all functions at once, as long as none of them changes
// the Schema or Query in use.
//
// # Compatibility
//
// Structs only gain fields: write their literals with field names. Parse, ParseObject
// and ParseFilter always refuse with an *Error. The Path of a fault and the pointer in its Reason
// are part of the API, the text after it is not. The canonical form of a filter is part of the
// API, because clients store it.
package paging
