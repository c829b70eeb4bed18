package paging_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging"
)

func TestBuilders(t *testing.T) {
	type role string
	at := time.Date(2026, 1, 2, 4, 4, 5, 678_999_999, time.FixedZone("", 3600))
	a, b, c := paging.Eq("a", 1), paging.Eq("b", 2), paging.Eq("c", 3)
	none := `{"$nor":[{}]}`

	tests := map[string]struct {
		filter paging.Filter
		want   string
	}{
		"the zero filter":          {paging.Filter{}, `{}`},
		"a string":                 {paging.Eq("a", "x"), `{"a":"x"}`},
		"a string of a type":       {paging.Ne("a", role("admin")), `{"a":{"$ne":"admin"}}`},
		"a boolean":                {paging.Eq("a", true), `{"a":true}`},
		"a boolean that is false":  {paging.Gt("a", false), `{"a":{"$gt":false}}`},
		"an integer":               {paging.Gt("a", int64(math.MinInt64)), `{"a":{"$gt":-9223372036854775808}}`},
		"an unsigned integer":      {paging.Gte("a", uint64(math.MaxUint64)), `{"a":{"$gte":18446744073709551615}}`},
		"a float":                  {paging.Lt("a", 0.1), `{"a":{"$lt":0.1}}`},
		"a short float":            {paging.Lte("a", float32(0.1)), `{"a":{"$lte":0.1}}`},
		"the largest float":        {paging.Lte("a", math.MaxFloat64), `{"a":{"$lte":1.7976931348623157e+308}}`},
		"the smallest float":       {paging.Lte("a", math.SmallestNonzeroFloat64), `{"a":{"$lte":5e-324}}`},
		"a number as text":         {paging.Eq("a", json.Number("1.50")), `{"a":1.50}`},
		"a date":                   {paging.Eq("a", at), `{"a":"2026-01-02T03:04:05.678Z"}`},
		"null":                     {paging.Null("a"), `{"a":null}`},
		"not null":                 {paging.Not(paging.Null("a")), `{"a":{"$ne":null}}`},
		"in":                       {paging.In("a", "x", "y"), `{"a":{"$in":["x","y"]}}`},
		"in nothing":               {paging.In[string]("a"), `{"a":{"$in":[]}}`},
		"a prefix":                 {paging.Prefix("a", "é_%"), `{"$and":[{"a":{"$gte":"é_%"}},{"a":{"$lt":"é_&"}}]}`},
		"a prefix of any string":   {paging.Prefix("a", ""), `{"a":{"$gte":""}}`},
		"before the surrogates":    {paging.Prefix("a", "x\uD7FF"), `{"$and":[{"a":{"$gte":"x` + "\uD7FF" + `"}},{"a":{"$lt":"x` + "\uE000" + `"}}]}`},
		"of one byte, the last":    {paging.Prefix("a", "\x7f"), `{"$and":[{"a":{"$gte":"` + "\x7f" + `"}},{"a":{"$lt":"` + "\u0080" + `"}}]}`},
		"a prefix of the last":     {paging.Prefix("a", "x\U0010FFFF\U0010FFFF"), `{"$and":[{"a":{"$gte":"x` + "\U0010FFFF\U0010FFFF" + `"}},{"a":{"$lt":"y"}}]}`},
		"a prefix without an end":  {paging.Prefix("a", "\U0010FFFF"), `{"a":{"$gte":"` + "\U0010FFFF" + `"}}`},
		"a prefix that is no text": {paging.Prefix("a", "x\xff"), none},
		"not in":                   {paging.Not(paging.In("a", 1)), `{"a":{"$nin":[1]}}`},
		"NaN equals nothing":       {paging.Eq("a", math.NaN()), none},
		"nothing exceeds infinity": {paging.Gt("a", math.Inf(1)), none},
		"a text that is no number": {paging.Eq("a", json.Number(`1,"b":2`)), none},
		"in with NaN":              {paging.In("a", 1, math.NaN()), `{"a":{"$in":[1]}}`},
		"all but NaN":              {paging.Ne("a", math.NaN()), `{}`},
		"text that is hostile":     {paging.Eq(`a":1,"b`, "\"\\\x00\u2028\xff"), `{"a\":1,\"b":"\"\\\u0000` + "\u2028\ufffd" + `"}`},

		"and of nothing":      {paging.And(), `{}`},
		"and of one":          {paging.And(a), `{"a":1}`},
		"and":                 {paging.And(a, b), `{"$and":[{"a":1},{"b":2}]}`},
		"and of and":          {paging.And(paging.And(a, b), c), `{"$and":[{"a":1},{"b":2},{"c":3}]}`},
		"and with everything": {paging.And(paging.Filter{}, a), `{"a":1}`},
		"and with nothing":    {paging.And(a, paging.Or(), b), none},
		"or of nothing":       {paging.Or(), none},
		"or of one":           {paging.Or(a), `{"a":1}`},
		"or":                  {paging.Or(a, paging.Or(b, c)), `{"$or":[{"a":1},{"b":2},{"c":3}]}`},
		"or with everything":  {paging.Or(a, paging.Filter{}), `{}`},
		"or with nothing":     {paging.Or(a, paging.Or()), `{"a":1}`},
		"not everything":      {paging.Not(paging.Filter{}), none},
		"not nothing":         {paging.Not(paging.Or()), `{}`},
		"not not":             {paging.Not(paging.Not(a)), `{"a":1}`},
		"not or":              {paging.Not(paging.Or(a, b)), `{"$nor":[{"a":1},{"b":2}]}`},
		"not and":             {paging.Not(paging.And(a, b)), `{"$nor":[{"$and":[{"a":1},{"b":2}]}]}`},
		"not greater":         {paging.Not(paging.Gt("a", 1)), `{"$nor":[{"a":{"$gt":1}}]}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.filter.String()); diff != "" {
				t.Error(diff)
			}
			text, err := json.Marshal(map[string]any{"f": tc.filter})
			if err != nil || !json.Valid(text) {
				t.Errorf("%s, %v", text, err)
			}
		})
	}
}

func TestAFilterCannotBeAltered(t *testing.T) {
	f := paging.And(paging.Eq("org", "acme"), paging.In("a", "x", "y"))
	want := f.String()

	f.Filters()[0] = paging.Filter{}
	f.Filters()[1].Values()[0] = "z"
	g, h := paging.And(f, paging.Eq("b", 1)), paging.And(f, paging.Eq("b", 2))
	if f.String() != want {
		t.Errorf("became %s", f)
	}
	if g.String() == h.String() {
		t.Errorf("two filters share their parts: %s", g)
	}

	parts := []paging.Filter{{}, paging.Eq("b", 1), paging.Eq("c", 1)}
	if _ = paging.And(parts...); parts[0].String() != "{}" {
		t.Errorf("the caller's slice was written to: %s", parts)
	}
}

func TestFilterIsWalkedByItsOperators(t *testing.T) {
	f, err := paging.ParseFilter(`{"a":{"$gt":1},"$nor":[{"b":{"$in":["x",null]}},{"c":{"$exists":true}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	type node struct {
		Op     paging.Op
		Path   string
		Values []any
		Nodes  []node
	}
	var walk func(f paging.Filter) node
	walk = func(f paging.Filter) node {
		n := node{Op: f.Op(), Path: f.Path(), Values: f.Values()}
		for _, inner := range f.Filters() {
			n.Nodes = append(n.Nodes, walk(inner))
		}
		return n
	}
	want := node{Op: paging.OpAnd, Nodes: []node{
		{Op: paging.OpGt, Path: "a", Values: []any{json.Number("1")}},
		{Op: paging.OpNot, Nodes: []node{{Op: paging.OpOr, Nodes: []node{
			{Op: paging.OpIn, Path: "b", Values: []any{"x", nil}},
			{Op: paging.OpExists, Path: "c"},
		}}}},
	}}
	if diff := cmp.Diff(want, walk(f)); diff != "" {
		t.Error(diff)
	}
}
