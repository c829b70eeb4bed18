package sqlpage

import (
	"slices"

	"github.com/tenantkit/tenantkit/paging"
)

// rowComparison returns a cursor with these values as one row-value comparison, such as (a, b) > (x,
// y), which reads one index range. ok is false if that is not possible. All keys must
// be columns, have the same direction and be able to hold the values. No NULL may be
// equal to the cursor or follow it.
func (s *statement) rowComparison(cursor []any) (condition string, ok bool) {
	values := make([]argument, 0, len(cursor))
	desc := s.sort[0].Desc
	for i, p := range s.sort {
		col, plain := p.sortable.(column)
		value, had := col.argument(s, cursor[i])
		if !plain || !had || p.Desc != desc || desc && !col.NotNull {
			return "", false
		}
		values = append(values, value)
	}
	left, right := make([]string, 0, len(values)), make([]string, 0, len(values))
	for i, p := range s.sort {
		key, value := p.keys()[0], s.bindOnce(values[i])
		// The first value of the row is hidden from the planner. For the greatest value SQLite expects
		// no rows. It ignores the rows that are equal, which may be all rows, and chooses to sort.
		// PostgreSQL would expect a page to cost less or more than one of unknown depth, and so plan a
		// prepared statement again for each page.
		switch {
		case i == 0 && s.dialect == PostgreSQL:
			value = "(SELECT " + value + ")"
		case i == 0:
			value = "(+" + value + ")"
		}
		if s.dialect == SQLite {
			// SQLite uses an index only for columns without COLLATE. It
			// compares with the collation that is written for the value.
			key.bytewise, value = "", value+key.bytewise
		}
		left, right = append(left, key.String()), append(right, value)
	}
	return row(left) + symbols[beyond(desc)] + row(right), true
}

// beyond returns the comparison for what comes after a value in a sort.
func beyond(desc bool) paging.Op {
	if desc {
		return paging.OpLt
	}
	return paging.OpGt
}

// ranges returns the rows after a cursor as ranges of an index. No row is in two
// ranges.
func (s *statement) ranges(cursor []any) []indexRange {
	var ranges []indexRange
	var equal []string
	for i, p := range s.sort {
		for _, at := range p.at(s, p.Desc, cursor[i]) {
			for _, beyond := range at.beyond {
				ranges = append(ranges, append(slices.Clone(equal), beyond))
			}
			if at.equal == "FALSE" {
				return ranges // no row equals the cursor in further keys
			}
			equal = append(equal, at.equal)
		}
	}
	return ranges
}

// indexRange is a set of rows that are equal in the leading keys and after the cursor
// in the next key: one condition for each of these keys.
type indexRange []string

func (r indexRange) String() string { return join(r, " AND ", "TRUE") }

// anyOf joins the ranges with OR. The database then reads every row that the rest of
// the filter matches, not an index range.
func anyOf(ranges []indexRange) string {
	var alternatives []string
	for _, r := range ranges {
		alternatives = append(alternatives, r.String())
	}
	return join(alternatives, " OR ", "FALSE")
}
