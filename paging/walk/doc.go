// Package walk is the client of paged lists: it asks for one page after the
// other and gives out items (section 4.2 of the interface).
//
//	messages := walk.List[Message]{Client: client, URL: base + "/acme/v2/c_messages"}
//	for message, err := range messages.All(ctx) {
//		if err != nil {
//			return err
//		}
//		…
//	}
//
// # How it pages
//
// A list is walked by its unique identifier: in the order of _id, each page
// asked for by the last _id of the one before, added to the caller's own where.
// What is inserted, updated or deleted meanwhile makes no other item appear
// twice or not at all. A Query with another Sort is walked by the values of its
// keys, which are added to its paths; then an item whose own keys change
// meanwhile may appear twice or not at all. Only with Skip are items counted,
// which is for short lists of servers that know no other way.
//
// # Keys of a sort
//
// A key that an item does not have, or that is null, is the least value, as it is
// to the server. So the server has to send the keys that items have: where it leaves
// them out, a walk upwards ends with ErrStalled. A walk downwards asks for what else
// is null, and does so too where that is nothing; where there are such items, it goes
// on with them and misses all between. A server that leaves out null is walked, but
// where the last items of a walk downwards are deleted meanwhile, it may end with
// ErrStalled.
//
// The values must have the order of a sort: false before true before numbers,
// exactly compared, before texts, byte by byte. Items that come in another order
// end the walk with ErrStalled, and so does a server that sorts several types in
// another way, or rounds numbers before it sorts: SQLite has those of a document as
// an int64 or a float64, so that beyond these two such a walk stalls, and one by
// _id does not. Only where a server has the order of a sort and yet compares within
// one type alone, and no page has two types, a walk upwards ends unnoticed with the
// first: servers that use this module's back ends, mempage and sqlpage, take the
// condition for a cursor.
//
// # What it trusts
//
// A page that does not get further ends the walk with ErrStalled, and before
// any item of it is given out. By _id each item must come after the one before.
// By other keys the first item of a page must come after the last of the page
// before, and the last after the first. By counting a page must have an item
// that no page before had, and no more than 10,000 items are skipped. A list
// that grows as fast as it is walked has no end: List.Max is a bound.
//
// No body is read beyond 32 MiB. A redirect to another scheme, host or port is
// refused. To sign requests or to send a token, give Client a transport that does
// so.
//
// A server that is busy (429, 502, 503, 504) is asked again up to four times, as
// late as its Retry-After says and a random time on top. One that says more than a
// minute ends the walk, and no other failure is tried again.
//
// # What is not checked
//
// Whether an item matches the Query, or has all that was asked for: what the server
// sends is given out. A walk has no deadline but that of its context and Client.
//
// A walk starts no goroutine and reads nothing ahead: a loop that is left leaves
// nothing behind.
//
// # Going on
//
// List.After goes on where an Error ended. A walk that ends by itself, because
// it has given out List.Max items or because the caller broke off, returns no
// cursor, and the caller makes one of the last item it had: its _id; or, where
// the list has another Sort, the JSON array of its values of the keys, _id last,
// like [12,null,"5f"]; or with Skip the number of items so far, Query.Skip
// included.
//
// # Compatibility
//
// Structs only gain fields: write their literals with field names. Error and
// ErrStalled stay what they are; the texts of errors are not part of the API.
// What is a cursor now will be one for later versions.
package walk
