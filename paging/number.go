package paging

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// decimal is the exact value of a number's text: 0.digits × 10^exponent. The digits
// are those of whole and then those of fraction. Zero has no digits.
type decimal struct {
	negative        bool
	whole, fraction string // the first digit is not 0
	exponent        int
}

// parseDecimal reads a JSON number. ok is false if the text is no number or its
// exponent exceeds an int32.
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

// digit returns the digit at i, or 0 after the last digit.
func (d decimal) digit(i int) byte {
	switch {
	case i < len(d.whole):
		return d.whole[i]
	case i < d.size():
		return d.fraction[i-len(d.whole)]
	}
	return '0'
}

// These are the limits of a number. No type of a database is exact beyond them, and a
// short text could stand for a number of millions of digits.
const (
	maxNumber   = 64
	maxExponent = 324 // of the smallest float64
)

// validNumber reports whether text is a JSON number within the limits.
func validNumber(text string) bool { return inRange(text) && strictjson.IsNumber(text) }

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
