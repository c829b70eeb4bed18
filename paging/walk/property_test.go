package walk_test

import (
	"errors"
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/walk"
)

// TestListProperty walks a list property like the list itself, also if items leave out the
// properties of the sort.
func TestListProperty(t *testing.T) {
	for _, sort := range [][]paging.Key{nil, {{Path: "group", Desc: true}, {Path: "rank"}}} {
		s := random(4, 30)
		list := walk.List[envelope.Item]{Client: s.client(), URL: "http://platform.test/acme/v2/parent", Property: "in.records",
			Query: paging.Query{Sort: sort, Paths: []string{"group", "rank"}, Limit: 4}}
		want := s.sorted(append(slices.Clone(sort), paging.Key{Path: "_id"}))
		if got, err := collect(list.All(t.Context())); !slices.Equal(got, want) || err != nil {
			t.Errorf("by %v: %v, %v", sort, got, err)
		}
		values, _ := url.ParseQuery(s.queries[0])
		if diff := cmp.Diff([]string{"in.records.group", "in.records.rank"}, values["paths[]"]); diff != "" {
			t.Error(diff)
		}
		list.Max = 6
		if got, err := collect(list.All(t.Context())); !slices.Equal(got, want[:6]) || err != nil {
			t.Errorf("by %v, 6 of them: %v, %v", sort, got, err)
		}
	}
}

func TestBadListProperties(t *testing.T) {
	list := walk.List[envelope.Item]{URL: listURL, Property: "in.records"}
	for body, want := range map[string]error{
		`{"_id":"p","object":"parent"}`:                                 envelope.ErrShape,
		`{"in":{"records":{"object":"list","data":[],"hasMore":true}}}`: walk.ErrStalled,
		`{"in":{"records":{"object":"record"}}}`:                        envelope.ErrShape,
		`{"in":[]}`:                                                     envelope.ErrShape,
		`{"in":{"records"`:                                              envelope.ErrNotJSON,
	} {
		list.Client = bodies(body).client()
		if _, err := collect(list.All(t.Context())); !errors.Is(err, want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}
