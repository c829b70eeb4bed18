package main

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/walk"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// wireMessage is a message as clients see it.
type wireMessage struct {
	envelope.Item
	Text  string `json:"c_text"`
	Likes *int64 `json:"c_likes"`
	Sent  string `json:"c_sent"`
}

// walked returns a walk through the messages of the demo org, with signed requests.
func (s *server) walked(path string, through http.RoundTripper) walk.List[wireMessage] {
	base := s.BaseURL + "/" + s.Org + "/v2"
	return walk.List[wireMessage]{
		Client: &http.Client{Transport: &signing.Transport{
			BaseURL: base, ClientKey: s.ClientKey, Secret: signing.Secret(s.ClientSecret), Base: through,
		}},
		URL:   base + path,
		Query: paging.Query{Paths: []string{"c_text", "c_likes", "c_sent"}},
	}
}

// seeded returns the demo messages as they were made, without the server.
func seeded() []*object {
	d := demoObjects{acme, 2500, 40, 60, []string{
		demoID(acme, "account", 1), demoID(acme, "account", 2), demoID(acme, "account", 3),
	}}
	var all []*object
	for n := range d.messages {
		all = append(all, d.message(n))
	}
	return all
}

func idsOf(objects []*object) (ids []string) {
	for _, o := range objects {
		ids = append(ids, o.ID)
	}
	return ids
}

func walkedIDs(t *testing.T, list iter.Seq2[wireMessage, error]) (ids []string) {
	t.Helper()
	for m, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.ID)
	}
	return ids
}

