package sqlpage

import "github.com/tenantkit/tenantkit/paging"

// EachStatement is the statement of QueryEach.
func EachStatement(q paging.Query, table Table, visible RowScope, d Dialect, parent string, ids []string) (text string, args []any, err error) {
	return compile(q, &table, visible, d, func(s *statement, q paging.Query, visible string) string {
		return s.each(q, visible, parent, ids)
	})
}

// CountStatement is the statement of Pages.Count.
func CountStatement(q paging.Query, table Table, visible RowScope, d Dialect) (text string, args []any, err error) {
	q.Sort = nil
	return compile(q, &table, visible, d, (*statement).count)
}
