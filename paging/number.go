package paging

import (
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// Bounds of a number: beyond them no type of a database is exact, and a short
// text could stand for a number of millions of digits.
const (
	maxNumber   = 64
	maxExponent = 324 // of the smallest float64
)

// validNumber reports whether text is a JSON number within the bounds.
func validNumber(text string) bool { return inRange(text) && strictjson.IsNumber(text) }

// inRange reports whether a number is within the bounds.
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
