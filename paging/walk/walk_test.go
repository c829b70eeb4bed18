package walk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/walk"
)

const listURL = "http://platform.test/acme/v2/records"

// collect returns the ids of a walk, and how it ended.
func collect[T walk.Item](items iter.Seq2[T, error]) (ids []string, err error) {
	for item, err := range items {
		if err != nil {
			return ids, err
		}
		ids = append(ids, item.ItemID())
	}
	return ids, nil
}

func numbered(n int) *server {
	s := new(server)
	for i := range n {
		s.add(record{Item: envelope.Item{ID: fmt.Sprintf("%03d", i)}})
	}
	return s
}

func TestAll(t *testing.T) {
	s := numbered(25)
	list := walk.List[record]{
		Client: s.client(), URL: listURL + "?tenant=x", PageSize: 10,
		Query: paging.Query{Paths: []string{"rank"}, Where: paging.Ne("_id", "007")},
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
	for _, counted := range []bool{false, true} {
		s := numbered(9)
		list := walk.List[record]{Client: s.client(), URL: listURL, PageSize: 2, Skip: counted, Query: paging.Query{Skip: 3}}
		got, err := collect(list.All(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.sorted(nil)[3:], got); diff != "" {
			t.Errorf("counted %t:\n%s", counted, diff)
		}
	}
}

func TestAllIsLazyAndStops(t *testing.T) {
	s := numbered(25)
	list := walk.List[record]{Client: s.client(), URL: listURL, PageSize: 10}
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

func TestMaxAndPageSize(t *testing.T) {
	tests := map[string]struct {
		list     walk.List[record]
		items    int
		requests []string
	}{
		"a maximum within a page":       {walk.List[record]{PageSize: 10, Max: 3}, 3, []string{"3"}},
		"a maximum at a page's end":     {walk.List[record]{PageSize: 10, Max: 20}, 20, []string{"10", "10"}},
		"a maximum beyond a page":       {walk.List[record]{PageSize: 10, Max: 15}, 15, []string{"10", "5"}},
		"a maximum beyond the list":     {walk.List[record]{PageSize: 20, Max: 99}, 25, []string{"20", "20"}},
		"the limit of the query":        {walk.List[record]{Query: paging.Query{Limit: 20}}, 25, []string{"20", "20"}},
		"a page size before that limit": {walk.List[record]{Query: paging.Query{Limit: 9}, PageSize: 20}, 25, []string{"20", "20"}},
		"neither":                       {walk.List[record]{}, 25, []string{""}},
		"a small maximum alone":         {walk.List[record]{Max: 2}, 2, []string{"2"}},
		"a large maximum alone":         {walk.List[record]{Max: 500}, 25, []string{""}},
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
		for page, err := range (walk.List[envelope.Item]{Client: tc.client, URL: listURL, PageSize: 10}).Pages(t.Context()) {
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
					for _, skip := range []bool{false, true} {
						list := walk.List[record]{
							Client: s.client(), URL: listURL, PageSize: size, Skip: skip,
							Query: paging.Query{Sort: sort, Where: where},
						}
						want := s.sorted(full)
						want = slices.DeleteFunc(want, func(id string) bool { return s.rank(id) == 2 })
						got, err := collect(list.All(t.Context()))
						if err != nil {
							t.Fatal(err)
						}
						if diff := cmp.Diff(want, got); diff != "" {
							t.Fatalf("seed %d, skip %t:\n%s", seed, skip, diff)
						}
					}
				}
			})
		}
	}
}

// random makes records with many ties and missing properties.
func random(seed uint64, n int) *server {
	r := rand.New(rand.NewPCG(seed, 13))
	s := new(server)
	for i := range n {
		s.add(randomRecord(r, fmt.Sprintf("%03d", i*7%n)))
	}
	return s
}

func randomRecord(r *rand.Rand, id string) record {
	one := record{Item: envelope.Item{ID: id}}
	if r.IntN(4) > 0 {
		group := []string{"", "A", "a", "é", "\"<&>\\"}[r.IntN(5)]
		one.Group = &group
	}
	if r.IntN(4) > 0 {
		rank := r.IntN(4) - 1
		one.Rank = &rank
	}
	if r.IntN(4) > 0 {
		done := r.IntN(2) == 0
		one.Inner.Done = &done
	}
	return one
}

func (s *server) rank(id string) int {
	for _, r := range s.records {
		if r.ID == id && r.Rank != nil {
			return *r.Rank
		}
	}
	return -9
}

// TestWalkOverAChangingList is P12: whatever else happens, a record that is
// there all the time appears exactly once, and none appears twice.
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
		list := walk.List[record]{Client: s.client(), URL: listURL, PageSize: 1 + r.IntN(7)}
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

