// Package walk is the client of paged lists. It requests one page after the other
// and returns their items (section 4.2 of the interface).
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
// A walk sorts the list by _id, its unique identifier. It requests each page by the
// last _id of the previous page, which it adds to the caller's where. Items that are
// inserted, updated or deleted during the walk do not make any other item appear
// twice or not at all.
//
// If Query has another Sort, the walk pages by the values of the sort keys. It adds
// the keys to Query.Paths. An item whose own keys change during such a walk may
// appear twice or not at all.
//
// # Keys of a sort
//
// A missing key and a null key are the least value, for the walk as for the server.
// So the server must send the keys that items have. If it leaves one out:
//
//   - An ascending walk ends with ErrStalled.
//   - A descending walk treats the unsent key as null and asks for the next null
//     items. If there are none, it ends with ErrStalled. If there are some, it misses
//     every item in between.
//
// A server may leave out keys that are null. But if the last items of a descending
// walk are deleted meanwhile, the walk may then end with ErrStalled.
//
// The server must sort values like package paging: false, true, numbers, strings.
// Numbers must compare exactly and strings byte by byte. If each _id is an integer, these
// may be in the order of the numbers. Items in any other order end the walk with ErrStalled. So does a server that orders types differently or
// rounds numbers before it sorts. SQLite reads a number in a document as int64 or
// float64. A walk sorted by numbers that need more precision ends with ErrStalled,
// a walk by _id does not.
//
// A server may sort across types but compare only within one type. If no page has
// values of two types, an ascending walk then ends after the first type, without an
// error. This cannot happen on servers that use the back ends mempage and sqlpage of
// this module, because these recognize the cursor.
//
// # What it trusts
//
// A page that does not advance ends the walk with ErrStalled, before any item of the
// page is returned. What a page must have depends on the walk:
//
//   - By _id: each item comes after the previous item.
//   - By other keys: the first item comes after the last item of the previous page,
//     and the last item of the page after its first.
//
// A list that grows as fast as it is walked has no end: set List.Max.
//
// The walk reads at most 32 MiB of a reply. It refuses a redirect to another scheme,
// host or port. To sign requests or to send a token, give Client a transport that
// does so.
//
// A busy server (429, 502, 503, 504) is asked again, up to four times. The walk waits
// as long as its Retry-After says, and a random time on top. A Retry-After of more
// than a minute ends the walk. No other failure is tried again.
//
// # What is not checked
//
// The walk returns what the server sends. It does not check whether an item matches
// the Query or has all requested properties. A walk has no deadline except those of
// its context and Client.
//
// A walk starts no goroutine and reads no page ahead. A loop that breaks off leaves
// nothing behind.
//
// # Resuming
//
// List.After resumes a walk that ended with an Error. If Max or the caller ends the
// walk, or the first items of a list property came with its object, there is no Error.
// The caller then builds After from the last item:
//
//   - By _id: its _id.
//   - By other keys: the JSON array of its key values, _id last, like [12,null,"5f"].
//
// # Compatibility
//
// Structs only gain fields: write their literals with field names. Error and
// ErrStalled keep their meaning. The texts of errors are not part of the API. Later
// versions accept every After that this version accepts.
package walk
