package walk_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/walk"
)

// TestGoingOnAfterMax builds List.After from the last item that was returned, by the
// rules of the package comment.
func TestGoingOnAfterMax(t *testing.T) {
	sort := []paging.Key{{Path: "group", Desc: true}, {Path: "rank"}}
	byID := func(last record) string { return last.ID }
	for name, tc := range map[string]struct {
		query paging.Query
		after func(last record) string
	}{
		"by _id":         {paging.Query{}, byID},
		"by _id, a skip": {paging.Query{Skip: 3}, byID},
		"by other keys":  {paging.Query{Sort: sort}, cursorOf},
	} {
		t.Run(name, func(t *testing.T) {
			list := walk.List[record]{URL: listURL, Client: random(11, 30).client(), Query: tc.query}
			list.Query.Limit = 4
			want, err := collect(list.All(t.Context()))
			if err != nil {
				t.Fatal(err)
			}
			list.Max = 6
			var got []string
			var last record
			for round := 0; round < 9; round++ {
				before := len(got)
				for item, err := range list.All(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					got, last = append(got, item.ID), item
				}
				if len(got) == before {
					break
				}
				list.After = tc.after(last)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func cursorOf(last record) string {
	text, err := json.Marshal([]any{last.Group, last.Rank, last.ID})
	if err != nil {
		panic(err)
	}
	return string(text)
}

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