// full encodes all of its properties, also those that are null.
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

func TestResume(t *testing.T) {
	broken := errors.New("broken")
	for name, list := range map[string]walk.List[record]{
		"by _id":       {},
		"by keys":      {Query: paging.Query{Sort: []paging.Key{{Path: "group", Desc: true}, {Path: "rank"}}}},
		"by counting":  {Skip: true, Query: paging.Query{Sort: []paging.Key{{Path: "rank"}}}},
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
		{After: "5f", Skip: true},
		{After: "-1", Skip: true},
		{After: "5f", Query: paging.Query{Sort: byRank}},
		{After: `["5f"]`, Query: paging.Query{Sort: byRank}},
		{After: `[{},"5f"]`, Query: paging.Query{Sort: byRank}},
		{After: "a\x00b"},
	} {
		list.URL = listURL
		list.Client = bodies(`{"object":"list","data":[]}`).client()
		if _, err := collect(list.All(t.Context())); err == nil {
			t.Errorf("%q: accepted", list.After)
		}
	}
}

func TestHasMore(t *testing.T) {
	for value, more := range map[string]bool{
		`true`: true, `"true"`: true, `false`: false, `"false"`: false, `1`: false, `null`: false, `"TRUE"`: false,
	} {
		s := bodies(
			`{"object":"list","data":[{"_id":"1"}],"hasMore":`+value+`}`,
			`{"object":"list","data":[{"_id":"2"}]}`,
		)
		got, err := collect(walk.List[envelope.Item]{Client: s.client(), URL: listURL}.All(t.Context()))
		if err != nil || (len(got) == 2) != more {
			t.Errorf("P16 %s: %v, %v", value, got, err)
		}
	}
}

