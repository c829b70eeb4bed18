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
// keys in the same way; these are added to its paths. Only with Skip are items
// counted, which is for short lists of servers that know no other way.
//
// # What it trusts
//
// Nothing a server says makes a walk endless or unbounded in memory: a page
// that does not get further ends it with ErrStalled, and no body is read beyond
// 32 MiB. A redirect to another scheme, host or port is refused. To sign requests
// or to send a token, give Client a transport that does so.
package walk
