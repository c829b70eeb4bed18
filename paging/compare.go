package paging

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// Compare returns the order of two values in a sort: null, false, true, numbers,
// strings, other types. Strings compare byte by byte, and numbers exactly up to 64 characters
// and an exponent of 324, which is all that a filter may have. sameType
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
	switch r := x.rank(); {
	case r != y.rank():
		return cmp.Compare(r, y.rank()), x.isBool() && y.isBool()
	case x.kind == '0':
		return compareNumbers(x.text, y.text), true
	case x.kind == other:
		return 0, false
	}
	return strings.Compare(x.text, y.text), true // of strings; other values of one rank are equal
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

// comparand returns v as an operand, of the kind other if it has no order. A json.Number may exceed
// the limits of operands.
func comparand(v any) operand {
	o, _ := operandOf(v)
	if v != nil && o.kind == 0 || o.kind == '0' && !strictjson.IsNumber(o.text) {
		o.kind = other
	}
	return o
}

// other is the kind of a value of another type.
const other = '?'

// rank is the position of a kind in a sort: null, false, true, numbers, strings, others.
func (o operand) rank() int { return strings.IndexByte("\x00ft0\"?", o.kind) }

func (o operand) isBool() bool { return o.kind == 'f' || o.kind == 't' }

// compareNumbers compares exactly, except for what is beyond the limits of a filter: that is
// compared as float64.
func compareNumbers(a, b string) int {
	x, _ := strconv.ParseFloat(a, 64) // an infinity is in the same order
	y, _ := strconv.ParseFloat(b, 64)
	if x != y || a == b || !inRange(a) || !inRange(b) {
		return cmp.Compare(x, y)
	}
	m, _ := new(big.Rat).SetString(a)
	n, _ := new(big.Rat).SetString(b)
	return m.Cmp(n)
}

// These are the limits of a number. No type of a database is exact beyond them, and a
// short text could stand for a number of millions of digits.
const (
	maxNumber   = 64
	maxExponent = 324 // of the smallest float64
)

// inRange reports whether a number is within the limits.
func inRange(number string) bool {
	i := strings.LastIndexAny(number, "eE")
	if i < 0 || len(number) > maxNumber {
		return len(number) <= maxNumber
	}
	e, err := strconv.Atoi(strings.TrimLeft(number[i+1:], "+-"))
	return err == nil && e <= maxExponent
}
