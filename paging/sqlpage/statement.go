package sqlpage

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/internal/sqldialect"
	"github.com/tenantkit/tenantkit/paging"
)

// Statement returns a SELECT for the page of q, and its arguments in order. Each row
// has the columns of table.Select. The statement returns q.Limit+1 rows if more rows
// follow the page: paging.Trim makes a page of them. If the sort does not contain
// _id, _id is added at its end. The zero Query returns no rows.
//
// No query reaches a row outside of visible, whatever its filter, cursor and skip.
//
// Statement returns an error if the table is not valid or lacks a property, or if
// visible has no tenant for a table of several. It also
// returns an error for a text that no database accepts, because it is not UTF-8 or
// contains NUL. The same holds for a text that is no date and is compared with a
// date. If all properties of the schema are in the table, a query from Schema.Parse
// fails only with ErrTooLong. Its filter then names hundreds of long document paths.
func Statement(q paging.Query, table Table, visible Visible, dialect Dialect) (text string, args []any, err error) {
	if !sqldialect.Known(dialect) {
		return "", nil, fmt.Errorf("sqlpage: %d is no dialect", dialect)
	}
	if err := table.validate(); err != nil {
		return "", nil, err
	}
	s := &statement{table: &table, dialect: dialect, sort: q.Order(), placeholders: map[argument]string{}}
	for _, key := range s.sort {
		p, err := s.table.sortProperty(key.Path, rowName+".", s.dialect)
		s.check(err)
		s.sortProperties = append(s.sortProperties, p)
	}
	if s.err != nil {
		return "", nil, s.err
	}
	text = s.page(q, s.visible(visible))
	if s.err != nil {
		return "", nil, s.err
	}
	if len(text) > maxStatement {
		return "", nil, ErrTooLong
	}
	return text, s.args, nil
}

// ErrTooLong reports a query whose statement would be longer than 256 KiB.
var ErrTooLong = errors.New("sqlpage: the statement is too long")

// These are the limits of the text of a statement, in bytes.
const (
	maxStatement = 256 << 10
	maxUnion     = 64 << 10 // of a union, in which each range repeats the filter
)

// statement compiles one statement. It continues after an error, and its text must
// not be used if err is set.
type statement struct {
	table          *Table
	dialect        Dialect
	sort           []paging.Key
	sortProperties []propertySQL // one for each key of sort

	args         []any
	placeholders map[argument]string // of the arguments of bindOnce
	err          error
}

// rowName is the alias of the table in a statement.
const rowName = "r"

func (s *statement) property(path string) propertySQL {
	p, err := s.table.property(path, rowName+".", s.dialect)
	s.check(err)
	return p
}

// check keeps the first error.
func (s *statement) check(err error) {
	if s.err == nil {
		s.err = err
	}
}

// bind adds an argument and returns its placeholder.
func (s *statement) bind(a argument) string {
	if text, ok := a.value.(string); ok && (!utf8.ValidString(text) || strings.ContainsRune(text, 0)) {
		s.check(fmt.Errorf("sqlpage: %q is no text", text))
	}
	s.args = append(s.args, a.value)
	return placeholder(s.dialect, len(s.args), a.cast)
}

// bindOnce is bind for an argument that the statement may use several times.
func (s *statement) bindOnce(a argument) string {
	if _, ok := s.placeholders[a]; !ok {
		s.placeholders[a] = s.bind(a)
	}
	return s.placeholders[a]
}

func (s *statement) page(q paging.Query, visible string) string {
	values, rest, resumed := q.Cursor()
	where := and(visible, s.filter(rest))
	limit, skip := limitAndSkip(q)
	if !resumed {
		return s.single(where) + s.limit(limit, skip)
	}
	c := cursor{s.sort, s.sortProperties, values}
	if condition, ok := c.rowComparison(s); ok {
		return s.single(and(where, condition)) + s.limit(limit, skip)
	}
	ranges := c.ranges(s)
	if len(ranges) == 0 || s.unionLength(where, ranges) > maxUnion {
		return s.single(and(where, anyOf(ranges))) + s.limit(limit, skip)
	}
	return s.union(where, ranges, limit, skip)
}

