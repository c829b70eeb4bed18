package paging

// MaxBytes is how many bytes a page has, besides its last item. A page that would have more
// ends there and says that more items follow, whatever its limit. Otherwise a request for
// 1000 items of a megabyte would take a gigabyte. Packages mempage, sqlpage and sqllist
// end their pages so. A program that reads rows by other means counts them itself.
const MaxBytes = 4 << 20

// Trim makes a page of the limit+1 rows that were read. It returns at most limit of
// them and whether there are more. The page shares the memory of rows. If rows are
// left out, appending to the page does not overwrite them. If limit is below 1, the
// page is empty. Trim does not know how long rows are: see MaxBytes.
func Trim[T any](rows []T, limit int) (page []T, more bool) {
	if limit < 1 {
		return nil, false
	}
	if len(rows) > limit {
		return rows[:limit:limit], true
	}
	return rows, false
}
