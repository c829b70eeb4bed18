package paging_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/paging"
)

// ascending are values in the order of a sort. The values of one line are equal.
var ascending = [][]any{
	{nil},
	{false},
	{true},
	{json.Number("-1e999999999")},
	{-2, int8(-2), json.Number("-20e-1")},
	{-1.5, json.Number("-1.50")},
	{0, uint(0), math.Copysign(0, -1), json.Number("-0.0e5")},
	{json.Number("0.001"), json.Number("1e-3"), 0.001},
	{float32(0.1), 0.1, json.Number("0.1")},
	{9, json.Number("9")},
	{json.Number("9.5")},
	{10, uint64(10), 10.0, json.Number("1E+1")},
	{int64(1 << 53), json.Number("9007199254740992")},
	{int64(1<<53 + 1), json.Number("9007199254740993.0")},
	{json.Number("1e99999999999")},
	{""},
	{"10"},
	{time.Date(2026, 1, 2, 4, 4, 5, 678_999_999, time.FixedZone("", 3600)), "2026-01-02T03:04:05.678Z"},
	{"a", label("a")},
	{"é"},
	{math.NaN(), math.Inf(-1), []any{1}, json.Number("x"), json.Number(""), json.Number(".5"), json.Number("00.10"), struct{}{}},
}

type label string

func TestCompare(t *testing.T) {
	for i, line := range ascending {
		for j, other := range ascending {
			for _, a := range line {
				for _, b := range other {
					order, sameType := paging.Compare(a, b)
					if want := sign(i - j); order != want {
						t.Errorf("P13 %v and %v are in order %d, not %d", a, b, order, want)
					}
					if want := typeOf(i) == typeOf(j) && typeOf(i) != "other"; sameType != want {
						t.Errorf("P13 %v and %v are of one type: %t", a, b, sameType)
					}
				}
			}
		}
	}
}

func sign(n int) int { return max(-1, min(n, 1)) }

// typeOf returns the type of the values on a line of ascending.
func typeOf(line int) string {
	if line == len(ascending)-1 {
		return "other"
	}
	switch v := ascending[line][0].(type) {
	case nil, bool, string:
		return fmt.Sprintf("%T", v)
	case time.Time:
		return "string"
	}
	return "number"
}

// TestCompareIsExact compares random numbers, with big.Rat as the reference.
func TestCompareIsExact(t *testing.T) {
	number := func() json.Number {
		text := fmt.Sprint(rand.N(300) - 150)
		if rand.N(2) == 0 {
			text += fmt.Sprintf(".%0*d", 1+rand.N(3), rand.N(10))
		}
		if rand.N(3) == 0 {
			text += fmt.Sprintf("e%d", rand.N(7)-3)
		}
		return json.Number(text)
	}
	for range 20_000 {
		a, b := number(), number()
		x, _ := new(big.Rat).SetString(string(a))
		y, _ := new(big.Rat).SetString(string(b))
		if order, ok := paging.Compare(a, b); order != x.Cmp(y) || !ok {
			t.Fatalf("P13 %s and %s are in order %d, not %d", a, b, order, x.Cmp(y))
		}
	}
}
