package paging

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Order returns the keys that items are sorted by: Sort, ended with _id where it
// lacks that, and without what follows _id, which no two items share.
func (q Query) Order() []Key {
	if i := slices.IndexFunc(q.Sort, func(k Key) bool { return k.Path == "_id" }); i >= 0 {
		return q.Sort[:i+1]
	}
	return append(slices.Clip(q.Sort), Key{Path: "_id"})
}

// Cursor returns the cursor of the query: the values that the last item of the
// page before has for the keys of Order. The rest is what else Where asks for.
// Cursor returns false where Where has no cursor, and where the comparisons of the
// cursor alone match what follows it, as in a sort by _id.
//
// A cursor is what Parse found at the end of the caller's where, or what After
// added. No other condition is taken for one, whatever its form. A back end must
// return the items that follow these values in its own order. The comparisons
// alone would lose or repeat items where a property has values of several types:
// a sort has them one after the other, but none is greater or less than another.
func (q Query) Cursor() (values []any, rest Filter, ok bool) {
	marked, rest := q.Where.split()
	if marked.op != OpOr {
		return nil, q.Where, false
	}
	c, ok := cursorOf(q.Order(), marked)
	if !ok {
		return nil, q.Where, false // Sort was changed meanwhile
	}
	for _, v := range c.values {
		values = append(values, v.any())
	}
	return values, rest, true
}

// After returns the query for the items that follow a cursor, given as Cursor
// returns it: a value for each key of Order, nil, a bool, a string or a
// json.Number, and for _id, which comes last, a string. It replaces the cursor
// that the query has already.
//
// The error is about values that are none of these, or too many or too few.
func (q Query) After(values ...any) (Query, error) {
	c := cursor{order: q.Order()}
	if len(values) != len(c.order) {
		return Query{}, fmt.Errorf("paging: %d values for a sort of %d keys", len(values), len(c.order))
	}
	for i, v := range values {
		value, ok := cursorOperand(v)
		if !ok || c.order[i].Path == "_id" && value.kind != '"' {
			return Query{}, fmt.Errorf("paging: the cursor's value of %s is not valid", c.order[i].Path)
		}
		c.values = append(c.values, value)
	}
	_, rest := q.Where.split()
	q.Where = And(rest, c.filter().marked(true))
	return q, nil
}

func cursorOperand(v any) (value operand, ok bool) {
	switch v := v.(type) {
	case nil:
		return operand{}, true
	case string: // as scan takes one
		return operand{'"', v}, utf8.ValidString(v) && !strings.Contains(v, "\x00")
	case bool, json.Number:
		return operandOf(v)
	}
	return operand{}, false
}

func (f Filter) conjuncts() []Filter {
	if f.op == OpAnd {
		return f.filters
	}
	return []Filter{f}
}

// marked returns f marked as a cursor, or as none.
func (f Filter) marked(cursor bool) Filter {
	if f.op != OpAnd {
		f.cursor = cursor
		return f
	}
	f.filters = slices.Clone(f.filters) // one by one, for another And takes them apart
	for i := range f.filters {
		f.filters[i].cursor = cursor
	}
	return f
}

// split returns what of f is marked as a cursor, and the rest.
func (f Filter) split() (marked, rest Filter) {
	var cursors, others []Filter
	for _, part := range f.conjuncts() {
		if part.cursor {
			cursors = append(cursors, part)
		} else {
			others = append(others, part)
		}
	}
	return all(cursors), all(others)
}

// cursor is the values of an item for the keys of an order.
type cursor struct {
	order  []Key
	values []operand
}

// cursorOf returns the cursor that f is the filter of.
func cursorOf(order []Key, f Filter) (c cursor, ok bool) {
	last := f
	if f.op == OpOr {
		last = f.filters[len(f.filters)-1]
	}
	conditions := last.conjuncts()
	if len(conditions) != len(order) {
		return cursor{}, false
	}
	c.order = order
	for _, condition := range conditions {
		c.values = append(c.values, condition.value)
	}
	// Something can always follow an _id, which ends the order.
	if c.values[len(order)-1].kind != '"' || !c.filter().equals(f) {
		return cursor{}, false
	}
	return c, true
}

// filter matches what follows: it has an alternative for each key of which
// something can follow the value.
func (c cursor) filter() Filter {
	var alternatives, equal []Filter
	for i, key := range c.order {
		if beyond, ok := c.beyond(i); ok {
			alternatives = append(alternatives, all(append(slices.Clone(equal), beyond)))
		}
		equal = append(equal, Filter{op: OpEq, path: key.Path, value: c.values[i]})
	}
	return one(alternatives)
}

// beyond matches what follows the value of a key, if anything can.
func (c cursor) beyond(i int) (f Filter, ok bool) {
	key := c.order[i]
	f = Filter{path: key.Path, value: c.values[i]}
	switch {
	case f.value.kind == 0 && key.Desc:
		return Filter{}, false // null is the least
	case f.value.kind == 0:
		f.op = OpEq
		return Not(f), true
	case !key.Desc:
		f.op = OpGt
	case key.Path == "_id":
		f.op = OpLt
	default:
		f.op = OpGte // not $lt, which would leave out what is null
		return Not(f), true
	}
	return f, true
}

func (f Filter) equals(g Filter) bool {
	return f.op == g.op && f.path == g.path && f.value == g.value &&
		slices.Equal(f.values, g.values) && slices.EqualFunc(f.filters, g.filters, Filter.equals)
}

// cursorAtEnd returns how many of the last conditions are a cursor in the order,
// which is nil where there is none.
func cursorAtEnd(order []Key, conditions []Filter) int {
	n := 1
	if conditions[len(conditions)-1].op != OpOr {
		n = len(order) // one alternative is no $or, and its parts are among the others
	}
	if order == nil || n > len(conditions) {
		return 0
	}
	f := conditions[len(conditions)-1]
	if n > 1 {
		f = Filter{op: OpAnd, filters: conditions[len(conditions)-n:]}
	}
	if _, ok := cursorOf(order, f); !ok {
		return 0
	}
	return n
}

// The canonical form of a conjunction.
const (
	andOpen  = `{"$and":[`
	andClose = `]}`
	// noCursor is an empty condition at the end of a conjunction. It says that
	// the condition before it only looks like a cursor.
	noCursor = `,{}` + andClose
)

// whereText returns Where as Parse reads it back: with the cursor last and, where
// the last condition only looks like one, an empty condition after it.
func (q Query) whereText() string {
	order := q.Order()
	marked, rest := q.Where.split()
	if _, ok := cursorOf(order, marked); ok {
		return And(rest, marked).String()
	}
	text := q.Where.String()
	if len(order) == 1 || cursorAtEnd(order, q.Where.conjuncts()) == 0 {
		return text
	}
	if q.Where.op == OpAnd {
		text = strings.TrimSuffix(strings.TrimPrefix(text, andOpen), andClose)
	}
	return andOpen + text + noCursor
}
