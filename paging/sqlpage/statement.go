package sqlpage

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/paging"
)

// Statement returns a SELECT for the page that q asks for, and its arguments in
// order. Its rows are the columns of table.Select, and there is one more than
// q.Limit where more follow: paging.Trim makes a page of them. A sort that does
// not end with _id is ended with it. The zero Query returns no rows.
//
// The error is about the table, about a property that it does not have, or
// about a value that no database takes: a text that is not UTF-8 or has a NUL,
// or one compared with a date that is none. What Schema.Parse returned, of a
// schema whose properties are all in the table, has no such error. ErrTooLong is
// what is left of a filter that names hundreds of long paths into documents.
func Statement(q paging.Query, table Table, dialect Dialect) (text string, args []any, err error) {
	if !dialect.valid() {
		return "", nil, fmt.Errorf("sqlpage: %d is no dialect", dialect)
	}
	if err := table.validate(); err != nil {
		return "", nil, err
	}
	s := &statement{table: &table, dialect: dialect, sort: q.Order(), bound: map[operand]string{}}
	for _, key := range s.sort {
		s.sortProperties = append(s.sortProperties, s.property(key.Path))
	}
	if s.err != nil {
		return "", nil, s.err
	}
	text = s.page(q)
	if s.err != nil {
		return "", nil, s.err
	}
	if len(text) > maxStatement {
		return "", nil, ErrTooLong
	}
	return text, s.args, nil
}

// ErrTooLong is about a query whose statement would be longer than 256 KiB.
var ErrTooLong = errors.New("sqlpage: the statement is too long")

// Bounds of the text of a statement, in bytes.
const (
	maxStatement = 256 << 10
	maxUnion     = 64 << 10 // in which each range repeats the filter
)

// statement is a statement being compiled. It goes on after an error, and what
// it returns is then of no use.
type statement struct {
	table          *Table
	dialect        Dialect
	sort           []paging.Key
	sortProperties []property // of sort

	args  []any
	bound map[operand]string // the placeholders of bindOnce
	err   error
}

// row is the name of the table within a statement.
const rowName = "r"

func (s *statement) property(path string) property {
	p, err := s.table.property(path, rowName+".", s.dialect)
	s.check(err)
	return p
}

func (s *statement) check(err error) {
	if s.err == nil {
		s.err = err
	}
}

// bind adds an argument and returns its placeholder.
func (s *statement) bind(o operand) string {
	if text, ok := o.value.(string); ok && (!utf8.ValidString(text) || strings.ContainsRune(text, 0)) {
		s.check(fmt.Errorf("sqlpage: %q is no text", text))
	}
	s.args = append(s.args, o.value)
	return s.dialect.placeholder(len(s.args), o.cast)
}

// bindOnce is bind for an argument that is used more than once.
func (s *statement) bindOnce(o operand) string {
	if _, ok := s.bound[o]; !ok {
		s.bound[o] = s.bind(o)
	}
	return s.bound[o]
}

func (s *statement) page(q paging.Query) string {
	values, rest, resumed := q.Cursor()
	where := s.filter(rest)
	limit, skip := bounds(q)
	if !resumed {
		return s.single(where) + s.limit(limit, skip)
	}
	k := keyset{s.sort, s.sortProperties, values}
	if condition, ok := k.inOneRow(s); ok {
		return s.single(and(where, condition)) + s.limit(limit, skip)
	}
	ranges := k.ranges(s)
	if len(ranges) == 0 || s.unionLength(where, ranges) > maxUnion {
		return s.single(and(where, anyOf(ranges))) + s.limit(limit, skip)
	}
	return s.union(where, ranges, limit, skip)
}

func and(where, condition string) string {
	if where == "TRUE" {
		return condition
	}
	return where + " AND " + condition
}

// bounds returns how many rows to read and to skip.
func bounds(q paging.Query) (limit, skip int64) {
	if q.Limit > 0 {
		limit = min(int64(q.Limit), math.MaxInt32) + 1
	}
	return limit, max(int64(q.Skip), 0)
}

func (s *statement) limit(limit, skip int64) string {
	text := " LIMIT " + s.bind(operand{limit, "bigint"})
	if skip > 0 {
		text += " OFFSET " + s.bind(operand{skip, "bigint"})
	}
	return text
}

// single returns the rows that match, in order.
func (s *statement) single(where string) string {
	return "SELECT " + s.columns() + s.from(where) + s.orderBy(s.expressions(), 0)
}

// unionLength returns about how long the text of union is.
func (s *statement) unionLength(where string, ranges []indexRange) int {
	order := s.orderBy(s.expressions(), 0)
	each := len(s.columns()) + 2*len(order) + len(where) + 100
	return len(ranges)*each + len(anyOf(ranges))
}

// union returns the first rows of each range, and of these the first. In every
// range the database reads an index from where the range begins.
func (s *statement) union(where string, ranges []indexRange, limit, skip int64) string {
	expressions := s.expressions()
	columns, names := s.columns(), make([]string, len(expressions))
	for i, e := range expressions {
		// No column has such a name, for one with a blank is not valid.
		names[i] = quote("key " + strconv.Itoa(i+1))
		columns += ", " + e + " AS " + names[i]
	}
	most := s.bind(operand{limit + min(skip, math.MaxInt32), "bigint"})
	var text strings.Builder
	text.WriteString("SELECT " + s.columns() + " FROM (")
	for i, r := range ranges {
		if i > 0 {
			text.WriteString(" UNION ALL ")
		}
		// Not ordered by what is equal: SQLite would sort where that is an
		// expression.
		text.WriteString("SELECT * FROM (SELECT " + columns + s.from(and(where, r.String())) +
			s.orderBy(expressions, len(r.equal)) + " LIMIT " + most + ") AS part")
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

// expressions returns what rows are sorted by.
func (s *statement) expressions() []string {
	var expressions []string
	for _, p := range s.sortProperties {
		for _, k := range p.keys() {
			expressions = append(expressions, k.String())
		}
	}
	return expressions
}

// orderBy sorts by expressions, or by what they are called, save the first.
func (s *statement) orderBy(expressions []string, save int) string {
	var order []string
	for i, p := range s.sortProperties {
		for _, k := range p.keys() {
			order = append(order, expressions[len(order)]+s.dialect.direction(k, s.sort[i].Desc))
		}
	}
	return " ORDER BY " + strings.Join(order[save:], ", ")
}

func row(values []string) string { return "(" + strings.Join(values, ", ") + ")" }
