package paging

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/internal/ascii"
)

// decimal is the exact value of a number's text: ±0.digits × 10^exponent.
type decimal struct {
	sign     int    // 0: the number is zero
	digits   string // neither the first nor the last is 0
	exponent int
}

// parseDecimal reads a JSON number. ok is false if the text is no number or its
// exponent exceeds an int32.
func parseDecimal(literal string) (d decimal, ok bool) {
	literal, negative := strings.CutPrefix(literal, "-")
	if e := max(strings.LastIndexByte(literal, 'e'), strings.LastIndexByte(literal, 'E')); e >= 0 {
		n, err := strconv.ParseInt(literal[e+1:], 10, 32)
		if err != nil {
			return decimal{}, false
		}
		literal, d.exponent = literal[:e], int(n)
	}
	whole, fraction, _ := strings.Cut(literal, ".")
	all := whole + fraction
	if whole == "" || !ascii.Digit.Only(all) {
		return decimal{}, false
	}
	significant := strings.TrimLeft(all, "0")
	d.exponent += len(whole) - (len(all) - len(significant))
	d.digits = strings.TrimRight(significant, "0")
	switch {
	case d.digits == "":
	case negative:
		d.sign = -1
	default:
		d.sign = 1
	}
	return d, true
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
	if len(number) > maxNumber {
		return false
	}
	for i, c := range []byte(number) {
		if c == 'e' || c == 'E' {
			e, err := strconv.Atoi(strings.TrimLeft(number[i+1:], "+-"))
			return err == nil && e <= maxExponent
		}
	}
	return true
}
