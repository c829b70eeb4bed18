package paging

// Trim makes a page of rows that were read one beyond limit: at most limit of
// them, and whether there are more. The page shares the rows' memory and has no
// room to append into. A limit below one keeps nothing.
func Trim[T any](rows []T, limit int) (page []T, more bool) {
	if limit < 1 {
		return nil, false
	}
	if len(rows) > limit {
		return rows[:limit:limit], true
	}
	return rows, false
}
