// Package mempage answers a paging.Query from a slice. It is for lists that
// are in memory anyway, for tests, and as the plain statement of what the other
// back ends do: each page looks at every row.
package mempage
