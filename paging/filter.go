package paging

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// Filter is a condition on the items of a list. The zero Filter matches all items. A
// Filter is an immutable value. Combine filters with And, Or and Not.
//
// Its JSON form is canonical. ParseFilter and MongoDB read it.
//
// A back end reads a filter by its Op. The Op says which of Path, Values and Filters
// the filter has.
type Filter struct {
	op      Op
	cursor  bool // part of the cursor of a query
	path    string
	value   operand   // of a comparison
	values  []operand // of OpIn
	filters []Filter
}

// operand is a value that a property is compared with. The zero operand is null.
type operand struct {
	kind byte   // of a token; 0 for null
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

// These are the operators. Other operators of the interface become one of them: $ne,
// $nin and $nor are OpNot of OpEq, OpIn and OpOr. $prefix is OpAnd of OpGte and OpLt.
const (
	OpAnd    Op = iota // all Filters match; without Filters, every item
	OpOr               // at least one of Filters matches; without Filters, no item
	OpNot              // the only one of Filters does not match
	OpEq               // Path equals Values[0]; null equals a missing property
	OpGt               // Path is greater than Values[0], of the same type and not null
	OpGte              // … or equal
	OpLt               // Path is less than Values[0], of the same type and not null
	OpLte              // … or equal
	OpIn               // Path equals one of Values; there may be none
	OpExists           // Path is not missing; it may be null
)

// Holds reports whether a comparison holds, given the order of the property's value
// and the filter's value, or one of its values, as Compare returns it. Call it only if both
// values have the same type.
func (op Op) Holds(order int) bool {
	switch op {
	case OpEq, OpIn:
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

// Path returns the property that the filter compares or tests.
func (f Filter) Path() string { return f.path }

// Values returns the values that the property is compared with. Each is nil, a bool,
// a string or a json.Number. A date is a string like 2026-01-02T03:04:05.000Z.
func (f Filter) Values() []any {
	switch f.op {
	case OpEq, OpGt, OpGte, OpLt, OpLte:
		return []any{f.value.any()}
	}
	return valuesOf(f.values)
}

func valuesOf(operands []operand) []any {
	values := slices.Grow([]any(nil), len(operands))
	for _, o := range operands {
		values = append(values, o.any())
	}
	return values
}

// Filters returns the filters that OpAnd, OpOr or OpNot applies to.
func (f Filter) Filters() []Filter { return slices.Clone(f.filters) }

// Value is a type that a property can be compared with. A time.Time is cut to
// milliseconds, like dates on the wire. A json.Number is a number and keeps its
// digits. NaN, the infinities and an invalid json.Number equal nothing and have no
// order.
type Value interface {
	~bool | ~string | ~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64 | time.Time
}

// Eq matches items whose property is equal to v.
func Eq[V Value](path string, v V) Filter { return compare(OpEq, path, v) }

// Ne matches items whose property is not equal to v, and items without the property.
func Ne[V Value](path string, v V) Filter { return Not(Eq(path, v)) }

// Gt matches items whose property is greater than v.
func Gt[V Value](path string, v V) Filter { return compare(OpGt, path, v) }

// Gte matches items whose property is greater than or equal to v.
func Gte[V Value](path string, v V) Filter { return compare(OpGte, path, v) }

// Lt matches items whose property is less than v.
func Lt[V Value](path string, v V) Filter { return compare(OpLt, path, v) }

// Lte matches items whose property is less than or equal to v.
func Lte[V Value](path string, v V) Filter { return compare(OpLte, path, v) }

// Null matches items whose property is null or missing.
func Null(path string) Filter { return Filter{op: OpEq, path: path} }

// In matches items whose property equals one of v. Without any v it matches nothing.
func In[V Value](path string, v ...V) Filter {
	f := Filter{op: OpIn, path: path}
	for _, one := range v {
		if value, ok := operandOf(one); ok {
			f.values = append(f.values, value)
		}
	}
	return f
}

// Prefix matches items whose property is a string that begins with p, byte by byte. It is
// the range of these strings, so that an index serves it: at least p, and less than the
// next string that does not begin with p. Every string begins with "". A p that is not
// UTF-8 matches nothing. Do not use Prefix for elements of an array (c_tags[]): the two
// ends of the range could match two of them.
func Prefix(path, p string) Filter {
	if !utf8.ValidString(p) {
		return nothing
	}
	if next, ok := afterPrefix(p); ok {
		return And(Gte(path, p), Lt(path, next))
	}
	return Gte(path, p)
}

// afterPrefix returns the least string that is greater than every string that begins
// with p. In UTF-8 the order of bytes is the order of code points. ok is false if no
// string is greater.
func afterPrefix(p string) (next string, ok bool) {
	for p != "" {
		last, size := utf8.DecodeLastRuneInString(p)
		p = p[:len(p)-size]
		if last == beforeSurrogates {
			last = afterSurrogates - 1
		}
		if last < utf8.MaxRune {
			return p + string(last+1), true
		}
	}
	return "", false
}

// Between these are the surrogates, which are in no string.
const (
	beforeSurrogates = '\uD7FF'
	afterSurrogates  = '\uE000'
)

// And matches items that all filters match. Without filters it matches every item.
func And(f ...Filter) Filter { return allOf(slices.Clone(f)) }

// Or matches items that at least one filter matches. Without filters it matches
// nothing.
func Or(f ...Filter) Filter { return anyOf(slices.Clone(f)) }

// Not matches items that f does not match.
func Not(f Filter) Filter {
	switch {
	case f.op == OpNot:
		return f.filters[0]
	case f.constant() && f.op == OpAnd:
		return nothing
	case f.constant():
		return Filter{}
	}
	return Filter{op: OpNot, filters: []Filter{f}}
}

var nothing = Filter{op: OpOr}

func allOf(filters []Filter) Filter { return join(OpAnd, filters) }
func anyOf(filters []Filter) Filter { return join(OpOr, filters) }

// join combines filters with op and reuses their slice. A constant that op does not drop is the
// whole result.
func join(op Op, filters []Filter) Filter {
	parts := filters[:0]
	for _, f := range filters {
		switch {
		case f.op == op:
			parts = append(slices.Clip(parts), f.filters...) // copied, so as not to overwrite filters
		case f.constant():
			return f
		default:
			parts = append(parts, f)
		}
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return Filter{op: op, filters: parts}
}

// constant reports whether f matches everything or nothing.
func (f Filter) constant() bool { return f.op <= OpOr && len(f.filters) == 0 }

func compare[V Value](op Op, path string, v V) Filter {
	value, ok := operandOf(v)
	if !ok {
		return nothing
	}
	return Filter{op: op, path: path, value: value}
}

// operandOf returns v as an operand. ok is false for NaN and the infinities, for
// numbers out of range, and for values of other types.
func operandOf(v any) (value operand, ok bool) {
	switch v := v.(type) {
	case string:
		return operand{'"', v}, true
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
		// The shortest form, so that a float32 of 0.1 is 0.1.
		return numberOperand(strconv.FormatFloat(r.Float(), 'g', -1, r.Type().Bits()))
	}
	return operand{}, false
}

func numberOperand(text string) (operand, bool) {
	return operand{'0', text}, inRange(text) && strictjson.IsNumber(text)
}

// DateLayout is the layout of dates, in UTC. All dates have the same length, so the
// order of their texts is the order of time.
const DateLayout = "2006-01-02T15:04:05.000Z"

func formatDate(t time.Time) string { return t.UTC().Format(DateLayout) }

// parseDate reads a date of RFC 3339 in any zone and returns it in DateLayout. It
// refuses a date finer than a millisecond, because cutting it would change what a
// filter matches.
func parseDate(text string) (string, bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Nanosecond()%int(time.Millisecond) != 0 {
		return "", false
	}
	date := formatDate(t)
	return date, len(date) == len(DateLayout) // only for the years 0 to 9999
}

// MarshalJSON returns the canonical form of the filter.
func (f Filter) MarshalJSON() ([]byte, error) { return f.appendJSON(nil), nil }

// String returns the canonical form of the filter.
func (f Filter) String() string { return string(f.appendJSON(nil)) }

func (f Filter) appendJSON(text []byte) []byte {
	if f.constant() && f.op == OpOr {
		return append(text, `{"$nor":[{}]}`...)
	}
	if f.constant() {
		return append(text, "{}"...)
	}
	operators := &operatorNames
	if f.op == OpNot {
		operators = &negatedNames
		if f = f.filters[0]; operators[f.op] == "" {
			f = Filter{op: OpOr, filters: []Filter{f}}
		}
	}
	operator := operators[f.op]
	if f.op <= OpOr {
		text = append(appendString(append(text, '{'), operator), ':')
		return append(appendAll(text, "[]", f.filters), '}')
	}
	text = append(appendString(append(text, '{'), f.path), ':')
	if operator == "$eq" {
		return append(f.value.appendJSON(text), '}')
	}
	text = append(appendString(append(text, '{'), operator), ':')
	switch f.op {
	case OpIn:
		text = appendAll(text, "[]", f.values)
	case OpExists:
		text = strconv.AppendBool(text, operators == &operatorNames)
	default:
		text = f.value.appendJSON(text)
	}
	return append(text, "}}"...)
}

// The names of the operators of a filter and of its negation. Without one, a negation is $nor.
var (
	operatorNames = [...]string{"$and", "$or", "", "$eq", "$gt", "$gte", "$lt", "$lte", "$in", "$exists"}
	negatedNames  = [OpExists + 1]string{OpOr: "$nor", OpEq: "$ne", OpIn: "$nin", OpExists: "$exists"}
)

// appendAll appends an array of elements, or an object of members.
func appendAll[T interface{ appendJSON([]byte) []byte }](text []byte, brackets string, parts []T) []byte {
	text = append(text, brackets[0])
	for i, part := range parts {
		if i > 0 {
			text = append(text, ',')
		}
		text = part.appendJSON(text)
	}
	return append(text, brackets[1])
}

func (o operand) appendJSON(text []byte) []byte {
	switch o.kind {
	case '"':
		return appendString(text, o.text)
	case '0':
		return append(text, o.text...)
	case 't', 'f':
		return strconv.AppendBool(text, o.kind == 't')
	}
	return append(text, "null"...)
}

// appendString appends s as a JSON string. It leaves < > & unescaped, unlike
// encoding/json, because the text becomes part of a URL, not of a page.
func appendString(text []byte, s string) []byte {
	text = append(text, '"')
	for _, r := range s { // bytes that are not UTF-8 become U+FFFD
		switch {
		case r == '"' || r == '\\':
			text = append(text, '\\', byte(r))
		case r < ' ':
			text = append(text, `\u00`...)
			text = append(text, hexDigits[r>>4], hexDigits[r&15])
		default:
			text = utf8.AppendRune(text, r)
		}
	}
	return append(text, '"')
}

const hexDigits = "0123456789abcdef"

// appendJSON appends the key as a member of a sort.
func (k Key) appendJSON(text []byte) []byte {
	text = appendString(text, k.Path)
	if k.Desc {
		return append(text, ":-1"...)
	}
	return append(text, ":1"...)
}
