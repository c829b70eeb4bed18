package main

import (
	"fmt"
	"iter"
	"net/http"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/walk"
	"github.com/tenantkit/tenantkit/signing"
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
func seeded(messages int) []*object {
	return demoObjects(acme, messages, 0, 0, ada, mia, theo)
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

func TestWalkOfNestedLists(t *testing.T) {
	t.Parallel()
	s := start(t)
	all, filed := seeded(fewMessages), 0
	for n := range 4 {
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
