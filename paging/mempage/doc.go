// Package mempage answers a paging.Query from a slice. Use it for lists that are in
// memory anyway, and in tests. It is also the simplest definition of what the other
// back ends do. Each page looks at every row.
//
// # What is not checked
//
// Page compares any property that the query names, and returns whole rows.
// paging.Schema.Parse decides what a caller may compare, and the handler decides what
// it sends.
package mempage
