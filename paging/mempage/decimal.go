package mempage

import (
	"cmp"
	"strconv"
	"strings"
)

// decimal is a number as exact as its text: 0.digits × 10^exponent. Zero has
// no digits, sign or exponent.
type decimal struct {
	negative bool
	digits   string // no zero at either end
	exponent int
}

// parseDecimal reads a JSON number, and false if it is none or its exponent is
// beyond an int32.
func parseDecimal(literal string) (decimal, bool) {
	var d decimal
	literal, d.negative = strings.CutPrefix(literal, "-")
	mantissa, exponent := literal, ""
	if e := strings.IndexAny(literal, "eE"); e >= 0 {
		mantissa, exponent = literal[:e], literal[e+1:]
		n, err := strconv.ParseInt(exponent, 10, 32)
		if err != nil {
			return decimal{}, false
		}
		d.exponent = int(n)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if whole == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return decimal{}, false
	}
	d.digits = strings.TrimLeft(whole+fraction, "0")
	d.exponent += len(d.digits) - len(fraction)
	d.digits = strings.TrimRight(d.digits, "0")
	if d.digits == "" {
		return decimal{}, true
	}
	return d, true
}

func (d decimal) compare(e decimal) int {
	if d.sign() != e.sign() || d.sign() == 0 {
		return cmp.Compare(d.sign(), e.sign())
	}
	return d.sign() * cmp.Or(cmp.Compare(d.exponent, e.exponent), strings.Compare(d.digits, e.digits))
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}
