package paging

import "strconv"

// Bounds of a number: beyond them no type of a database is exact, and a short
// text could stand for a number of millions of digits.
const (
	maxNumber   = 64
	maxExponent = 324 // of the smallest float64
)

// validNumber reports whether text is a JSON number (RFC 8259, section 6)
// within the bounds.
func validNumber(text string) bool {
	if len(text) > maxNumber {
		return false
	}
	text = cut(text, "-")
	whole := digits(text)
	if whole == 0 || whole > 1 && text[0] == '0' {
		return false
	}
	text = text[whole:]
	if fraction := cut(text, "."); fraction != text {
		n := digits(fraction)
		if n == 0 {
			return false
		}
		text = fraction[n:]
	}
	exponent := cut(text, "eE")
	if exponent == text {
		return text == ""
	}
	exponent = cut(exponent, "+-")
	n := digits(exponent)
	e, err := strconv.Atoi(exponent)
	return err == nil && n == len(exponent) && e <= maxExponent
}

// cut removes the first character if it is one of set.
func cut(text, set string) string {
	if text != "" && (text[0] == set[0] || len(set) > 1 && text[0] == set[1]) {
		return text[1:]
	}
	return text
}

// digits counts the digits that text begins with.
func digits(text string) int {
	for i, c := range []byte(text) {
		if c < '0' || c > '9' {
			return i
		}
	}
	return len(text)
}
