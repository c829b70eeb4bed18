package paging

import (
	"cmp"
	"strings"

	"github.com/tenantkit/tenantkit/internal/ascii"
)

// Compare returns the order of two values in a sort: null, false, true, numbers,
// strings, other types. Strings compare byte by byte, and numbers exactly. sameType
// reports whether a and b have the same type, and is false for other types. Filters
// compare only values of the same type. Values of other types have no order among
// each other.
//
// A value is nil, a bool, a string, a number of any Go type, a json.Number or a
// time.Time. A time.Time counts as its text on the wire, like
// 2026-01-02T03:04:05.000Z, cut to milliseconds. NaN and the infinities count as
// values of another type.
func Compare(a, b any) (order int, sameType bool) {
	x, y := comparand(a), comparand(b)
	if x.kind == '0' && y.kind == '0' {
		if order, ok := compareNumbers(x.text, y.text); ok {
			return order, true
		}
	}
	r, s := x.rank(), y.rank()
	if r == rankString && s == rankString {
		return strings.Compare(x.text, y.text), true
	}
	booleans := r == rankFalse && s == rankTrue || r == rankTrue && s == rankFalse
	return cmp.Compare(r, s), booleans || r == s && r != rankOther
}

// CompareBy returns the order of two items by their values for the keys of a sort, and the index of
// the key that decides. Items of one order are equal in all keys.
func CompareBy(keys []Key, a, b []any) (order, decides int) {
	for i, key := range keys {
		if order, _ = Compare(a[i], b[i]); order != 0 {
			if key.Desc {
				order = -order
			}
			return order, i
		}
	}
	return 0, len(keys)
}

// compareNumbers compares two numbers by their texts. ok is false if one of them is
// no number.
func compareNumbers(a, b string) (order int, ok bool) {
	if isCount(a) && isCount(b) { // the usual form of a number
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

// isCount reports whether a number is a positive integer, written with digits only.
func isCount(text string) bool { return text != "" && text[0] != '0' && ascii.Digit.Only(text) }

// comparand returns v as an operand, with the kind '?' if it has another type. A
// json.Number may exceed the limits of operands.
func comparand(v any) operand {
	if v == nil {
		return operand{}
	}
	o, _ := operandOf(v)
	if o.kind == 0 {
		o.kind = '?'
	}
	return o
}

// rank is the position of a type in a sort.
type rank uint8

const (
	rankNull rank = iota
	rankFalse
	rankTrue
	rankNumber
	rankString
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
		return rankString
	case '0':
		if _, ok := parseDecimal(o.text); ok {
			return rankNumber
		}
	}
	return rankOther
}
