package walk_test

import (
	"encoding/json"
	"errors"
	"fmt"
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
	for name, tc := range map[string]struct {
		list  walk.List[record]
		after func(given int, last record) string
	}{
		"by _id":           {walk.List[record]{}, func(_ int, last record) string { return last.ID }},
		"by _id, a skip":   {walk.List[record]{Query: paging.Query{Skip: 3}}, func(_ int, last record) string { return last.ID }},
		"by counting":      {walk.List[record]{ByOffset: true}, func(given int, _ record) string { return fmt.Sprint(given) }},
		"by other keys":    {walk.List[record]{Query: paging.Query{Sort: sort}}, cursorOf},
		"by keys, counted": {walk.List[record]{ByOffset: true, Query: paging.Query{Sort: sort, Skip: 3}}, func(given int, _ record) string { return fmt.Sprint(3 + given) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := random(11, 30)
			tc.list.URL, tc.list.Client, tc.list.PageSize = listURL, s.client(), 4
			want, err := collect(tc.list.All(t.Context()))
			if err != nil {
				t.Fatal(err)
			}
			tc.list.Max = 6
			var got []string
			var last record
			for round := 0; round < 9; round++ {
				before := len(got)
				for item, err := range tc.list.All(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					got, last = append(got, item.ID), item
				}
				if len(got) == before {
					break
				}
				tc.list.After = tc.after(len(got), last)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func cursorOf(_ int, last record) string {
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
		"by counting":  {ByOffset: true, Query: paging.Query{Sort: []paging.Key{{Path: "rank"}}}},
		"after a skip": {Query: paging.Query{Skip: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			s := random(9, 30)
			list.URL, list.PageSize = listURL, 4
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
		{After: "5f", ByOffset: true},
		{After: "-1", ByOffset: true},
		{After: "5f", Query: paging.Query{Sort: byRank}},
		{After: `["5f"]`, Query: paging.Query{Sort: byRank}},
		{After: `[{},"5f"]`, Query: paging.Query{Sort: byRank}},
		{After: `[1,"5f"] junk`, Query: paging.Query{Sort: byRank}},
		{After: `[1,"5f"][1,"60"]`, Query: paging.Query{Sort: byRank}},
		{After: `[1,"5f"]]`, Query: paging.Query{Sort: byRank}},
		{After: "+5", ByOffset: true},
		{After: "a\x00b"},
	} {
		list.URL = listURL
		list.Client = bodies(`{"object":"list","data":[]}`).client()
		if _, err := collect(list.All(t.Context())); err == nil {
			t.Errorf("%q: accepted", list.After)
		}
	}
}
