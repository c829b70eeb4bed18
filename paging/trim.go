package paging

// Trim makes a page of the limit+1 rows that were read. It returns at most limit of
// them and whether there are more. The page shares the memory of rows. If rows are
// left out, appending to the page does not overwrite them. If limit is below 1, the
// page is empty.
func Trim[T any](rows []T, limit int) (page []T, more bool) {
	if limit < 1 {
		return nil, false
	}
	if len(rows) > limit {
		return rows[:limit:limit], true
	}
	return rows, false
}
