package mempage_test

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/mempage"
)

// FuzzFilter compares Page with holds, which reads the JSON of a filter by the rules
// of the interface. It also compares the filter with the one that its canonical form
// gives.
func FuzzFilter(f *testing.F) {
	f.Add(`{"a":{"$gt":1,"$lte":10},"b":{"$ne":null}}`, `{"a":2.0,"b":"x"}`)
	f.Add(`{"$or":[{"a":{"$in":[1,null,"x"]}},{"b":{"$exists":false}}]}`, `{"a":null}`)
	f.Add(`{"$nor":[{"a":true},{"$and":[{"b":{"$not":{"$lt":"é"}}}]}]}`, `{"a":false,"b":"e"}`)
	f.Add(`{"a":{"$nin":[9007199254740993,-0.0]}}`, `{"a":9007199254740992}`)
	f.Add(`{"a":{"$gte":1e5}}`, `{"a":123456}`)
	f.Add(`{"a":{"$prefix":"é"},"b":{"$not":{"$prefix":""}}}`, `{"a":"ée","b":5}`)
	f.Add(`{"a":{"$prefix":"x\ud7ff"}}`, `{"a":"x"}`)
	f.Add(`{"a":{"$prefix":"x\udbff\udfff"}}`, `{"a":"y"}`)
	f.Add(`{"a[]":{"$gt":1,"$nin":["b"]},"b[]":null}`, `{"a[]":[0,"a",2],"b[]":["x",null]}`)
	for _, value := range []string{`null`, `true`, `false`, `1`, `2.0`, `9007199254740993`, `""`, `"A"`, `"a"`, `"10"`, `"é"`, `[1,"a"]`, `{"b":1}`} {
		for _, condition := range []string{
			`null`, `{"$ne":null}`, `{"$exists":true}`, `{"$exists":false}`, `1`, `10e-1`, `"10"`, `9007199254740992`, `{"$gt":9007199254740992}`, `{"$ne":1}`,
			`{"$gte":1}`, `{"$lt":10}`, `{"$lte":2}`, `{"$gt":"A"}`, `{"$gte":""}`, `{"$lt":"a"}`, `{"$gt":false}`, `{"$lte":true}`, `{"$not":{"$gt":1}}`,
			`{"$in":[1,"a",true]}`, `{"$in":[null]}`, `{"$in":[]}`, `{"$nin":[1,null]}`, `{"$nin":[]}`, `{"$gt":1,"$lt":10}`,
		} {
			f.Add(`{"a":`+condition+`}`, `{"a":`+value+`}`)
			f.Add(`{"a":`+condition+`}`, `{}`)
			f.Add(`{"a[]":`+condition+`}`, `{"a[]":[`+value+`,"c"]}`)
			f.Add(`{"$or":[{"a":`+condition+`},{"b":1}]}`, `{"a":`+value+`,"b":1}`)
		}
	}
	f.Fuzz(func(t *testing.T, filter, properties string) {
		parsed, err := paging.ParseFilter(filter)
		if err != nil {
			return
		}
		r, ok := object(properties)
		if !ok || slices.ContainsFunc(slices.Collect(maps.Values(r)), large) {
			return
		}
		tree, ok := object(filter)
		if !ok {
			t.Fatalf("%q was accepted", filter)
		}
		want := holds(tree, r)
		if got := matches(parsed, r); got != want {
			t.Fatalf("%s is %t for %s", parsed, got, properties)
		}
		if again, err := paging.ParseFilter(parsed.String()); err == nil && matches(again, r) != want {
			t.Fatalf("%s became %s", filter, again)
		}
		if matches(paging.Not(parsed), r) == want {
			t.Fatalf("%s and its negation are %t", parsed, want)
		}
		if nothing := paging.Or(); matches(paging.And(parsed, nothing), r) {
			t.Fatalf("%s widens", parsed)
		}
	})
}

