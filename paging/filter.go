package paging

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// Filter is a condition on the items of a list. The zero Filter matches all of
// them. A Filter is a value and cannot be altered; filters are combined with
// And, Or and Not.
//
// Its JSON form is canonical: what ParseFilter reads, and what MongoDB takes.
//
// A back end walks a filter by its Op, which says what else it has.
type Filter struct {
	op      Op
	path    string
	value   operand   // of a comparison
	values  []operand // of OpIn
	filters []Filter
	cursor  bool // the cursor of a query, or a part of it
}

// operand is what a property is compared with: the zero operand is null.
type operand struct {
	kind byte   // as of a token
	text string // of a string or number
}

func (o operand) any() any {
	switch o.kind {
	case '"':
		return o.text
	case '0':
		return json.Number(o.text)
	case 't', 'f':
		return o.kind == 't'
	}
	return nil
}

// Op is the operator of a Filter.
type Op uint8

// The operators. All others of the interface are read as these: $ne, $nin and
// $nor are the negations of OpEq, OpIn and OpOr.
const (
	OpAll    Op = iota // everything; of Filters, Path and Values it has none
	OpAnd              // all of Filters, of which there are two or more
	OpOr               // one of Filters, of which there are two or more
	OpNot              // not the only one of Filters
	OpEq               // Path equals Values[0]; null equals a missing property
	OpGt               // Path is greater than Values[0], of the same type and not null
	OpGte              // … or equal
	OpLt               // Path is less than Values[0], of the same type and not null
	OpLte              // … or equal
	OpIn               // Path equals one of Values, of which there may be none
	OpExists           // Path is there, and may be null
)

// Holds reports whether a comparison holds for a value, given how Compare orders
// that against the value of the filter. Only values of one type are in such an order.
func (op Op) Holds(order int) bool {
	switch op {
	case OpEq:
		return order == 0
	case OpGt:
		return order > 0
	case OpGte:
		return order >= 0
	case OpLt:
		return order < 0
	case OpLte:
		return order <= 0
	}
	return false
}

// Op returns the operator.
func (f Filter) Op() Op { return f.op }

// Path returns the property that the filter is about.
func (f Filter) Path() string { return f.path }

// Values returns what the property is compared with: each is nil, a bool, a
// string or a json.Number. A date is a string like 2026-01-02T03:04:05.000Z.
func (f Filter) Values() []any {
	switch f.op {
	case OpEq, OpGt, OpGte, OpLt, OpLte:
		return []any{f.value.any()}
	}
	var values []any
	for _, v := range f.values {
		values = append(values, v.any())
	}
	return values
}

// Filters returns the operands of OpAnd, OpOr and OpNot.
func (f Filter) Filters() []Filter { return slices.Clone(f.filters) }

// Value is what a property can be compared with. A time.Time is cut to the
// millisecond, as dates are on the wire. A json.Number is a number, and keeps
// its digits. What is no number, like NaN, equals nothing.
type Value interface {
	~bool | ~string | ~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64 | time.Time
}

// Eq matches items whose property is v.
func Eq[V Value](path string, v V) Filter { return compare(OpEq, path, v) }

// Ne matches all other items, also those without the property.
func Ne[V Value](path string, v V) Filter { return Not(Eq(path, v)) }

// Gt matches items whose property is greater than v.
func Gt[V Value](path string, v V) Filter { return compare(OpGt, path, v) }

// Gte matches items whose property is v or greater.
func Gte[V Value](path string, v V) Filter { return compare(OpGte, path, v) }

// Lt matches items whose property is less than v.
func Lt[V Value](path string, v V) Filter { return compare(OpLt, path, v) }

// Lte matches items whose property is v or less.
func Lte[V Value](path string, v V) Filter { return compare(OpLte, path, v) }

// Null matches items whose property is null or missing.
func Null(path string) Filter { return Filter{op: OpEq, path: path} }

// In matches items whose property is one of v; none of them if there is no v.
func In[V Value](path string, v ...V) Filter {
	f := Filter{op: OpIn, path: path}
	for _, one := range v {
		if value, ok := operandOf(one); ok {
			f.values = append(f.values, value)
		}
	}
	return f
}

// And matches what all of the filters match; without any, everything.
func And(f ...Filter) Filter { return all(slices.Clone(f)) }

// Or matches what one of the filters matches; without any, nothing.
func Or(f ...Filter) Filter { return one(slices.Clone(f)) }

// Not matches what f does not match.
func Not(f Filter) Filter {
	if f.op == OpNot {
		return f.filters[0]
	}
	return Filter{op: OpNot, filters: []Filter{f}}
}

var nothing = Not(Filter{})

func all(filters []Filter) Filter { return join(OpAnd, Filter{}, filters) }
func one(filters []Filter) Filter { return join(OpOr, nothing, filters) }

// join combines filters, in the memory of the slice: empty changes nothing among
// them, and its opposite decides alone.
func join(op Op, empty Filter, filters []Filter) Filter {
	parts := filters[:0]
	for _, f := range filters {
		switch {
		case f.constant() && f.op == empty.op:
			continue
		case f.constant():
			return f
		case f.op == op:
			parts = append(slices.Clip(parts), f.filters...) // and not over those still to come
		default:
			parts = append(parts, f)
		}
	}
	switch len(parts) {
	case 0:
		return empty
	case 1:
		return parts[0]
	}
	return Filter{op: op, filters: parts}
}

// constant reports whether f is everything or nothing.
func (f Filter) constant() bool {
	return f.op == OpAll || f.op == OpNot && f.filters[0].op == OpAll
}

func compare[V Value](op Op, path string, v V) Filter {
	value, ok := operandOf(v)
	if !ok {
		return nothing
	}
	return Filter{op: op, path: path, value: value}
}

// operandOf returns the operand that v is, or false for NaN and its like, and for
// values of other types.
func operandOf(v any) (operand, bool) {
	switch v := v.(type) {
	case json.Number:
		return numberOperand(string(v))
	case time.Time:
		return operand{'"', formatDate(v)}, true
	}
	switch r := reflect.ValueOf(v); {
	case r.Kind() == reflect.String:
		return operand{'"', r.String()}, true
	case r.Kind() == reflect.Bool && r.Bool():
		return operand{kind: 't'}, true
	case r.Kind() == reflect.Bool:
		return operand{kind: 'f'}, true
	case r.CanInt():
		return numberOperand(strconv.FormatInt(r.Int(), 10))
	case r.CanUint():
		return numberOperand(strconv.FormatUint(r.Uint(), 10))
	case r.CanFloat():
		// Shortest, so that a float32 of 0.1 is 0.1.
		return numberOperand(strconv.FormatFloat(r.Float(), 'g', -1, r.Type().Bits()))
	}
	return operand{}, false
}

func numberOperand(text string) (operand, bool) { return operand{'0', text}, validNumber(text) }
