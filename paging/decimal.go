package paging

import (
	"cmp"
	"strconv"
	"strings"
)

// decimal is a number as exact as its text: 0.digits × 10^exponent, where the
// digits are those of whole and then those of fraction. Zero has neither.
type decimal struct {
	negative        bool
	whole, fraction string // the first digit is not 0
	exponent        int
}

// parseDecimal reads a JSON number, and false if it is none or its exponent is
// beyond an int32.
func parseDecimal(literal string) (d decimal, ok bool) {
	literal, d.negative = strings.CutPrefix(literal, "-")
	if e := max(strings.LastIndexByte(literal, 'e'), strings.LastIndexByte(literal, 'E')); e >= 0 {
		n, err := strconv.ParseInt(literal[e+1:], 10, 32)
		if err != nil {
			return decimal{}, false
		}
		literal, d.exponent = literal[:e], int(n)
	}
	d.whole, d.fraction, _ = strings.Cut(literal, ".")
	if d.whole == "" || !isDigits(d.whole) || !isDigits(d.fraction) {
		return decimal{}, false
	}
	d.whole = strings.TrimLeft(d.whole, "0")
	if d.whole == "" {
		digits := strings.TrimLeft(d.fraction, "0")
		d.exponent -= len(d.fraction) - len(digits)
		d.fraction = digits
	}
	d.exponent += len(d.whole)
	return d, true
}

func isDigits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

func (d decimal) compare(e decimal) int {
	if d.sign() != e.sign() || d.sign() == 0 {
		return cmp.Compare(d.sign(), e.sign())
	}
	order := cmp.Compare(d.exponent, e.exponent)
	for i := 0; order == 0 && (i < d.size() || i < e.size()); i++ {
		order = cmp.Compare(d.digit(i), e.digit(i))
	}
	return d.sign() * order
}

func (d decimal) sign() int {
	switch {
	case d.size() == 0:
		return 0
	case d.negative:
		return -1
	}
	return 1
}

func (d decimal) size() int { return len(d.whole) + len(d.fraction) }

// digit returns the digit at i, which is 0 after the last one.
func (d decimal) digit(i int) byte {
	switch {
	case i < len(d.whole):
		return d.whole[i]
	case i < d.size():
		return d.fraction[i-len(d.whole)]
	}
	return '0'
}
