package walk_test

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/walk"
)

func TestRest(t *testing.T) {
	for _, sort := range [][]paging.Key{nil, {{Path: "group", Desc: true}, {Path: "rank"}}} {
		s := random(4, 30)
		query := paging.Query{Sort: sort, Paths: []string{"group", "rank"}}
		list := walk.List[full]{Client: s.client(), URL: "http://platform.test/acme/v2/parent", Query: query, PageSize: 4}

		first := envelope.List[full]{HasMore: true}
		want := s.sorted(append(slices.Clone(sort), paging.Key{Path: "_id"}))
		for _, id := range want[:5] {
			first.Data = append(first.Data, s.full(id))
		}
		got, err := collect(list.Rest(t.Context(), first, "in.records"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[5:], got); diff != "" {
			t.Error(diff)
		}
		values, _ := url.ParseQuery(s.queries[0])
		if diff := cmp.Diff([]string{"in.records.group", "in.records.rank"}, values["paths[]"]); diff != "" {
			t.Error(diff)
		}

		first.HasMore = false
		if got, err := collect(list.Rest(t.Context(), first, "in.records")); got != nil || err != nil {
			t.Errorf("of a whole list: %v, %v", got, err)
		}
		if err := rest(t, list, envelope.List[full]{HasMore: true}); !errors.Is(err, walk.ErrStalled) {
			t.Errorf("P17 an empty first page: %v", err)
		}
	}
}

// TestAllOf walks a list property like the list itself, also if items leave out the
// properties of the sort.
func TestAllOf(t *testing.T) {
	for _, sort := range [][]paging.Key{nil, {{Path: "group", Desc: true}, {Path: "rank"}}} {
		s := random(4, 30)
		list := walk.List[envelope.Item]{Client: s.client(), URL: "http://platform.test/acme/v2/parent", PageSize: 4, Query: paging.Query{Sort: sort}}
		want := s.sorted(append(slices.Clone(sort), paging.Key{Path: "_id"}))
		if got, err := collect(list.AllOf(t.Context(), "in.records")); !slices.Equal(got, want) || err != nil {
			t.Errorf("by %v: %v, %v", sort, got, err)
		}
		list.Max = 6
		if got, err := collect(list.AllOf(t.Context(), "in.records")); !slices.Equal(got, want[:6]) || err != nil {
			t.Errorf("by %v, 6 of them: %v, %v", sort, got, err)
		}
	}
}

// full encodes all of its properties, also null ones.
type full struct {
	envelope.Item
	Group *string `json:"group"`
	Rank  *int    `json:"rank"`
}

func (s *server) full(id string) full {
	i := slices.IndexFunc(s.records, func(r record) bool { return r.ID == id })
	return full{s.records[i].Item, s.records[i].Group, s.records[i].Rank}
}

func rest[T walk.Item](t *testing.T, list walk.List[T], first envelope.List[T]) error {
	_, err := collect(list.Rest(t.Context(), first, "in.records"))
	return err
}

func TestRestRefuses(t *testing.T) {
	item := envelope.Item{ID: "1", Object: "record"}
	first := envelope.List[envelope.Item]{Data: []envelope.Item{item}, HasMore: true}
	list := walk.List[envelope.Item]{URL: listURL}

	list.Query.Sort = []paging.Key{{Path: "rank"}}
	if err := rest(t, list, first); err == nil || !strings.Contains(err.Error(), "does not encode rank") {
		t.Errorf("an item without the sort's property: %v", err)
	}
	unwritten := walk.List[careless]{URL: listURL, Query: list.Query}
	if err := rest(t, unwritten, envelope.List[careless]{Data: []careless{{id: "1"}}, HasMore: true}); !errors.Is(err, errCareless) {
		t.Errorf("an item that cannot be encoded: %v", err)
	}
	list.Query.Sort = nil
	for body, want := range map[string]error{
		`{"_id":"p","object":"parent"}`:                                 envelope.ErrShape,
		`{"in":{"records":{"object":"list","data":[],"hasMore":true}}}`: walk.ErrStalled,
		`{"in":{"records":{"object":"record"}}}`:                        envelope.ErrShape,
		`{"in":[]}`:                                                     envelope.ErrShape,
		`{"in":{"records"`:                                              envelope.ErrTruncated,
	} {
		list.Client = bodies(body).client()
		if err := rest(t, list, first); !errors.Is(err, want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}
