package sqlpage

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/paging"
)

// Statement returns a SELECT for the page of q, and its arguments in order. Each row
// has the columns of table.Select. The statement returns q.Limit+1 rows if more rows
// follow the page. The last of them is not on it. If the sort does not contain
// _id, _id is added at its end. The zero Query returns no rows.
//
// No query reaches a row outside of visible, whatever its filter, cursor and skip.
//
// The error is ErrProgram if the table or a column that it uses is not valid, if the
// table lacks a property, or if visible lacks the tenant or a value of Where. The same
// holds for a text that no database accepts, because it is not UTF-8 or contains NUL,
// and for a text that is no date and is compared with a date. If all properties of the
// schema are in the table, a query from Schema.Parse fails only with a *paging.Error, because it is too long: not
// because of the filter, which its limits keep short enough, but if visible has
// thousands of IDs.
func Statement(q paging.Query, table Table, visible RowScope, dialect Dialect) (text string, args []any, err error) {
	return compile(q, &table, visible, dialect, (*statement).page)
}

// compile compiles the statement that write writes, for the rows that the condition visible allows.
func compile(q paging.Query, table *Table, visible RowScope, dialect Dialect, write writer) (text string, args []any, err error) {
	if err := table.validate(dialect); err != nil {
		return "", nil, programError{err}
	}
	order := q.Order()
	s := &statement{table: table, dialect: dialect, args: make([]any, 0, 8), sort: make([]sorted, 0, len(order)), keys: make([]sortKey, 0, 2*len(order))}
	for _, key := range order {
		p, err := s.table.sortProperty(key.Path, rowName+".", s.dialect)
		if err != nil {
			return "", nil, programError{err}
		}
		s.sort = append(s.sort, sorted{p, key})
		for _, k := range p.keys() {
			s.keys = append(s.keys, sortKey{k.String(), direction(dialect, k, key.Desc)})
		}
	}
	text = write(s, q, s.visible(visible))
	switch {
	case s.err != nil:
		return "", nil, programError{s.err}
	case len(text) > maxStatement:
		return "", nil, errTooLong
	}
	return text, s.args, nil
}

// errTooLong reports a query whose statement would be longer than 256 KiB. It is a 400, not a
// 503, because to repeat the request does not help.
var errTooLong error = paging.NewError("", "is too long for the database, together with the objects that the scope names")

// ErrProgram is what an error is, by errors.Is, if there is no statement because of a mistake
// in the program: in the Table, or in the RowScope.
var ErrProgram = errors.New("sqlpage: there is no statement")

type programError struct{ error }

func (programError) Is(target error) bool { return target == ErrProgram }
func (e programError) Unwrap() error      { return e.error }

// These are the limits of the text of a statement, in bytes.
const (
	maxStatement = 256 << 10
	maxUnion     = 64 << 10 // of a union, in which each range repeats the filter
)

// statement compiles one statement. It continues after an error, and its text must
// not be used if err is set.
type statement struct {
	table   *Table
	dialect Dialect
	sort    []sorted
	keys    []sortKey // of all properties of sort

	args []any
	once map[argument]string // the placeholders of bindOnce
	err  error
}

// writer writes a statement for the rows that the condition visible allows.
type writer func(s *statement, q paging.Query, visible string) string

// sorted is a property that rows are sorted by.
type sorted struct {
	sortable
	paging.Key
}

// sortKey is an expression that rows are sorted by, and its direction.
type sortKey struct{ expression, direction string }

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
	if text, ok := a.value.(string); ok && !isText(text) {
		s.check(fmt.Errorf("sqlpage: %q is no text", text))
	}
	s.args = append(s.args, a.value)
	return placeholder(s.dialect, len(s.args), a.cast)
}

