package mempage_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/mempage"
)

// row holds its properties by path. A missing property is not in the map.
type row map[string]any

func get(r row, path string) (any, bool) {
	v, ok := r[path]
	return v, ok
}

func ids(rows []row) (ids []string) {
	for _, r := range rows {
		ids = append(ids, r["_id"].(string))
	}
	return ids
}

// matching returns the values of a for which the filter holds.
func matching(t *testing.T, filter string, values map[string]any) []string {
	t.Helper()
	f, err := paging.ParseFilter(filter)
	if err != nil {
		t.Fatal(err)
	}
	rows := []row{{"_id": "missing"}}
	for id, v := range values {
		rows = append(rows, row{"_id": id, "a": v})
	}
	q := paging.Query{Where: f, Sort: []paging.Key{{Path: "_id"}}, Limit: 1000}
	page, _ := mempage.Page(rows, q, get)
	return ids(page)
}

func TestMatching(t *testing.T) {
	values := map[string]any{
		"null": nil, "true": true, "false": false,
		"one": 1, "two": 2.0, "ten": uint8(10), "big": json.Number("9007199254740993"), "NaN": math.NaN(),
		"empty": "", "A": "A", "a": "a", "text 10": "10", "é": "é",
		"list": []any{1, "a"}, "object": map[string]any{"b": 1},
	}
	all := []string{"A", "NaN", "a", "big", "empty", "false", "list", "missing", "null", "object", "one", "ten", "text 10", "true", "two", "é"}
	except := func(names ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(id string) bool { return slices.Contains(names, id) })
	}
	tests := map[string][]string{
		`{}`:                             all,
		`{"$nor":[{}]}`:                  nil,
		`{"a":null}`:                     {"missing", "null"},
		`{"a":{"$ne":null}}`:             except("missing", "null"),
		`{"a":{"$exists":true}}`:         except("missing"),
		`{"a":{"$exists":false}}`:        {"missing"},
		`{"a":1}`:                        {"one"},
		`{"a":1.0}`:                      {"one"},
		`{"a":10e-1}`:                    {"one"},
		`{"a":"10"}`:                     {"text 10"},
		`{"a":9007199254740993}`:         {"big"},
		`{"a":9007199254740992}`:         nil,
		`{"a":{"$gt":9007199254740992}}`: {"big"},
		`{"a":{"$ne":1}}`:                except("one"),
		`{"a":{"$gt":1}}`:                {"big", "ten", "two"},
		`{"a":{"$gte":1}}`:               {"big", "one", "ten", "two"},
		`{"a":{"$lt":10}}`:               {"one", "two"},
		`{"a":{"$lte":10}}`:              {"one", "ten", "two"},
		`{"a":{"$gt":"A"}}`:              {"a", "é"},
		`{"a":{"$gte":""}}`:              {"A", "a", "empty", "text 10", "é"},
		`{"a":{"$lt":"a"}}`:              {"A", "empty", "text 10"},
		`{"a":{"$gt":false}}`:            {"true"},
		`{"a":{"$lte":true}}`:            {"false", "true"},
		`{"a":{"$not":{"$gt":1}}}`:       except("big", "ten", "two"),
		`{"a":{"$prefix":"1"}}`:          {"text 10"},
		`{"a":{"$prefix":""}}`:           {"A", "a", "empty", "text 10", "é"},
		`{"a":{"$not":{"$prefix":"a"}}}`: except("a"),
		`{"a":{"$in":[1,"a",true]}}`:     {"a", "one", "true"},
		`{"a":{"$in":[null]}}`:           {"missing", "null"},
		`{"a":{"$in":[]}}`:               nil,
		`{"a":{"$nin":[1,null]}}`:        except("one", "missing", "null"),
		`{"a":{"$nin":[]}}`:              all,
		`{"$or":[{"a":1},{"a":"a"}]}`:    {"a", "one"},
		`{"$nor":[{"a":1},{"a":"a"}]}`:   except("a", "one"),
		`{"a":{"$gt":1,"$lt":10}}`:       {"two"},
		`{"b":1}`:                        nil,
		`{"b":{"$ne":1}}`:                all,
	}
	for filter, want := range tests {
		t.Run(filter, func(t *testing.T) {
			if diff := cmp.Diff(want, matching(t, filter, values)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCount(t *testing.T) {
	rows := []row{{"_id": "1", "a": 1}, {"_id": "2", "a": 2}, {"_id": "3", "a": 3}, {"_id": "4"}}
	atLeastOne := paging.Query{Where: paging.Gte("a", 1)}
	for name, tc := range map[string]struct {
		query paging.Query
		most  int
		want  *envelope.Total
	}{
		"not asked for":             {atLeastOne, 0, nil},
		"everything":                {paging.Query{}, 9, &envelope.Total{Items: 4}},
		"what matches":              {atLeastOne, 9, &envelope.Total{Items: 3}},
		"without skip and limit":    {paging.Query{Skip: 2, Limit: 1}, 9, &envelope.Total{Items: 4}},
		"just as many as allowed":   {atLeastOne, 3, &envelope.Total{Items: 3}},
		"one more than allowed":     {atLeastOne, 2, &envelope.Total{Items: 2, AtLeast: true}},
		"nothing":                   {paging.Query{Where: paging.Or()}, 9, &envelope.Total{}},
		"the rest behind a cursor":  {after(t, paging.Query{}, "2"), 9, &envelope.Total{Items: 2}},
		"behind a cursor of a sort": {after(t, paging.Query{Sort: []paging.Key{{Path: "a", Desc: true}}}, json.Number("2"), "2"), 9, &envelope.Total{Items: 2}},
	} {
		tc.query.CountTo = tc.most
		if diff := cmp.Diff(tc.want, mempage.Count(rows, tc.query, get)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestElements is about paths that end with [].
func TestElements(t *testing.T) {
	rows := []row{{"_id": "missing"}, {"_id": "null", "a[]": nil}, {"_id": "empty", "a[]": []any{}}, {"_id": "texts", "a[]": []string{"a", "c"}},
		{"_id": "mixed", "a[]": []any{json.Number("2"), "b", nil}}, {"_id": "one text", "a[]": "a"}}
	for filter, want := range map[string][]string{
		`{"a[]":"a"}`:                     {"one text", "texts"},
		`{"a[]":{"$ne":"a"}}`:             {"empty", "missing", "mixed", "null"},
		`{"a[]":{"$in":["b","c",5]}}`:     {"mixed", "texts"},
		`{"a[]":{"$nin":["b","c",null]}}`: {"empty", "one text"},
		`{"a[]":null}`:                    {"missing", "mixed", "null"},
		`{"a[]":{"$gt":"b"}}`:             {"texts"},
		`{"a[]":{"$gt":"b","$lt":"b"}}`:   {"texts"}, // each for an element of its own
		`{"a[]":{"$lte":2}}`:              {"mixed"},
		`{"a[]":{"$exists":true}}`:        {"empty", "mixed", "null", "one text", "texts"},
	} {
		f, err := paging.ParseFilter(filter)
		if err != nil {
			t.Fatal(err)
		}
		page, _ := mempage.Page(rows, paging.Query{Where: f, Limit: 9}, get)
		if diff := cmp.Diff(want, ids(page)); diff != "" {
			t.Errorf("%s:\n%s", filter, diff)
		}
	}
}

func after(t *testing.T, q paging.Query, values ...any) paging.Query {
	t.Helper()
	q, err := q.After(values...)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestOrder(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	type label string
	rows := []row{
		{"_id": "01 null", "a": nil}, {"_id": "02 missing"},
		{"_id": "03 false", "a": false}, {"_id": "04 true", "a": true},
		{"_id": "05 -inf", "a": json.Number("-1e300")}, {"_id": "06 -2", "a": -2}, {"_id": "07 -1.5", "a": -1.5},
		{"_id": "08 0", "a": math.Copysign(0, -1)}, {"_id": "09 0", "a": json.Number("0e5")}, {"_id": "10 tiny", "a": json.Number("1e-9")},
		{"_id": "11 0.1", "a": float32(0.1)}, {"_id": "12 0.1", "a": 0.1}, {"_id": "13 9", "a": int8(9)},
		{"_id": "14 10", "a": uint(10)}, {"_id": "15 2^53", "a": json.Number("9007199254740992")},
		{"_id": "16 2^53+1", "a": int64(9007199254740993)},
		{"_id": "17 10", "a": "10"}, {"_id": "18 date", "a": at}, {"_id": "19 9", "a": label("9")}, {"_id": "20 B", "a": "B"}, {"_id": "21 a", "a": "a"},
		{"_id": "22 list", "a": []int{}}, {"_id": "23 too large", "a": json.Number("1e99999999999")},
	}
	want := ids(rows)
	shuffled := slices.Clone(rows)
	rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })

	q := paging.Query{Sort: []paging.Key{{Path: "a"}, {Path: "_id"}}, Limit: 100}
	page, _ := mempage.Page(shuffled, q, get)
	if diff := cmp.Diff(want, ids(page)); diff != "" {
		t.Error(diff)
	}

	q.Sort = []paging.Key{{Path: "a", Desc: true}, {Path: "_id", Desc: true}}
	page, _ = mempage.Page(shuffled, q, get)
	slices.Reverse(want)
	if diff := cmp.Diff(want, ids(page)); diff != "" {
		t.Error(diff)
	}
}

func TestPage(t *testing.T) {
	rows := []row{{"_id": "3"}, {"_id": "1"}, {"_id": "4"}, {"_id": "2"}}
	byID := []paging.Key{{Path: "_id"}}
	tests := map[string]struct {
		q    paging.Query
		want []string
		more bool
	}{
		"a page":                   {paging.Query{Sort: byID, Limit: 2}, []string{"1", "2"}, true},
		"the last page":            {paging.Query{Sort: byID, Limit: 2, Skip: 2}, []string{"3", "4"}, false},
		"beyond the end":           {paging.Query{Sort: byID, Limit: 2, Skip: 5}, nil, false},
		"where before skip":        {paging.Query{Where: paging.Gt("_id", "1"), Sort: byID, Limit: 1, Skip: 1}, []string{"3"}, true},
		"no sort is one by _id":    {paging.Query{Limit: 3}, []string{"1", "2", "3"}, true},
		"nothing counts after _id": {paging.Query{Sort: []paging.Key{{Path: "_id", Desc: true}, {Path: "x"}}, Limit: 3}, []string{"4", "3", "2"}, true},
		"the zero query":           {paging.Query{}, nil, false},
		"a negative skip":          {paging.Query{Sort: byID, Limit: 1, Skip: -3}, []string{"1"}, true},
		"a list that is not there": {paging.Query{}.Lists["nosuch"], nil, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			page, more := mempage.Page(rows, tc.q, get)
			if diff := cmp.Diff(tc.want, ids(page)); diff != "" || more != tc.more {
				t.Errorf("more %t\n%s", more, diff)
			}
		})
	}
	if rows[0]["_id"] != "3" {
		t.Error("the rows were sorted in place")
	}
}

// TestRowsOfOneID has rows that are equal in all keys: they keep their order.
func TestRowsOfOneID(t *testing.T) {
	var rows []row
	for i := range 200 {
		rows = append(rows, row{"_id": fmt.Sprint(i * 7 % 5), "at": i})
	}
	page, _ := mempage.Page(rows, paging.Query{Limit: 200}, get)
	for i, r := range page[1:] {
		if before := page[i]; before["_id"] == r["_id"] && before["at"].(int) > r["at"].(int) {
			t.Fatalf("%v before %v", before, r)
		}
	}
}

// TestDates compares a time.Time as its text on the wire.
func TestDates(t *testing.T) {
	at := time.Date(2026, 1, 2, 4, 4, 5, 678_999_999, time.FixedZone("", 3600))
	rows := []row{{"_id": "1", "a": at}, {"_id": "2", "a": "2026-01-02T03:04:05.678Z"}, {"_id": "3", "a": at.Add(time.Millisecond)}}
	page, _ := mempage.Page(rows, paging.Query{Where: paging.Eq("a", at), Limit: 3}, get)
	if diff := cmp.Diff([]string{"1", "2"}, ids(page)); diff != "" {
		t.Error(diff)
	}
}

// TestNoFilterWidens is P11: whatever a caller sends, the condition of the server
// holds for every row of the page.
func TestNoFilterWidens(t *testing.T) {
	var rows []row
	for i := range 60 {
		rows = append(rows, row{"_id": fmt.Sprint(i), "org": []string{"acme", "other"}[i%2], "a": i % 7, "b": nil})
	}
	schema := paging.Schema{Properties: []paging.Property{
		{Path: "org", Type: paging.String, Filter: true},
		{Path: "a", Type: paging.Integer, Filter: true, Null: true},
		{Path: "b", Type: paging.Integer, Filter: true, Null: true},
	}}
	all := func(string) bool { return true }
	seeds := rand.New(rand.NewPCG(11, 11))
	for range 2000 {
		raw := paging.Query{Where: randomFilter(seeds, 3), Limit: 1000}.Encode()
		q, err := schema.Parse(raw, all)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		unbound, _ := mempage.Page(rows, q, get)
		page, _ := mempage.Page(rows, q.And(paging.Eq("org", "acme")), get)
		want := slices.DeleteFunc(ids(unbound), func(id string) bool { return id[len(id)-1]%2 == 1 })
		if !slices.Equal(want, ids(page)) {
			t.Fatalf("P11 %s\n%s", q.Where, cmp.Diff(want, ids(page)))
		}
	}
}

func randomFilter(r *rand.Rand, depth int) paging.Filter {
	if depth > 0 && r.IntN(3) > 0 {
		parts := make([]paging.Filter, r.IntN(4))
		for i := range parts {
			parts[i] = randomFilter(r, depth-1)
		}
		switch r.IntN(3) {
		case 0:
			return paging.And(parts...)
		case 1:
			return paging.Or(parts...)
		}
		return paging.Not(paging.Or(parts...))
	}
	path := []string{"a", "b"}[r.IntN(2)]
	switch r.IntN(7) {
	case 0:
		return paging.Eq("org", []string{"acme", "other"}[r.IntN(2)])
	case 1:
		return paging.Null(path)
	case 2:
		return paging.Ne(path, r.IntN(7))
	case 3:
		return paging.In(path, r.IntN(7), r.IntN(7))
	case 4:
		return paging.Lte(path, r.IntN(7))
	case 5:
		return paging.Not(paging.Gt(path, r.IntN(7)))
	}
	return paging.Filter{}
}

// TestLinksAreTheFullSort follows the links of pages to the end. Rows have values of several types.
func TestLinksAreTheFullSort(t *testing.T) {
	values := []any{nil, true, 5, 5.5, "5", `a"<b>&c=d`, "é", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	schema := paging.Schema{Properties: []paging.Property{{Path: "a", Type: paging.String, Filter: true, Sort: true}, {Path: "b", Type: paging.Integer, Filter: true, Sort: true}}}
	r := rand.New(rand.NewPCG(1, 2))
	var rows []row
	for i := range 60 {
		one := row{"_id": fmt.Sprintf("%02d+%%", i), "a": values[r.IntN(len(values))]}
		if r.IntN(4) > 0 {
			one["b"] = values[r.IntN(len(values))]
		}
		rows = append(rows, one)
	}
	for _, sort := range []string{`{}`, `{"_id":-1}`, `{"a":1}`, `{"a":-1,"b":1}`, `{"b":1,"a":-1,"_id":-1}`} {
		for _, where := range []string{`{}`, `{"a":{"$not":{"$prefix":"a"}}}`} {
			raw := url.Values{"sort": {sort}, "where": {where}, "limit": {"7"}}.Encode()
			whole, err := schema.Parse(raw, func(string) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			whole.Limit = len(rows)
			want, _ := mempage.Page(rows, whole, get)
			var got []row
			for raw != "" {
				q, err := schema.Parse(raw, func(string) bool { return true })
				if err != nil {
					t.Fatal(err)
				}
				page, more := mempage.Page(rows, q, get)
				if got = append(got, page...); !more {
					break
				}
				last := page[len(page)-1]
				link := schema.NextLink("https://example.com/rows", raw, func(path string) (any, bool) { return get(last, path) })
				u, err := url.Parse(strings.Trim(strings.TrimSuffix(link, `; rel="next"`), "<>"))
				if err != nil {
					t.Fatal(err)
				}
				raw = u.RawQuery
			}
			if diff := cmp.Diff(ids(want), ids(got)); diff != "" {
				t.Errorf("sort %s where %s:\n%s", sort, where, diff)
			}
		}
	}
}
