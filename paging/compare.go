package paging

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// Compare orders two values as a sort does: null, false, true, numbers, texts, and
// then values of other types, which are in no order among each other. Texts
// compare byte by byte, and numbers exactly. It also reports whether both values
// are of one of these types, as the comparisons of a filter require.
//
// A value is nil, a bool, a string, a number of any Go type, a json.Number or a
// time.Time, which counts as the text that it is on the wire, like
// 2026-01-02T03:04:05.000Z; what is finer than a millisecond is cut off. What is
// no number, like NaN, is of another type.
func Compare(a, b any) (order int, sameType bool) {
	if order, ok := compareAlike(a, b); ok {
		return order, true
	}
	x, y := comparand(a), comparand(b)
	if x.kind == '0' && y.kind == '0' {
		if order, ok := compareNumbers(x.text, y.text); ok {
			return order, true
		}
	}
	r, s := x.rank(), y.rank()
	if r == rankText && s == rankText {
		return strings.Compare(x.text, y.text), true
	}
	return cmp.Compare(r, s), r.sameType(s)
}

// compareAlike compares values that are of one Go type, without converting them.
func compareAlike(a, b any) (order int, ok bool) {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return strings.Compare(a, b), true
		}
	case json.Number:
		if b, ok := b.(json.Number); ok {
			return compareNumbers(string(a), string(b))
		}
	case time.Time:
		if b, ok := b.(time.Time); ok {
			return cmp.Compare(a.UnixMilli(), b.UnixMilli()), true
		}
	}
	switch x, y := reflect.ValueOf(a), reflect.ValueOf(b); {
	case x.CanInt() && y.CanInt():
		return cmp.Compare(x.Int(), y.Int()), true
	case x.CanUint() && y.CanUint():
		return cmp.Compare(x.Uint(), y.Uint()), true
	case x.Kind() == reflect.Float64 && y.Kind() == reflect.Float64:
		return cmp.Compare(x.Float(), y.Float()), finite(x.Float()) && finite(y.Float())
	}
	return 0, false
}

func finite(f float64) bool { return f-f == 0 }

// compareNumbers returns false where one of the texts is no number.
func compareNumbers(a, b string) (order int, ok bool) {
	if isCount(a) && isCount(b) { // as nearly all are written
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)), true
	}
	x, ok := parseDecimal(a)
	if !ok {
		return 0, false
	}
	y, ok := parseDecimal(b)
	if !ok {
		return 0, false
	}
	return x.compare(y), true
}

// isCount reports whether a number is a positive integer, written with digits alone.
func isCount(text string) bool { return text != "" && text[0] != '0' && isDigits(text) }

// comparand returns a value as an operand, of the kind '?' if it is of another
// type. A json.Number may be beyond the bounds of operands.
func comparand(v any) operand {
	switch v := v.(type) {
	case nil:
		return operand{}
	case json.Number:
		return operand{'0', string(v)}
	}
	if o, ok := operandOf(v); ok {
		return o
	}
	return operand{kind: '?'}
}

// rank is where a sort has the values of a type.
type rank uint8

const (
	rankNull rank = iota
	rankFalse
	rankTrue
	rankNumber
	rankText
	rankOther
)

func (o operand) rank() rank {
	switch o.kind {
	case 0:
		return rankNull
	case 'f':
		return rankFalse
	case 't':
		return rankTrue
	case '"':
		return rankText
	case '0':
		if _, ok := parseDecimal(o.text); ok {
			return rankNumber
		}
	}
	return rankOther
}

func (r rank) sameType(s rank) bool {
	booleans := r == rankFalse && s == rankTrue || r == rankTrue && s == rankFalse
	return booleans || r == s && r != rankOther
}
