package walk_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/walk"
)

// TestWalkIsTheFullSort is P13: ties, nulls, mixed directions, small pages.
func TestWalkIsTheFullSort(t *testing.T) {
	sorts := map[string][]paging.Key{
		"_id":                        nil,
		"_id down":                   {{Path: "_id", Desc: true}},
		"group":                      {{Path: "group"}},
		"group down":                 {{Path: "group", Desc: true}},
		"group, rank down":           {{Path: "group"}, {Path: "rank", Desc: true}},
		"group down, rank, _id down": {{Path: "group", Desc: true}, {Path: "rank"}, {Path: "_id", Desc: true}},
		"done, rank, group down":     {{Path: "inner.done"}, {Path: "rank"}, {Path: "group", Desc: true}},
		"done down, rank down":       {{Path: "inner.done", Desc: true}, {Path: "rank", Desc: true}},
		"_id before others":          {{Path: "_id"}, {Path: "rank"}},
	}
	for name, sort := range sorts {
		for _, size := range []int{1, 3, 7} {
			t.Run(fmt.Sprintf("P13 %s in pages of %d", name, size), func(t *testing.T) {
				for seed := range uint64(20) {
					s := random(seed, 40)
					full := append(slices.Clone(sort), paging.Key{Path: "_id"})
					where := paging.Not(paging.Eq("rank", 2))
					list := walk.List[record]{Client: s.client(), URL: listURL, Query: paging.Query{Sort: sort, Where: where, Limit: size}}
					want := s.sorted(full)
					want = slices.DeleteFunc(want, func(id string) bool { return s.rank(id) == 2 })
					got, err := collect(list.All(t.Context()))
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("seed %d:\n%s", seed, diff)
					}
				}
			})
		}
	}
}

// TestWalkOverAChangingList is P12. A record that is there all the time appears
// exactly once, and no record appears twice.
func TestWalkOverAChangingList(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 12))
		s := random(seed, 30)
		survivors := map[string]bool{}
		for _, one := range s.records {
			survivors[one.ID] = true
		}
		s.before = func(s *server) {
			for range r.IntN(4) {
				id := fmt.Sprintf("%03d", r.IntN(30))
				switch r.IntN(3) {
				case 0:
					s.remove(id)
					delete(survivors, id)
				case 1:
					s.add(randomRecord(r, fmt.Sprintf("%03d.%d", r.IntN(30), r.IntN(1e6))))
				case 2:
					if i := slices.IndexFunc(s.records, func(r record) bool { return r.ID == id }); i >= 0 {
						s.records[i] = randomRecord(r, id)
					}
				}
			}
		}
		list := walk.List[record]{Client: s.client(), URL: listURL, Query: paging.Query{Limit: 1 + r.IntN(7)}}
		got, err := collect(list.All(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Fatalf("P12 seed %d: out of order or twice: %v", seed, got)
		}
		for id := range survivors {
			if !slices.Contains(got, id) {
				t.Fatalf("P12 seed %d: %s is missing from %v", seed, id, got)
			}
		}
	}
}

// TestNoNumberIsRounded pages by values that no float64 can hold.
func TestNoNumberIsRounded(t *testing.T) {
	s := bodies(
		`{"object":"list","data":[{"_id":"1","rank":9007199254740993}],"hasMore":true}`,
		`{"object":"list","data":[]}`,
	)
	list := walk.List[envelope.Item]{Client: s.client(), URL: listURL, Query: paging.Query{Sort: []paging.Key{{Path: "rank"}}}}
	if _, err := collect(list.All(t.Context())); err != nil {
		t.Fatal(err)
	}
	got := s.requests[1].URL.Query().Get("where")
	want := `{"$or":[{"rank":{"$gt":9007199254740993}},{"$and":[{"rank":9007199254740993},{"_id":{"$gt":"1"}}]}]}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTheQueryIsLeftAsItIs has paths with spare capacity, to which the walk adds
// keys.
func TestTheQueryIsLeftAsItIs(t *testing.T) {
	paths := append(make([]string, 0, 4), "group")
	list := byRank(false)
	list.Client, list.URL, list.Query.Paths = numbered(3).client(), listURL, paths
	if _, err := collect(list.All(t.Context())); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"group", "", "", ""}, paths[:4]); diff != "" {
		t.Error(diff)
	}
}
