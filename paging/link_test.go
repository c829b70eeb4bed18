package paging_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const listURL = "https://api.example.com/acme/v2/c_messages"

// item returns the properties of an item, for a link.
func item(properties map[string]any) func(string) (any, bool) {
	return func(path string) (any, bool) {
		value, ok := properties[path]
		return value, ok
	}
}

// linked returns the parameters of a link, or nil without one.
func linked(t *testing.T, link string) url.Values {
	t.Helper()
	if link == "" {
		return nil
	}
	target, ok := strings.CutPrefix(link, "<"+listURL+"?")
	raw, rest, found := strings.Cut(target, ">")
	if !ok || !found || rest != `; rel="next"` || strings.ContainsAny(raw, "<\"\r\n ,;{}") {
		t.Fatalf("link %q", link)
	}
	parameters, err := url.ParseQuery(raw)
	if err != nil {
		t.Fatal(err)
	}
	return parameters
}

func TestNextLink(t *testing.T) {
	last := map[string]any{"_id": "5f2b", "c_likes": 7, "c_sent": time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "c_text": `a"<b>`}
	for query, want := range map[string]url.Values{
		"": {"where": {`{"_id":{"$gt":"5f2b"}}`}},
		"limit=5&skip=7&count=false&paths[]=c_text&paths[]=c_likes&status=%3Copen%3E": {
			"limit": {"5"}, "paths[]": {"c_text", "c_likes"}, "status": {"<open>"}, "where": {`{"_id":{"$gt":"5f2b"}}`}},
		`where={"c_likes":{"$gte":5}}&connections.limit=2`: {"connections.limit": {"2"},
			"where": {`{"$and":[{"c_likes":{"$gte":5}},{"_id":{"$gt":"5f2b"}}]}`}},
		`where={"_id":{"$gt":"11"}}`: {"where": {`{"_id":{"$gt":"5f2b"}}`}},
		`sort={"_id":-1}&where={"c_text":{"$prefix":"a"}}`: {"sort": {`{"_id":-1}`},
			"where": {`{"$and":[{"c_text":{"$gte":"a"}},{"c_text":{"$lt":"b"}},{"_id":{"$lt":"5f2b"}}]}`}},
		`sort={"c_sent":1}`: {"sort": {`{"c_sent":1}`}, "where": {
			`{"$or":[{"c_sent":{"$gt":"2026-01-02T03:04:05.000Z"}},{"$and":[{"c_sent":"2026-01-02T03:04:05.000Z"},{"_id":{"$gt":"5f2b"}}]}]}`}},
		`sort=c_likes`: {"sort": {`c_likes`}, "where": {`{"$or":[{"c_likes":{"$gt":7}},{"$and":[{"c_likes":7},{"_id":{"$gt":"5f2b"}}]}]}`}},
		// No link: what was refused, and what would be too long or too deep.
		"limit=0": nil,
		where(`{"c_text":"` + strings.Repeat("x", 2000) + `"}`):                                       nil,
		where(strings.Repeat(`{"c_likes":1,"$nor":[`, 6) + `{"c_likes":2}` + strings.Repeat(`]}`, 6)): nil,
	} {
		t.Run(query, func(t *testing.T) {
			if diff := cmp.Diff(want, linked(t, messages.NextLink(listURL, query, item(last)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestALinkCannotBeLeft is P29: no part of a request or of an item ends the link, or its header.
func TestALinkCannotBeLeft(t *testing.T) {
	const hostile = "\">, <https://evil.example>; rel=\"next\r\nSet-Cookie: a=b"
	query := url.Values{"status": {hostile}, hostile: {"a"}, "sort": {"c_author"}, "where": {`{"c_text":{"$ne":"\u003e\u0022<>;"}}`}}.Encode()
	got := linked(t, messages.NextLink(listURL, query, item(map[string]any{"_id": hostile, "c_author": hostile})))
	if got.Get("status") != hostile || got.Get(hostile) != "a" {
		t.Errorf("P29 %v", got)
	}
}

func TestNoNextLink(t *testing.T) {
	for name, tc := range map[string]struct {
		list string
		item map[string]any
	}{
		"no URL":           {":", map[string]any{"_id": "a"}},
		"an array":         {listURL, map[string]any{"_id": "a", "c_likes": []any{1}}},
		"no _id":           {listURL, map[string]any{"c_likes": 1}},
		"no text":          {listURL, map[string]any{"_id": "a\xff"}},
		"NUL":              {listURL, map[string]any{"_id": "a\x00"}},
		"a long value":     {listURL, map[string]any{"_id": strings.Repeat("é", 400)}},
		"an _id that is 5": {listURL, map[string]any{"_id": 5}},
	} {
		if link := messages.NextLink(tc.list, "sort=c_likes", item(tc.item)); link != "" {
			t.Errorf("%s: %s", name, link)
		}
	}
}

// FuzzNextLink looks for a link that says something else than its request.
func FuzzNextLink(f *testing.F) {
	for _, seed := range append(hostileQueries, `q=%3E%0D%0ASet-Cookie:&limit=5`, `sort={"c_sent":-1}&where={"c_text":{"$prefix":"\u003e"}}`, `status=a&status=%ff`) {
		f.Add(seed, "5f2b", "a")
	}
	f.Add("sort=c_text", "\"><\r\n", ">;")
	f.Fuzz(func(t *testing.T, raw, id, text string) {
		q, wrong := messages.Parse(raw, everything)
		link := messages.NextLink(listURL, raw, item(map[string]any{"_id": id, "c_text": text, "c_likes": 5}))
		if link == "" {
			return
		}
		if wrong != nil {
			t.Fatalf("%q is refused, and has the link %s", raw, link)
		}
		sent, _ := url.ParseQuery(raw)
		got := linked(t, link)
		next, err := messages.Parse(got.Encode(), everything)
		if err != nil {
			t.Fatal(err)
		}
		if next.Skip != 0 || next.CountTo != 0 || next.Limit != q.Limit || !cmp.Equal(next.Sort, q.Sort) || len(next.Lists) != len(q.Lists) {
			t.Fatalf("%q became %q", raw, got)
		}
		for _, parameters := range []url.Values{sent, got} {
			for _, name := range []string{"where", "skip", "count"} {
				parameters.Del(name)
			}
		}
		if diff := cmp.Diff(sent, got); diff != "" {
			t.Fatal(diff)
		}
	})
}
