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
// meanwhile may appear twice or not at all. The same is true where one key holds
// values of several types, a text among numbers, say: what comes after a value
// is asked for in its own type. Only with Skip are items counted,
// which is for short lists of servers that know no other way.
//
// # What it trusts
//
// A page that does not get further ends the walk with ErrStalled, and no body is
// read beyond 32 MiB. A redirect to another scheme, host or port is refused. To
// sign requests or to send a token, give Client a transport that does so.
//
// A server that is busy (429, 502, 503, 504) is asked again up to four times, as
// late as its Retry-After says and a random time on top. No other failure is
// tried again; List.After goes on where an Error ended.
package walk
