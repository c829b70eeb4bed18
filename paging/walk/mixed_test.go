package walk_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/mempage"
	"github.com/tenantkit/tenantkit/paging/walk"
)

// mixed serves items with any values in rank, whatever the schema says.
type mixed struct {
	of    paging.Type
	items []mixedItem
}

type mixedItem struct {
	id, group string
	rank      any // nil: not sent
}

func (m *mixed) at(item mixedItem, path string) (any, bool) {
	switch path {
	case "_id":
		return item.id, true
	case "group":
		return item.group, true
	}
	return item.rank, item.rank != nil
}

func (i mixedItem) MarshalJSON() ([]byte, error) {
	properties := map[string]any{"_id": i.id, "object": "mixed", "group": i.group}
	if i.rank != nil {
		properties["rank"] = i.rank
	}
	return json.Marshal(properties)
}

func (m *mixed) RoundTrip(r *http.Request) (*http.Response, error) {
	schema := paging.Schema{Properties: []paging.Property{
		{Path: "group", Type: paging.String, Filter: true, Sort: true},
		{Path: "rank", Type: m.of, Filter: true, Sort: true, Null: true},
	}}
	q, err := schema.Parse(r.URL.RawQuery, func(string) bool { return true })
	if err != nil {
		return reply(http.StatusBadRequest, err.(*paging.Error).Fault()), nil
	}
	page, more := mempage.Page(m.items, q, m.at)
	return reply(http.StatusOK, envelope.List[mixedItem]{Data: page, HasMore: more}), nil
}

func (m *mixed) sorted(sort []paging.Key) (ids []string) {
	all, _ := mempage.Page(m.items, paging.Query{Sort: append(slices.Clone(sort), paging.Key{Path: "_id"}), Limit: 1000}, m.at)
	for _, item := range all {
		ids = append(ids, item.id)
	}
	return ids
}

var types = []paging.Type{paging.String, paging.Integer, paging.Boolean}

// randomMixed returns items with ranks of the type and some of other types.
func randomMixed(r *rand.Rand, of paging.Type, n int, others bool) *mixed {
	value := func(of paging.Type) any {
		switch of {
		case paging.String:
			return []string{"", "a", "b", "10"}[r.IntN(4)]
		case paging.Boolean:
			return r.IntN(2) == 0
		}
		return r.IntN(20) - 10
	}
	m := &mixed{of: of}
	for i := range n {
		item := mixedItem{id: fmt.Sprintf("%03d", i*7%n), group: []string{"x", "y"}[r.IntN(2)], rank: value(of)}
		switch r.IntN(6) {
		case 0:
			item.rank = nil
		case 1:
			if others {
				item.rank = value(types[r.IntN(len(types))])
			}
		}
		m.items = append(m.items, item)
	}
	return m
}

// TestWalkByAKeyOfSeveralTypes walks by a property that also has values of other
// types than that of the schema. The sort orders them by type.
func TestWalkByAKeyOfSeveralTypes(t *testing.T) {
	for seed := range uint64(16) {
		r := rand.New(rand.NewPCG(seed, 17))
		for _, of := range types {
			m := randomMixed(r, of, 20, seed%4 > 0)
			for _, sort := range [][]paging.Key{
				{{Path: "rank"}}, {{Path: "rank", Desc: true}},
				{{Path: "group"}, {Path: "rank"}}, {{Path: "rank", Desc: true}, {Path: "group", Desc: true}},
			} {
				for _, size := range []int{1, 3, 7, 19} {
					list := walk.List[envelope.Item]{URL: listURL, Client: &http.Client{Transport: m}, Query: paging.Query{Sort: sort, Limit: size}}
					got, err := collect(list.All(t.Context()))
					if diff := cmp.Diff(m.sorted(sort), got); diff != "" || err != nil {
						t.Fatalf("P13 seed %d, %v by %v in pages of %d: %v\n%s", seed, of, sort, size, err, diff)
					}
				}
			}
		}
	}
}

// TestNumbersAreInTheOrderOfTheServer walks by numbers of any size and spelling.
func TestNumbersAreInTheOrderOfTheServer(t *testing.T) {
	numbers := []json.Number{
		"0", "-0", "0.0", "1", "1.0", "10e-1", "-1", "0.1", "0.10", "1e-324", "-1e-324", "1e324", "-1E+324", "12345678901234567890",
		"12345678901234567891", "9007199254740992", "9007199254740993", "0.30000000000000001", "0.3", "3e-1", "100", "1e2", "-2.5", "-2.50001",
	}
	m := &mixed{of: paging.Number}
	for i, n := range numbers {
		m.items = append(m.items, mixedItem{id: fmt.Sprintf("%03d", i), rank: n})
	}
	for _, sort := range [][]paging.Key{{{Path: "rank"}}, {{Path: "rank", Desc: true}}} {
		for _, size := range []int{1, 2, 5} {
			list := walk.List[envelope.Item]{URL: listURL, Client: &http.Client{Transport: m}, Query: paging.Query{Sort: sort, Limit: size}}
			got, err := collect(list.All(t.Context()))
			if diff := cmp.Diff(m.sorted(sort), got); diff != "" || err != nil {
				t.Errorf("P13 by %v in pages of %d: %v\n%s", sort, size, err, diff)
			}
		}
	}
}