// FuzzNumber compares numbers of any size and spelling with math/big.
func FuzzNumber(f *testing.F) {
	for _, seed := range [][2]string{
		{"0", "-0.0"}, {"1", "10e-1"}, {"9007199254740993", "9007199254740992"}, {"-1e-324", "1e-324"}, {"1E+324", "9e323"}, {"-2.5", "-2.50001"}, {"0e5", "0"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		m, n := json.Number(a), json.Number(b)
		if paging.Eq("a", m).Op() != paging.OpEq || paging.Eq("a", n).Op() != paging.OpEq {
			return // not a number, or too large for big.Rat
		}
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		order, r := x.Cmp(y), row{"_id": "1", "a": m}
		if matches(paging.Eq("a", n), r) != (order == 0) || matches(paging.Gt("a", n), r) != (order > 0) || matches(paging.Lt("a", n), r) != (order < 0) {
			t.Fatalf("%s and %s compare as other than %d", a, b, order)
		}
	})
}

func matches(f paging.Filter, r row) bool {
	page, _ := mempage.Page([]row{r}, paging.Query{Where: f, Limit: 1}, get)
	return len(page) == 1
}

func object(text string) (row, bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var v map[string]any
	if err := decoder.Decode(&v); err != nil || v == nil {
		return nil, false
	}
	return v, true
}

// large reports whether a number may be too large for big.Rat. ParseFilter limits the
// numbers of a filter.
func large(v any) bool {
	n, ok := v.(json.Number)
	return ok && (len(n) > 20 || strings.ContainsAny(string(n), "eE"))
}

func holds(filter map[string]any, r row) bool {
	for name, operand := range filter {
		if !member(name, operand, r) {
			return false
		}
	}
	return true
}

func member(name string, operand any, r row) bool {
	one := func(v any) bool { return holds(v.(map[string]any), r) }
	switch name {
	case "$and":
		return !slices.ContainsFunc(operand.([]any), func(v any) bool { return !one(v) })
	case "$or":
		return slices.ContainsFunc(operand.([]any), one)
	case "$nor":
		return !slices.ContainsFunc(operand.([]any), one)
	}
	value, there := r[name]
	values := []any{value}
	if elements, ok := value.([]any); ok && strings.HasSuffix(name, "[]") {
		values = elements
	}
	if operators, ok := operand.(map[string]any); ok {
		return operatorsHold(operators, values, there)
	}
	return operatorHolds("$eq", operand, values, there)
}

func operatorsHold(operators map[string]any, values []any, there bool) bool {
	for operator := range maps.Keys(operators) {
		if !operatorHolds(operator, operators[operator], values, there) {
			return false
		}
	}
	return true
}

func operatorHolds(operator string, operand any, values []any, there bool) bool {
	switch operator {
	case "$ne":
		return !operatorHolds("$eq", operand, values, there)
	case "$nin":
		return !operatorHolds("$in", operand, values, there)
	case "$exists":
		return there == operand.(bool)
	case "$not":
		return !operatorsHold(operand.(map[string]any), values, there)
	}
	return slices.ContainsFunc(values, func(value any) bool { return valueHolds(operator, operand, value) })
}

func valueHolds(operator string, operand, value any) bool {
	order, comparable := ordered(value, operand)
	switch operator {
	case "$eq":
		return equal(value, operand)
	case "$gt":
		return comparable && order > 0
	case "$gte":
		return comparable && order >= 0
	case "$lt":
		return comparable && order < 0
	case "$lte":
		return comparable && order <= 0
	case "$prefix":
		s, ok := value.(string)
		return ok && strings.HasPrefix(s, operand.(string))
	case "$in":
		return slices.ContainsFunc(operand.([]any), func(v any) bool { return equal(value, v) })
	}
	panic(operator)
}

func equal(a, b any) bool {
	order, comparable := ordered(a, b)
	return a == nil && b == nil || comparable && order == 0
}

func ordered(a, b any) (order int, comparable bool) {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return strings.Compare(a, b), ok
	case bool:
		b, ok := b.(bool)
		if a == b {
			return 0, ok
		}
		if a {
			return 1, ok
		}
		return -1, ok
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return 0, false
		}
		x, _ := new(big.Rat).SetString(string(a))
		y, _ := new(big.Rat).SetString(string(b))
		return x.Cmp(y), true
	}
	return 0, false
}