func TestStalled(t *testing.T) {
	page := func(ids ...string) string {
		var items []string
		for _, id := range ids {
			items = append(items, fmt.Sprintf(`{"_id":%q,"rank":1}`, id))
		}
		return `{"object":"list","data":[` + strings.Join(items, ",") + `],"hasMore":true}`
	}
	down := paging.Query{Sort: []paging.Key{{Path: "_id", Desc: true}}}
	rank := paging.Query{Sort: []paging.Key{{Path: "rank"}}}
	tests := map[string]struct {
		list  walk.List[envelope.Item]
		pages []string
		want  []string
		after string
	}{
		"an empty page says there is more": {pages: []string{page("1"), page()}, want: []string{"1"}, after: "1"},
		"the first page is empty":          {pages: []string{page()}},
		"the same page again":              {pages: []string{page("1", "2")}, want: []string{"1", "2"}, after: "2"},
		"back to the start":                {pages: []string{page("5"), page("6"), page("5")}, want: []string{"5", "6"}, after: "6"},
		"upwards instead of down":          {list: walk.List[envelope.Item]{Query: down}, pages: []string{page("5"), page("6")}, want: []string{"5"}, after: "5"},
		"an item without an id":            {pages: []string{page("1"), page("2", "")}, want: []string{"1"}, after: "1"},
		"by keys, the same page again":     {list: walk.List[envelope.Item]{Query: rank}, pages: []string{page("1")}, want: []string{"1"}, after: `[1,"1"]`},
		"by counting, the same page again": {list: walk.List[envelope.Item]{Skip: true}, pages: []string{page("1", "2")}, want: []string{"1", "2"}, after: "2"},
	}
	for name, tc := range tests {
		t.Run("P17 "+name, func(t *testing.T) {
			s := bodies(tc.pages...)
			tc.list.Client, tc.list.URL = s.client(), listURL
			got, err := collect(tc.list.All(t.Context()))
			var stopped *walk.Error
			if !errors.Is(err, walk.ErrStalled) || !errors.As(err, &stopped) || stopped.After != tc.after {
				t.Errorf("got %#v", err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if len(s.requests) > len(tc.pages)+1 {
				t.Errorf("%d requests", len(s.requests))
			}
		})
	}
}

// endless is a body that does not stop.
type endless struct{ read, closed int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return copy(p, strings.Repeat(" ", len(p))), nil
}

func (e *endless) Close() error { e.closed++; return nil }

func TestBadReplies(t *testing.T) {
	const good = `{"object":"list","data":[{"_id":"1"}],"hasMore":true}`
	tests := map[string]struct {
		body string
		want error
	}{
		"an HTML page":     {`<!doctype html><p>Sign in`, envelope.ErrNotJSON},
		"a truncated page": {`{"object":"list","data":[{"_id":"2"},{"_id":"3"`, envelope.ErrTruncated},
		"another object":   {`{"object":"record","_id":"2"}`, envelope.ErrShape},
		"nothing":          {``, envelope.ErrTruncated},
	}
	for name, tc := range tests {
		t.Run("P18 "+name, func(t *testing.T) {
			list := walk.List[envelope.Item]{Client: bodies(good, tc.body).client(), URL: listURL}
			got, err := collect(list.All(t.Context()))
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff([]string{"1"}, got); diff != "" {
				t.Errorf("part of a page was given out:\n%s", diff)
			}
		})
	}

	t.Run("P18 a body without end", func(t *testing.T) {
		body := new(endless)
		s := &script{replies: []func(*http.Request) (*http.Response, error){
			func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 200, Body: body}, nil },
		}}
		_, err := collect(walk.List[envelope.Item]{Client: s.client(), URL: listURL}.All(t.Context()))
		if !errors.Is(err, envelope.ErrTooLarge) || body.read > 33<<20 || body.closed != 1 {
			t.Errorf("%v after %d bytes, closed %d times", err, body.read, body.closed)
		}
	})

	t.Run("P18 a fault, whatever the status", func(t *testing.T) {
		const fault = `{"object":"fault","errCode":"service.accessDenied.scope","status":403,"code":"kAccessDenied"}`
		for _, status := range []int{200, 400, 403, 500} {
			s := &script{replies: []func(*http.Request) (*http.Response, error){
				func(*http.Request) (*http.Response, error) { return raw(status, fault), nil },
			}}
			_, err := collect(walk.List[envelope.Item]{Client: s.client(), URL: listURL}.All(t.Context()))
			var got *envelope.Fault
			if !errors.As(err, &got) || got.Detail != "accessDenied.scope" {
				t.Errorf("%d: %v", status, err)
			}
		}
	})

	t.Run("a list with another status is no list", func(t *testing.T) {
		s := &script{replies: []func(*http.Request) (*http.Response, error){
			func(*http.Request) (*http.Response, error) { return raw(404, good), nil },
		}}
		_, err := collect(walk.List[envelope.Item]{Client: s.client(), URL: listURL}.All(t.Context()))
		if err == nil || err.Error() != "walk: unexpected status 404" {
			t.Error(err)
		}
	})

	t.Run("a sort key that is no scalar", func(t *testing.T) {
		s := bodies(`{"object":"list","data":[{"_id":"1","rank":{}}],"hasMore":true}`)
		list := walk.List[envelope.Item]{Client: s.client(), URL: listURL, Query: paging.Query{Sort: []paging.Key{{Path: "rank"}}}}
		if got, err := collect(list.All(t.Context())); err == nil || got != nil {
			t.Errorf("%v, %v", got, err)
		}
	})

	t.Run("a URL that is none", func(t *testing.T) {
		for _, u := range []string{"", ":", "http://platform.test/%zz"} {
			if _, err := collect(walk.List[envelope.Item]{URL: u}.All(t.Context())); err == nil {
				t.Errorf("%q accepted", u)
			}
		}
	})
}

// TestNoNumberIsRounded pages by values that no float64 has.
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

func TestRedirectsStay(t *testing.T) {
	var leaked []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked = append(leaked, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL+"/here", http.StatusTemporaryRedirect)
		case "/moved":
			http.Redirect(w, r, "/here?"+r.URL.RawQuery, http.StatusTemporaryRedirect)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusTemporaryRedirect)
		default:
			_, _ = io.WriteString(w, `{"object":"list","data":[{"_id":"1"}]}`)
		}
	}))
	defer here.Close()

	client := &http.Client{Transport: authorize{here.Client().Transport}}
	for path, want := range map[string]bool{"/away": false, "/moved": true, "/loop": false, "/here": true} {
		list := walk.List[envelope.Item]{Client: client, URL: here.URL + path}
		if _, err := collect(list.All(t.Context())); (err == nil) != want {
			t.Errorf("P19 %s: %v", path, err)
		}
	}
	if leaked != nil {
		t.Errorf("P19 a credential left: %q", leaked)
	}

	refusing := *client
	refusing.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	list := walk.List[envelope.Item]{Client: &refusing, URL: here.URL + "/moved"}
	if _, err := collect(list.All(t.Context())); err == nil || err.Error() != "walk: unexpected status 307" {
		t.Errorf("the client's own rule was passed over: %v", err)
	}
}

// authorize is a transport that presents its credential to any host.
type authorize struct{ http.RoundTripper }

func (a authorize) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer secret")
	return a.RoundTripper.RoundTrip(r)
}