// isText reports whether the databases have such a text.
func isText(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

// bindOnce is bind for an argument that the statement may use several times.
func (s *statement) bindOnce(a argument) string {
	if s.once == nil {
		s.once = map[argument]string{}
	}
	if s.once[a] == "" {
		s.once[a] = s.bind(a)
	}
	return s.once[a]
}

func (s *statement) page(q paging.Query, visible string) string {
	values, rest, resumed := q.Cursor()
	where := and(visible, s.filter(rest))
	limit, skip := limitAndSkip(q)
	if !resumed {
		return s.single(where) + s.limit(limit, skip)
	}
	if condition, ok := s.rowComparison(values); ok {
		return s.single(and(where, condition)) + s.limit(limit, skip)
	}
	ranges := s.ranges(values)
	if len(ranges) == 0 || s.unionLength(where, ranges) > maxUnion {
		return s.single(and(where, anyOf(ranges))) + s.limit(limit, skip)
	}
	return s.union(where, ranges, limit, skip)
}

// count returns a SELECT of how many visible rows match the filter of q. It counts to q.CountTo+1 at
// most. A cursor is a condition like others here, so a page after the first counts the rest.
func (s *statement) count(q paging.Query, visible string) string {
	from := s.from(and(visible, s.filter(q.Where)))
	most, _ := limitAndSkip(paging.Query{Limit: q.CountTo})
	return "SELECT count(*) FROM (SELECT 1" + from + s.limit(most, 0) + ") AS counted"
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
	return "SELECT " + s.columns() + s.from(where) + s.orderBy(nil, 0)
}

// unionLength returns the approximate length of the text of union.
func (s *statement) unionLength(where string, ranges []indexRange) int {
	order := s.orderBy(nil, 0)
	each := len(s.columns()) + 2*len(order) + len(where) + 100
	return len(ranges)*each + len(anyOf(ranges))
}

// union returns a SELECT of the first rows of each range, and then of the first of
// these rows. The database reads an index from the start of each range.
func (s *statement) union(where string, ranges []indexRange, limit, skip int64) string {
	columns, names := s.columns(), make([]string, len(s.keys))
	for i, k := range s.keys {
		// No column has such a name: validName allows no blank.
		names[i] = quote("key " + strconv.Itoa(i+1))
		columns += ", " + k.expression + " AS " + names[i]
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
		omit := len(r) - 1
		if s.dialect == PostgreSQL {
			omit = 0
		}
		text.WriteString("SELECT * FROM (SELECT " + columns + s.from(and(where, r.String())) +
			s.orderBy(nil, omit) + " LIMIT " + most + ") AS part")
	}
	text.WriteString(") AS " + rowName + s.orderBy(names, 0) + s.limit(limit, skip))
	return text.String()
}

func (s *statement) columns() string {
	columns := make([]string, len(s.table.Select))
	for i, name := range s.table.Select {
		columns[i] = rowName + "." + quote(name)
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

// orderBy returns an ORDER BY over all keys except the first omit, or over their names
// if there are any.
func (s *statement) orderBy(names []string, omit int) string {
	order := make([]string, 0, 8)
	for i, k := range s.keys[omit:] {
		if names != nil {
			k.expression = names[omit+i]
		}
		order = append(order, k.expression+k.direction)
	}
	return " ORDER BY " + strings.Join(order, ", ")
}

// row returns a list of values in parentheses.
func row(values []string) string { return "(" + strings.Join(values, ", ") + ")" }

// filter returns a condition that is true if f matches. It can stand beside AND and
// OR without parentheses.
func (s *statement) filter(f paging.Filter) string {
	switch f.Op() {
	case paging.OpAnd:
		return join(s.filters(f), " AND ", "TRUE")
	case paging.OpOr:
		return join(s.filters(f), " OR ", "FALSE")
	case paging.OpNot:
		inner := f.Filters()[0]
		if inner.Op() == paging.OpExists || inner.Op() == paging.OpEq && inner.Values()[0] == nil {
			return "NOT (" + s.filter(inner) + ")" // it is never NULL
		}
		return "NOT COALESCE(" + s.filter(inner) + ", FALSE)"
	}
	p := s.property(f.Path())
	if p == nil {
		return "FALSE"
	}
	if f.Op() == paging.OpExists {
		return p.exists()
	}
	return s.values(p, f)
}

// values compiles an operator that takes values.
func (s *statement) values(p propertySQL, f paging.Filter) string {
	values := f.Values()
	n := len(values)
	values = slices.DeleteFunc(values, func(v any) bool { return v == nil })
	if f.Op() != paging.OpIn && len(values) > 0 {
		return p.compare(s, f.Op(), values[0])
	}
	var conditions []string
	if len(values) < n {
		conditions = append(conditions, p.isNull())
	}
	if len(values) > 0 {
		conditions = append(conditions, p.in(s, values))
	}
	return join(conditions, " OR ", "FALSE")
}

func (s *statement) filters(f paging.Filter) []string {
	var conditions []string
	for _, part := range f.Filters() {
		conditions = append(conditions, s.filter(part))
	}
	return conditions
}

// join combines conditions with an operator. empty is the result without conditions.
func join(conditions []string, operator, empty string) string {
	switch len(conditions) {
	case 0:
		return empty
	case 1:
		return conditions[0]
	}
	return "(" + strings.Join(conditions, operator) + ")"
}

// array is a column of texts in an array. A condition is true if it holds for one of
// them. An array has no place in a sort.
type array struct {
	name       string
	expression bool // the name is an UnsafeExpression
	dialect    Dialect
}

func (a array) compare(s *statement, op paging.Op, value any) string {
	if op == paging.OpEq {
		return a.in(s, []any{value})
	}
	if _, ok := value.(string); !ok {
		return "FALSE"
	}
	return a.some(a.text() + symbols[op] + s.bind(argument{value, "text"}))
}

func (a array) in(s *statement, values []any) string {
	var list []string
	for _, value := range values {
		if text, ok := value.(string); ok {
			list = append(list, s.bind(argument{text, "text"}))
		}
	}
	switch {
	case list == nil:
		return "FALSE"
	case a.dialect == PostgreSQL:
		return a.name + " && ARRAY[" + strings.Join(list, ", ") + "]" // a GIN index serves it
	}
	return a.some(a.text() + " IN " + row(list))
}

// text returns the text of an element, or NULL.
func (a array) text() string {
	if a.dialect == PostgreSQL {
		return "e" + bytewise[PostgreSQL]
	}
	return "CASE e.type WHEN 'text' THEN e.value END"
}

// some returns a condition that is true if an element e has the condition.
func (a array) some(condition string) string {
	elements := "json_each(" + a.name + ")"
	switch {
	case a.dialect == PostgreSQL:
		elements = "unnest(" + a.name + ")"
	case a.expression:
		// In json_each itself, a name such as value would be that of its own column.
		elements = "(SELECT " + a.name + " AS texts) AS a CROSS JOIN json_each(a.texts)"
	}
	return "EXISTS (SELECT 1 FROM " + elements + " AS e WHERE " + condition + ")"
}

func (a array) isNull() string {
	null := "e.type = 'null'"
	if a.dialect == PostgreSQL {
		null = "e IS NULL"
	}
	return "(" + a.name + " IS NULL OR " + a.some(null) + ")"
}

func (a array) exists() string { return a.name + " IS NOT NULL" }
