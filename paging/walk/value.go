package walk

import (
	"cmp"
	"encoding/json"
	"math/big"
	"strings"

	"github.com/tenantkit/tenantkit/paging"
)

// A value of a sort key is nil, a bool, a string or a json.Number.

// place returns where the values of a type stand in a sort: null, false, true,
// numbers, texts.
func place(value any) int {
	switch value {
	case nil:
		return 0
	case false:
		return 1
	case true:
		return 2
	}
	if _, ok := value.(json.Number); ok {
		return 3
	}
	return 4
}

// compare orders values as a sort does: texts byte by byte, numbers exactly. It
// returns false for numbers that it cannot compare.
func compare(a, b any) (order int, ok bool) {
	if order = cmp.Compare(place(a), place(b)); order != 0 {
		return order, true
	}
	switch a := a.(type) {
	case string:
		return strings.Compare(a, b.(string)), true
	case json.Number:
		return compareNumbers(a, b.(json.Number))
	}
	return 0, true
}

func compareNumbers(a, b json.Number) (order int, ok bool) {
	x, ok := rational(a)
	if !ok {
		return 0, false
	}
	y, ok := rational(b)
	if !ok {
		return 0, false
	}
	return x.Cmp(y), true
}

func rational(n json.Number) (*big.Rat, bool) {
	// Filters bound the exponent, without which a few digits would be a number
	// of gigabytes.
	if _, err := paging.ParseFilter(`{"n":` + string(n) + `}`); err != nil {
		return nil, false
	}
	return new(big.Rat).SetString(string(n))
}
