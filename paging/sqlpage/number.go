package sqlpage

import (
	"encoding/json"
	"math/big"
	"strconv"

	"github.com/tenantkit/tenantkit/paging"
)

// asInt64 returns a number as an int64. ok is false if the number is no int64.
func asInt64(n json.Number) (i int64, ok bool) {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i, true // the usual form of a number
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}

// asFloat64 returns the nearest float64, which may be an infinity.
func asFloat64(n json.Number) float64 {
	f, _ := strconv.ParseFloat(string(n), 64)
	return f
}

// amongIntegers returns the comparison of integers that is equivalent to a comparison
// with n: greater than 5 for greater than 5.5. inRange is false if n is outside
// int64. above then reports whether n is too large.
func amongIntegers(op paging.Op, n json.Number) (_ paging.Op, floor int64, inRange, above bool) {
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return op, 0, false, false
	}
	quotient := new(big.Int).Div(r.Num(), r.Denom())
	if !quotient.IsInt64() {
		return op, 0, false, r.Sign() > 0
	}
	if !r.IsInt() {
		switch op {
		case paging.OpGte:
			op = paging.OpGt
		case paging.OpLt:
			op = paging.OpLte
		}
	}
	return op, quotient.Int64(), true, false
}
