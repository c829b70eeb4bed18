// Package mempage answers a paging.Query from a slice. It is for lists that
// are in memory anyway, for tests, and as the plain statement of what the other
// back ends do: each page looks at every row.
//
// # What is not checked
//
// What may be compared and what is sent: the first is decided by
// paging.Schema.Parse, the second by the handler. Page asks for any property that
// the query names, and gives out rows whole.
package mempage
