package paging

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// Order returns the keys that items are sorted by: Sort up to _id, or Sort and then
// _id if Sort lacks it. Keys after _id are dropped, because no two items share an
// _id.
func (q Query) Order() []Key {
	if i := slices.IndexFunc(q.Sort, func(k Key) bool { return k.Path == "_id" }); i >= 0 {
		return q.Sort[:i+1]
	}
	return append(slices.Clip(q.Sort), Key{Path: "_id"})
}

// Cursor returns the cursor of the query: the values that the last item of the
// previous page has for the keys of Order. rest is the remaining filter. ok is false
// if Where has no cursor or Sort was changed since. It is also false if the plain
// filter is enough, as in a sort by _id. rest is then the whole Where.
//
// A query has a cursor only if Parse found one at the end of the caller's where, or
// if After set one. A back end takes no other condition for a cursor, whatever its
// form. It must return the items that follow these values in its own order. The
// comparisons of the condition are not enough if a property has values of several
// types. A sort orders the types but a comparison does not, so items would be lost or
// repeated.
func (q Query) Cursor() (values []any, rest Filter, ok bool) {
	marked, rest := q.Where.splitCursor()
	if marked.op == OpOr {
		if last, ok := cursorOf(q.Order(), marked); ok { // else Sort was changed since
			return valuesOf(last), rest, true
		}
	}
	return nil, q.Where, false
}

// After returns the query for the items after a cursor. It replaces the cursor of q,
// if there is one. values are those that Query.Cursor returns: one for each key of
// Order, and each is nil, a bool, a string or a json.Number. The last is the _id and
// must be a string.
//
// After returns an error if the number of values is wrong or if a value is not valid.
func (q Query) After(values ...any) (Query, error) {
	order, last := q.Order(), make([]operand, len(values))
	if len(values) != len(order) {
		return Query{}, fmt.Errorf("paging: %d values for a sort of %d keys", len(values), len(order))
	}
	for i, v := range values {
		var ok bool
		if last[i], ok = cursorOperand(v); !ok || order[i].Path == "_id" && last[i].kind != '"' {
			return Query{}, fmt.Errorf("paging: the cursor's value of %s is not valid", order[i].Path)
		}
	}
	_, rest := q.Where.splitCursor()
	q.Where = And(rest, following(order, last).marked(true))
	return q, nil
}

func cursorOperand(v any) (value operand, ok bool) {
	switch v.(type) {
	case nil:
		return operand{}, true
	case string, bool, json.Number:
		value, ok = operandOf(v)
	}
	// scan accepts the same strings
	return value, ok && utf8.ValidString(value.text) && !strings.Contains(value.text, "\x00")
}

// conjuncts returns the parts of a conjunction, or f itself if f is none.
func (f Filter) conjuncts() []Filter {
	if f.op == OpAnd {
		return f.filters
	}
	return []Filter{f}
}

// marked returns f with its cursor mark set or cleared.
func (f Filter) marked(cursor bool) Filter {
	parts := slices.Clone(f.conjuncts()) // each part, because a further And flattens f
	for i := range parts {
		parts[i].cursor = cursor
	}
	return allOf(parts)
}

// splitCursor returns the parts of f that are marked as a cursor, and the other
// parts.
func (f Filter) splitCursor() (marked, rest Filter) {
	var cursors, others []Filter
	for _, part := range f.conjuncts() {
		if part.cursor {
			cursors = append(cursors, part)
		} else {
			others = append(others, part)
		}
	}
	return allOf(cursors), allOf(others)
}

// cursorOf returns the values of the cursor whose filter is f, one for each key of the order. ok is
// false if f is not the filter of a cursor.
func cursorOf(order []Key, f Filter) (values []operand, ok bool) {
	last := f
	if f.op == OpOr && len(f.filters) > 0 {
		last = f.filters[len(f.filters)-1]
	}
	for _, condition := range last.conjuncts() {
		values = append(values, condition.value)
	}
	// The _id of a cursor is a string, as in After.
	return values, len(values) == len(order) && values[len(order)-1].kind == '"' && following(order, values).String() == f.String()
}

// following matches the items after the values of a cursor: a > x, or a = x and b > y, and so on. It
// has an alternative for each key that can have a value after the cursor's.
func following(order []Key, values []operand) Filter {
	var alternatives, equal []Filter
	for i, key := range order {
		if beyond, ok := key.beyond(values[i]); ok {
			alternatives = append(alternatives, allOf(append(slices.Clone(equal), beyond)))
		}
		equal = append(equal, Filter{op: OpEq, path: key.Path, value: values[i]})
	}
	return anyOf(alternatives)
}

// beyond matches the items whose key comes after the value. ok is false if no value comes after it.
func (k Key) beyond(value operand) (f Filter, ok bool) {
	f = Filter{path: k.Path, value: value}
	switch {
	case value.kind == 0 && k.Desc:
		return Filter{}, false // null is the least value
	case value.kind == 0:
		f.op = OpEq
		return Not(f), true
	case !k.Desc:
		f.op = OpGt
	case k.Path == "_id":
		f.op = OpLt
	default:
		f.op = OpGte // negated, because $lt would not match null
		return Not(f), true
	}
	return f, true
}

// addition is the size of what a walk has added to the filter of its caller: a cursor, or the empty
// condition of notACursor.
type addition struct {
	elements             int // of the $and around both
	bytes, nodes, values int
}

// addedTo marks the cursor at the end of f and returns its size. guarded says that notACursor follows.
func addedTo(f Filter, order []Key, guarded bool) (Filter, addition) {
	if guarded {
		return f, addition{elements: 1, bytes: len(notACursor)}
	}
	conditions := f.conjuncts()
	added := addition{elements: cursorAtEnd(order, conditions)}
	for i := range added.elements {
		part := &conditions[len(conditions)-1-i] // of f, whose filters are not shared yet
		part.cursor = true
		text := part.String()
		c := compiler{Reader: strictjson.New(text, strictjson.Limits{Depth: maxDepth, Members: maxMembers}), properties: anyProperty}
		c.where()
		added.nodes, added.values = added.nodes+c.nodes, added.values+c.values
		added.bytes += len(",") + len(text)
	}
	if added.bytes > maxText {
		added.bytes = 0
	}
	if f.op != OpAnd {
		f = conditions[0]
	}
	return f, added
}

// cursorAtEnd returns how many of the last conditions form a cursor for order. It
// returns 0 if order is nil.
func cursorAtEnd(order []Key, conditions []Filter) int {
	n := 1
	if len(conditions) > 0 && conditions[len(conditions)-1].op != OpOr {
		n = len(order) // a single alternative is flattened into the conditions
	}
	if order == nil || n > len(conditions) {
		return 0
	}
	if _, ok := cursorOf(order, allOf(slices.Clone(conditions[len(conditions)-n:]))); !ok {
		return 0
	}
	return n
}

// These are the parts of the canonical form of a conjunction.
const (
	andOpen  = `{"$and":[`
	andClose = `]}`
	// notACursor is an empty condition at the end of a conjunction. It tells Parse
	// that the condition before it is no cursor, although it has the form of one.
	notACursor = `,{}`
)

// whereText returns Where in the form that Parse reads back. A cursor is the last
// condition. If the last condition only has the form of a cursor, an empty condition
// follows it.
func (q Query) whereText() string {
	order := q.Order()
	marked, rest := q.Where.splitCursor()
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
	return andOpen + text + notACursor + andClose
}
