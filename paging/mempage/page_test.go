package mempage_test

import (
	"encoding/json"
	"fmt"
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

func after(t *testing.T, q paging.Query, values ...any) paging.Query {
	t.Helper()
	q, err := q.After(values...)
	if err != nil {
		t.Fatal(err)
	}
	return q
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
