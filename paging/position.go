package paging

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Order returns what items are sorted by: Sort, ended with _id where it lacks
// that, and without what follows _id, which no two items share.
func (q Query) Order() []Key {
	if i := slices.IndexFunc(q.Sort, func(k Key) bool { return k.Path == "_id" }); i >= 0 {
		return q.Sort[:i+1]
	}
	return append(slices.Clip(q.Sort), Key{Path: "_id"})
}

// Position returns the place in the order behind which Where asks for items: a
// value for each key of Order, and what else Where asks for. It is false where
// Where names no place, or one that its comparisons describe as they stand.
//
// A place is what Parse found at the end of the caller's where, or what Behind
// added: greater by the first key, or equal by that and greater by the next, and
// so on. No other condition is taken for one, whatever its form. A back end must
// take a place for what follows these values in its own order. To compare would
// lose or repeat items where a property has values of several types, which an
// order has one after the other and which are neither greater nor less.
func (q Query) Position() (values []any, rest Filter, ok bool) {
	place, rest := q.Where.split()
	if place.op != OpOr {
		return nil, q.Where, false
	}
	p, ok := positionOf(q.Order(), place)
	if !ok {
		return nil, q.Where, false // Sort was changed meanwhile
	}
	for _, v := range p.values {
		values = append(values, v.any())
	}
	return values, rest, true
}

// Behind returns the query for the items that follow a place in the order, given
// as Position returns it: a value for each key of Order, nil, a bool, a string or
// a json.Number, and of _id, which comes last, a string. It takes the place of one
// that the query has already.
//
// The error is about values that are none of these, or too many or too few.
func (q Query) Behind(values ...any) (Query, error) {
	p := position{order: q.Order()}
	if len(values) != len(p.order) {
		return Query{}, fmt.Errorf("paging: %d values for a sort of %d keys", len(values), len(p.order))
	}
	for i, v := range values {
		value, ok := placeOperand(v)
		if !ok || p.order[i].Path == "_id" && value.kind != '"' {
			return Query{}, fmt.Errorf("paging: what %s is behind is no value of it", p.order[i].Path)
		}
		p.values = append(p.values, value)
	}
	_, rest := q.Where.split()
	q.Where = And(rest, p.behind().marked(true))
	return q, nil
}

func placeOperand(v any) (value operand, ok bool) {
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

// marked returns f as a place, or as none.
func (f Filter) marked(place bool) Filter {
	if f.op != OpAnd {
		f.place = place
		return f
	}
	f.filters = slices.Clone(f.filters) // one by one, for another And takes them apart
	for i := range f.filters {
		f.filters[i].place = place
	}
	return f
}

// split returns what of f is marked as a place, and the rest.
func (f Filter) split() (place, rest Filter) {
	var places, others []Filter
	for _, part := range f.conjuncts() {
		if part.place {
			places = append(places, part)
		} else {
			others = append(others, part)
		}
	}
	return all(places), all(others)
}

// position is a place in an order.
type position struct {
	order  []Key
	values []operand
}

// positionOf returns the place that f is about.
func positionOf(order []Key, f Filter) (p position, ok bool) {
	last := f
	if f.op == OpOr {
		last = f.filters[len(f.filters)-1]
	}
	conditions := last.conjuncts()
	if len(conditions) != len(order) {
		return position{}, false
	}
	p.order = order
	for _, c := range conditions {
		p.values = append(p.values, c.value)
	}
	// Of _id, which ends the order, there is always something behind.
	if p.values[len(order)-1].kind != '"' || !p.behind().equals(f) {
		return position{}, false
	}
	return p, true
}

// behind matches what follows: an alternative for each key that has something
// behind its value.
func (p position) behind() Filter {
	var following, equal []Filter
	for i, key := range p.order {
		if beyond, ok := p.beyond(i); ok {
			following = append(following, all(append(slices.Clone(equal), beyond)))
		}
		equal = append(equal, Filter{op: OpEq, path: key.Path, value: p.values[i]})
	}
	return one(following)
}

// beyond matches what comes after the value of a key, if anything does.
func (p position) beyond(i int) (f Filter, ok bool) {
	key := p.order[i]
	f = Filter{path: key.Path, value: p.values[i]}
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

// placeAtEnd returns how many of the last conditions are a place in the order.
func placeAtEnd(order []Key, conditions []Filter) int {
	n := 1
	if conditions[len(conditions)-1].op != OpOr {
		n = len(order) // one alternative is no $or, and its parts are among the others
	}
	if n > len(conditions) {
		return 0
	}
	if _, ok := positionOf(order, And(conditions[len(conditions)-n:]...)); !ok {
		return 0
	}
	return n
}