func and(where, condition string) string {
	switch {
	case where == "TRUE":
		return condition
	case condition == "TRUE":
		return where
	}
	return where + " AND " + condition
}

// limitAndSkip returns how many rows to read, one more than the page has, and how
// many to skip.
func limitAndSkip(q paging.Query) (limit, skip int64) {
	if q.Limit > 0 {
		limit = min(int64(q.Limit), math.MaxInt32) + 1
	}
	return limit, max(int64(q.Skip), 0)
}

func (s *statement) limit(limit, skip int64) string {
	text := " LIMIT " + s.most(limit)
	if skip > 0 {
		text += " OFFSET " + s.bind(argument{skip, "bigint"})
	}
	return text
}

// most returns a number of rows. PostgreSQL reads it from the text. For a number that is
// bound, it plans the statement again for each page, which takes as long as the page.
func (s *statement) most(rows int64) string {
	if s.dialect == PostgreSQL {
		return strconv.FormatInt(rows, 10)
	}
	return s.bind(argument{rows, "bigint"})
}

// single returns a SELECT of all rows that match, in order.
func (s *statement) single(where string) string {
	return "SELECT " + s.columns() + s.from(where) + s.orderBy(s.expressions(), 0)
}

// unionLength returns the approximate length of the text of union.
func (s *statement) unionLength(where string, ranges []indexRange) int {
	order := s.orderBy(s.expressions(), 0)
	each := len(s.columns()) + 2*len(order) + len(where) + 100
	return len(ranges)*each + len(anyOf(ranges))
}

// union returns a SELECT of the first rows of each range, and then of the first of
// these rows. The database reads an index from the start of each range.
func (s *statement) union(where string, ranges []indexRange, limit, skip int64) string {
	expressions := s.expressions()
	columns, names := s.columns(), make([]string, len(expressions))
	for i, e := range expressions {
		// No column has such a name: validName allows no blank.
		names[i] = quote("key " + strconv.Itoa(i+1))
		columns += ", " + e + " AS " + names[i]
	}
	most := s.most(limit + min(skip, math.MaxInt32))
	var text strings.Builder
	text.WriteString("SELECT " + s.columns() + " FROM (")
	for i, r := range ranges {
		if i > 0 {
			text.WriteString(" UNION ALL ")
		}
		// Keys that are equal in the range are left out of ORDER BY in SQLite. It
		// would sort by them if they are expressions. PostgreSQL would sort without
		// them if they are NULL: it does not see that the index has that order.
		omit := len(r.equal)
		if s.dialect == PostgreSQL {
			omit = 0
		}
		text.WriteString("SELECT * FROM (SELECT " + columns + s.from(and(where, r.String())) +
			s.orderBy(expressions, omit) + " LIMIT " + most + ") AS part")
	}
	text.WriteString(") AS " + rowName + s.orderBy(names, 0) + s.limit(limit, skip))
	return text.String()
}

func (s *statement) columns() string {
	var columns []string
	for _, name := range s.table.Select {
		columns = append(columns, rowName+"."+quote(name))
	}
	return strings.Join(columns, ", ")
}

func (s *statement) from(where string) string {
	from := " FROM " + s.table.quotedName() + " AS " + rowName
	if where == "TRUE" {
		return from
	}
	return from + " WHERE " + where
}

// expressions returns the expressions that rows are sorted by.
func (s *statement) expressions() []string {
	var expressions []string
	for _, p := range s.sortProperties {
		for _, k := range p.keys() {
			expressions = append(expressions, k.String())
		}
	}
	return expressions
}

// orderBy returns an ORDER BY over expressions, or over their names, without the
// first omit of them.
func (s *statement) orderBy(expressions []string, omit int) string {
	var order []string
	for i, p := range s.sortProperties {
		for _, k := range p.keys() {
			order = append(order, expressions[len(order)]+direction(s.dialect, k, s.sort[i].Desc))
		}
	}
	return " ORDER BY " + strings.Join(order[omit:], ", ")
}

// row returns a list of values in parentheses.
func row(values []string) string { return "(" + strings.Join(values, ", ") + ")" }