func TestRetry(t *testing.T) {
	busy := func(status int, retryAfter string) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) {
			r := raw(status, `{"object":"fault","errCode":"service.tooBusy.storeFull","status":503}`)
			r.Header.Set("Retry-After", retryAfter)
			return r, nil
		}
	}
	date := func(ahead time.Duration) func(*http.Request) (*http.Response, error) {
		return func(r *http.Request) (*http.Response, error) {
			return busy(503, time.Now().Add(ahead).UTC().Format(http.TimeFormat))(r)
		}
	}
	good := func(*http.Request) (*http.Response, error) {
		return raw(200, `{"object":"list","data":[{"_id":"1"}]}`), nil
	}
	type replies = []func(*http.Request) (*http.Response, error)

	tests := map[string]struct {
		replies  replies
		requests int
		least    time.Duration
		most     time.Duration
		ok       bool
	}{
		"429 that says when":         {replies{busy(429, "7"), good}, 2, 7 * time.Second, 7250 * time.Millisecond, true},
		"503 that gives a date":      {replies{date(10 * time.Second), good}, 2, 9 * time.Second, 11 * time.Second, true},
		"a date that has passed":     {replies{date(-time.Hour), good}, 2, 0, time.Second, true},
		"502 and 504 say nothing":    {replies{busy(502, ""), busy(504, ""), good}, 3, 0, time.Second, true},
		"what is no time":            {replies{busy(503, "-5"), good}, 2, 0, time.Second, true},
		"busy for ever":              {replies{busy(503, "1")}, 5, 4 * time.Second, 9 * time.Second, false},
		"a longer wait than we have": {replies{busy(503, "3600"), good}, 1, 0, 0, false},
		"an hour from now":           {replies{date(time.Hour), good}, 1, 0, 0, false},
		"403 is final":               {replies{busy(403, "1"), good}, 1, 0, 0, false},
		"500 is final":               {replies{busy(500, "1"), good}, 1, 0, 0, false},
	}
	for name, tc := range tests {
		t.Run("P19 "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{replies: tc.replies}
				start := time.Now()
				_, err := collect(walk.List[envelope.Item]{Client: s.client(), URL: listURL}.All(t.Context()))
				took := time.Since(start)
				if (err == nil) != tc.ok || len(s.requests) != tc.requests {
					t.Errorf("%d requests, %v", len(s.requests), err)
				}
				if took < tc.least || took > tc.most {
					t.Errorf("took %v", took)
				}
				var fault *envelope.Fault
				if !tc.ok && (!errors.As(err, &fault) || fault.Detail != "tooBusy.storeFull") {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestEachAttemptIsSignedAnew counts what a signing transport is asked for.
func TestEachAttemptIsSignedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{replies: []func(*http.Request) (*http.Response, error){
			func(*http.Request) (*http.Response, error) { return raw(503, ``), nil },
			func(*http.Request) (*http.Response, error) { return raw(200, `{"object":"list","data":[]}`), nil },
		}}
		signer := &nonces{next: s}
		list := walk.List[envelope.Item]{Client: &http.Client{Transport: signer}, URL: listURL}
		if _, err := collect(list.All(t.Context())); err != nil {
			t.Fatal(err)
		}
		a, b := s.requests[0].Header.Get("Nonce"), s.requests[1].Header.Get("Nonce")
		if a == b {
			t.Errorf("P19 both attempts carry %s", a)
		}
	})
}

type nonces struct {
	next http.RoundTripper
	n    int
}

func (s *nonces) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	s.n++
	r.Header.Set("Nonce", fmt.Sprint(s.n))
	return s.next.RoundTrip(r)
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which fails when a goroutine is left
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := numbered(10)
		list := walk.List[record]{Client: s.client(), URL: listURL, PageSize: 2}
		var got []string
		var last error
		for item, err := range list.All(ctx) {
			if err != nil {
				last = err
				continue
			}
			if got = append(got, item.ID); len(got) == 3 {
				cancel()
			}
		}
		var stopped *walk.Error
		if !errors.Is(last, context.Canceled) || !errors.As(last, &stopped) || stopped.After != "003" {
			t.Errorf("P19 %#v", last)
		}
		if len(got) != 4 { // what had arrived is given out
			t.Errorf("P19 %v", got)
		}
	})

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s := &script{replies: []func(*http.Request) (*http.Response, error){func(*http.Request) (*http.Response, error) {
			r := raw(503, ``)
			r.Header.Set("Retry-After", "30")
			return r, nil
		}}}
		start := time.Now()
		_, err := collect(walk.List[record]{Client: s.client(), URL: listURL}.All(ctx))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("P19 waiting: %v after %v", err, time.Since(start))
		}
	})
}
