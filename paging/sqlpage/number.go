package sqlpage

import (
	"encoding/json"
	"math/big"
	"strconv"

	"github.com/tenantkit/tenantkit/paging"
)

// whole returns a number as an int64, if it is one.
func whole(n json.Number) (int64, bool) {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i, true // as nearly all are written
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}

// double returns the nearest float64, which may be an infinity.
func double(n json.Number) float64 {
	f, _ := strconv.ParseFloat(string(n), 64)
	return f
}

// amongIntegers returns a comparison of integers that holds where the one with
// n does: greater than 5 for greater than 5.5. It is false where n is beyond all
// integers, and above then says on which side.
func amongIntegers(op paging.Op, n json.Number) (_ paging.Op, bound int64, within, above bool) {
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return op, 0, false, false
	}
	floor := new(big.Int).Div(r.Num(), r.Denom())
	if !floor.IsInt64() {
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
	return op, floor.Int64(), true, false
}