func TestWalk(t *testing.T) {
	t.Parallel()
	s := start(t)
	all := seeded()
	byLikes := func(a, b *object) int { // most liked first, null last
		likes := func(o *object) int64 {
			if n, ok := o.Values["c_likes"].(int64); ok {
				return n
			}
			return -1
		}
		return cmp.Or(-cmp.Compare(likes(a), likes(b)), cmp.Compare(a.ID, b.ID))
	}
	for _, test := range []struct {
		name  string
		query func(l *walk.List[wireMessage])
		want  []*object
	}{
		{"by _id", func(*walk.List[wireMessage]) {}, all},
		{"by _id, in pages of 333", func(l *walk.List[wireMessage]) { l.Query.Limit = 333 }, all},
		{"by likes, ties and missing ones among them", func(l *walk.List[wireMessage]) {
			l.Query.Limit = 300
			l.Query.Sort = []paging.Key{{Path: "c_likes", Desc: true}}
		}, slices.SortedFunc(slices.Values(all), byLikes)},
		{"of what a filter leaves", func(l *walk.List[wireMessage]) {
			l.Query.Where = paging.And(paging.Eq("c_pinned", true), paging.Gt("c_sent", "2026-01-03T00:00:00.000Z"))
		}, slices.DeleteFunc(slices.Clone(all), func(o *object) bool {
			return o.Values["c_pinned"] != true || o.Values["c_sent"].(string) <= "2026-01-03T00:00:00.000Z"
		})},
	} {
		t.Run(test.name, func(t *testing.T) {
			list := s.walked("/c_messages", nil)
			test.query(&list)
			if diff := gocmp.Diff(idsOf(test.want), walkedIDs(t, list.All(t.Context()))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("items have what was asked for", func(t *testing.T) {
		list := s.walked("/c_messages", nil)
		n := 0
		for m, err := range list.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			o := all[n]
			likes, liked := o.Values["c_likes"].(int64)
			if m.Text != o.Values["c_text"] || m.Sent != o.Values["c_sent"] || liked != (m.Likes != nil) || liked && likes != *m.Likes {
				t.Fatalf("item %d is %+v, want %v", n, m, o.Values)
			}
			n++
		}
	})
}

func TestWalkOfNestedLists(t *testing.T) {
	t.Parallel()
	s := start(t)
	all, filed := seeded(), 0
	for n := range 40 {
		want := all[filed:min(filed+conversationSize(n), len(all))]
		filed += len(want)
		one := "/c_conversations/" + demoID(acme, "c_conversation", n+1)

		whole := s.do(t, call{path: one + "?paths[]=c_messages&c_messages.limit=20"}).ok(t)
		var first envelope.List[wireMessage]
		nested := whole["c_messages"].(value)
		first.HasMore = nested["hasMore"] == true
		for _, item := range nested["data"].([]any) {
			first.Data = append(first.Data, wireMessage{Item: envelope.Item{ID: item.(value)["_id"].(string)}})
		}
		got := walkedIDs(t, itemsOf(first))
		if first.HasMore {
			list := s.walked(one, nil)
			list.Property, list.Query.Limit, list.After = "c_messages", 50, got[len(got)-1]
			got = append(got, walkedIDs(t, list.All(t.Context()))...)
		}
		if diff := gocmp.Diff(idsOf(want), got); diff != "" {
			t.Errorf("conversation %d, prefixed arguments (-want +got):\n%s", n, diff)
		}

		route := s.walked(one+"/c_messages", nil)
		if diff := gocmp.Diff(idsOf(want), walkedIDs(t, route.All(t.Context()))); diff != "" {
			t.Errorf("conversation %d, route of its own (-want +got):\n%s", n, diff)
		}
	}
}

func itemsOf(page envelope.List[wireMessage]) iter.Seq2[wireMessage, error] {
	return func(yield func(wireMessage, error) bool) {
		for _, m := range page.Data {
			if !yield(m, nil) {
				return
			}
		}
	}
}

// failing lets a number of requests through, and fails all later ones.
type failing struct{ left int }

var errInjected = errors.New("the cable is cut")

func (f *failing) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.left == 0 {
		return nil, errInjected
	}
	f.left--
	return http.DefaultTransport.RoundTrip(r)
}

func TestWalkResumes(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, sort := range [][]paging.Key{nil, {{Path: "c_likes"}, {Path: "c_meta.lang", Desc: true}}} {
		t.Run(fmt.Sprint("sort ", sort), func(t *testing.T) {
			whole := s.walked("/c_messages", nil)
			whole.Query.Sort, whole.Query.Limit = sort, 1000
			want := walkedIDs(t, whole.All(t.Context()))

			cut := whole
			cut.Client, cut.Query.Limit = s.walked("", &failing{left: 3}).Client, 100
			var got []string
			for m, err := range cut.All(t.Context()) {
				if stopped, ok := errors.AsType[*walk.Error](err); ok {
					if !errors.Is(err, errInjected) {
						t.Fatal(err)
					}
					whole.After = stopped.After
					break
				}
				got = append(got, m.ID)
			}
			if len(got) != 300 || whole.After == "" {
				t.Fatalf("%d items, then after %q", len(got), whole.After)
			}
			got = append(got, walkedIDs(t, whole.All(t.Context()))...)
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNarrowTokenWalks walks with a token that reads one property.
func TestNarrowTokenWalks(t *testing.T) {
	t.Parallel()
	s := start(t)
	list := s.walked("/c_messages", nil)
	list.Client = &http.Client{Transport: &token.Transport{
		BaseURL: s.BaseURL + "/" + s.Org + "/v2",
		Source:  token.Token(s.NarrowToken),
	}}
	n := 0
	for m, err := range list.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if m.ID != demoID(acme, "c_message", n+1) || m.Text == "" || m.Likes != nil || m.Sent != "" {
			t.Fatalf("P22 item %d is %+v", n, m)
		}
		n++
	}
	if n != 2500 {
		t.Errorf("P22 %d items", n)
	}
	t.Run("but compares nothing else", func(t *testing.T) {
		list.Query.Sort = []paging.Key{{Path: "c_likes"}}
		for _, err := range list.All(t.Context()) {
			fault, ok := errors.AsType[*envelope.Fault](err)
			if !ok || fault.Detail != "invalidArgument.query" {
				t.Errorf("C12 %v", err)
			}
		}
	})
}

// TestListsOfThePlatform checks that lists without objects take the same arguments.
func TestListsOfThePlatform(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 3 {
		s.mint(t, "", wish(s.AccountID, `,"permanent":true`))
	}
	for _, path := range []string{"/apps", "/schemas", s.subjectPath(s.AccountID)} {
		var ids []any
		for _, item := range s.do(t, call{path: path + "?sort=_id"}).ok(t)["data"].([]any) {
			ids = append(ids, item.(value)["_id"])
		}
		last := ids[len(ids)-1]
		reversed := s.do(t, call{path: path + "?limit=1&sort={%22_id%22:-1}"}).ok(t)
		if got := items(t, reversed, len(ids) > 1); got[0].(value)["_id"] != last {
			t.Errorf("%s: %v, want %v", path, got, last)
		}
		found := s.do(t, call{path: fmt.Sprintf("%s?where={%%22_id%%22:{%%22$gte%%22:%%22%s%%22}}", path, last)}).ok(t)
		if got := items(t, found, false); len(got) != 1 {
			t.Errorf("%s: %v", path, got)
		}
		s.refused(t, s.do(t, call{path: path + "?where={%22name%22:1}"}), 400, "invalidArgument.query")
	}
}
