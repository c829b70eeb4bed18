package walk_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/walk"
)

func TestResume(t *testing.T) {
	broken := errors.New("broken")
	for name, list := range map[string]walk.List[record]{
		"by _id":       {},
		"by keys":      {Query: paging.Query{Sort: []paging.Key{{Path: "group", Desc: true}, {Path: "rank"}}}},
		"after a skip": {Query: paging.Query{Skip: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			s := random(9, 30)
			list.URL, list.Query.Limit = listURL, 4
			list.Client = s.client()
			want, err := collect(list.All(t.Context()))
			if err != nil {
				t.Fatal(err)
			}

			list.Client = &http.Client{Transport: &flaky{s, 3, broken}}
			var got []string
			for attempts := 0; ; attempts++ {
				ids, err := collect(list.All(t.Context()))
				got = append(got, ids...)
				if err == nil {
					break
				}
				var stopped *walk.Error
				if !errors.As(err, &stopped) || !errors.Is(err, broken) || attempts > 9 {
					t.Fatal(err)
				}
				list.After = stopped.After
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// flaky fails after every few requests.
type flaky struct {
	*server
	every int
	err   error
}

func (f *flaky) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(f.queries)%f.every == f.every-1 {
		f.queries = append(f.queries, "failed")
		return nil, f.err
	}
	return f.server.RoundTrip(r)
}

func TestAfterOfAnotherSort(t *testing.T) {
	byRank := []paging.Key{{Path: "rank"}}
	for _, list := range []walk.List[record]{
		{After: "5f", Query: paging.Query{Sort: byRank}},
		{After: `["5f"]`, Query: paging.Query{Sort: byRank}},
		{After: `[{},"5f"]`, Query: paging.Query{Sort: byRank}},
		{After: `[1,"5f"] junk`, Query: paging.Query{Sort: byRank}},
		{After: `[1,"5f"][1,"60"]`, Query: paging.Query{Sort: byRank}},
		{After: `[1,"5f"]]`, Query: paging.Query{Sort: byRank}},
		{After: "a\x00b"},
	} {
		list.URL = listURL
		list.Client = bodies(`{"object":"list","data":[]}`).client()
		if _, err := collect(list.All(t.Context())); err == nil {
			t.Errorf("%q: accepted", list.After)
		}
	}
}
