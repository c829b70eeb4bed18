package paging

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/internal/strictjson"
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
	switch r := x.rank(); {
	case r != y.rank():
		return cmp.Compare(r, y.rank()), x.isBool() && y.isBool()
	case x.kind == '0':
		return decimalOf(x.text).compare(decimalOf(y.text)), true
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

// decimal is the exact value of a number's text: ±0.digits × 10^exponent.
type decimal struct {
	sign     int    // 0: the number is zero
	digits   string // neither the first nor the last is 0
	exponent int64
}

// decimalOf reads a JSON number. It does not compute: the caller of a list chooses what each of its items is
// compared with, and 1e-324 as a fraction has a thousand bits.
func decimalOf(number string) (d decimal) {
	number, negative := strings.CutPrefix(number, "-")
	if e := strings.IndexAny(number, "eE"); e >= 0 {
		d.exponent, _ = strconv.ParseInt(number[e+1:], 10, 32) // the nearest, if it is beyond these
		number = number[:e]
	}
	whole, fraction, _ := strings.Cut(number, ".")
	all := whole + fraction
	significant := strings.TrimLeft(all, "0")
	d.exponent += int64(len(whole) - (len(all) - len(significant)))
	d.digits = strings.TrimRight(significant, "0")
	switch {
	case d.digits == "":
	case negative:
		d.sign = -1
	default:
		d.sign = 1
	}
	return d
}

func (d decimal) compare(e decimal) int {
	if d.sign != e.sign || d.sign == 0 {
		return cmp.Compare(d.sign, e.sign)
	}
	return d.sign * cmp.Or(cmp.Compare(d.exponent, e.exponent), strings.Compare(d.digits, e.digits))
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
