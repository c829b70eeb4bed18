package paging

// MaxBytes is how many bytes a page has, besides its last item. A page that would have more
// ends there and says that more items follow, whatever its limit. Otherwise a request for
// 1000 items of a megabyte would take a gigabyte. Packages mempage, sqlpage and sqllist
// end their pages so. A program that reads rows by other means counts them itself.
const MaxBytes = 4 << 20
