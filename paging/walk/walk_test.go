package walk_test

import (
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/walk"
)

const listURL = "http://platform.test/acme/v2/records"

// collect returns the ids of a walk and its error.
func collect[T interface{ ItemID() string }](items iter.Seq2[T, error]) (ids []string, err error) {
	for item, err := range items {
		if err != nil {
			return ids, err
		}
		ids = append(ids, item.ItemID())
	}
	return ids, nil
}

func TestAll(t *testing.T) {
	s := numbered(25)
	list := walk.List[record]{
		Client: s.client(), URL: listURL + "?tenant=x",
		Query: paging.Query{Limit: 10, Paths: []string{"rank"}, Where: paging.Ne("_id", "007")},
	}
	want := slices.DeleteFunc(s.sorted(nil), func(id string) bool { return id == "007" })
	for range 2 { // a second range starts again
		got, err := collect(list.All(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	var queries []string
	for _, q := range s.queries[:3] {
		text, _ := url.QueryUnescape(q)
		queries = append(queries, text)
	}
	wantQueries := []string{
		`tenant=x&limit=10&paths[]=rank&sort={"_id":1}&where={"_id":{"$ne":"007"}}`,
		`tenant=x&limit=10&paths[]=rank&sort={"_id":1}&where={"$and":[{"_id":{"$ne":"007"}},{"_id":{"$gt":"010"}}]}`,
		`tenant=x&limit=10&paths[]=rank&sort={"_id":1}&where={"$and":[{"_id":{"$ne":"007"}},{"_id":{"$gt":"020"}}]}`,
	}
	if diff := cmp.Diff(wantQueries, queries); diff != "" {
		t.Error(diff)
	}
}

func TestSkipOfTheQuery(t *testing.T) {
	s := numbered(9)
	list := walk.List[record]{Client: s.client(), URL: listURL, Query: paging.Query{Limit: 2, Skip: 3}}
	got, err := collect(list.All(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.sorted(nil)[3:], got); diff != "" {
		t.Error(diff)
	}
}

func TestAllIsLazyAndStops(t *testing.T) {
	s := numbered(25)
	list := walk.List[record]{Client: s.client(), URL: listURL, Query: paging.Query{Limit: 10}}
	items := list.All(t.Context())
	if len(s.queries) != 0 {
		t.Error("asked before it was ranged over")
	}
	n := 0
	for range items {
		if n++; n == 10 {
			break
		}
	}
	if len(s.queries) != 1 {
		t.Errorf("10 items took %d requests", len(s.queries))
	}
}

func TestMaxAndLimit(t *testing.T) {
	tests := map[string]struct {
		list     walk.List[record]
		items    int
		requests []string
	}{
		"a maximum within a page":   {walk.List[record]{Query: paging.Query{Limit: 10}, Max: 3}, 3, []string{"3"}},
		"a maximum at a page's end": {walk.List[record]{Query: paging.Query{Limit: 10}, Max: 20}, 20, []string{"10", "10"}},
		"a maximum beyond a page":   {walk.List[record]{Query: paging.Query{Limit: 10}, Max: 15}, 15, []string{"10", "5"}},
		"a maximum beyond the list": {walk.List[record]{Query: paging.Query{Limit: 20}, Max: 99}, 25, []string{"20", "20"}},
		"the limit of the query":    {walk.List[record]{Query: paging.Query{Limit: 20}}, 25, []string{"20", "20"}},
		"neither":                   {walk.List[record]{}, 25, []string{""}},
		"a small maximum alone":     {walk.List[record]{Max: 2}, 2, []string{"2"}},
		"a large maximum alone":     {walk.List[record]{Max: 500}, 25, []string{""}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := numbered(25)
			tc.list.Client, tc.list.URL = s.client(), listURL
			got, err := collect(tc.list.All(t.Context()))
			if err != nil || len(got) != tc.items {
				t.Errorf("%d items, %v", len(got), err)
			}
			var limits []string
			for _, q := range s.queries {
				values, _ := url.ParseQuery(q)
				limits = append(limits, values.Get("limit"))
			}
			if diff := cmp.Diff(tc.requests, limits); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMaxHoldsWhateverTheServerSends(t *testing.T) {
	s := bodies(`{"object":"list","data":[{"_id":"1"},{"_id":"2"},{"_id":"3"}],"hasMore":true}`)
	list := walk.List[envelope.Item]{Client: s.client(), URL: listURL, Max: 2}
	for page, err := range list.Pages(t.Context()) {
		if err != nil || len(page.Data) != 2 || !page.HasMore {
			t.Errorf("%+v, %v", page, err)
		}
	}
	if len(s.requests) != 1 {
		t.Errorf("%d requests", len(s.requests))
	}
}

func TestPages(t *testing.T) {
	const more, none = `{"object":"list","data":[{"_id":"1"}],"hasMore":true}`, `{"object":"list","data":[]}`
	tests := map[string]struct {
		client *http.Client
		want   []int
	}{
		"two pages":                     {numbered(20).client(), []int{10, 10}},
		"an empty list":                 {numbered(0).client(), []int{0}},
		"what was more has gone by now": {bodies(more, none).client(), []int{1}},
	}
	for name, tc := range tests {
		var sizes []int
		for page, err := range (walk.List[envelope.Item]{Client: tc.client, URL: listURL, Query: paging.Query{Limit: 10}}).Pages(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, len(page.Data))
		}
		if diff := cmp.Diff(tc.want, sizes); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestTheFirstPageIsCounted has the total of a list, which later pages do not ask for again.
func TestTheFirstPageIsCounted(t *testing.T) {
	s := numbered(25)
	list := walk.List[record]{Client: s.client(), URL: listURL, Query: paging.Query{Limit: 10, CountTo: 1}}
	var totals []*envelope.Total
	for page, err := range list.Pages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		totals = append(totals, page.Total)
	}
	if diff := cmp.Diff([]*envelope.Total{{Items: 25}, nil, nil}, totals); diff != "" {
		t.Error(diff)
	}
	list.After = "010"
	if ids, err := collect(list.All(t.Context())); err != nil || len(ids) != 14 { // 011 to 024
		t.Errorf("resumed: %d, %v", len(ids), err)
	}
	for i, q := range s.queries {
		if strings.Contains(q, "count=true") != (i == 0) {
			t.Errorf("query %d is %s", i, q)
		}
	}
}
