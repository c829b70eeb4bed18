package main

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestList(t *testing.T) {
	s := start(t)
	list := func(t *testing.T, path string, more bool) []any {
		t.Helper()
		return items(t, s.do(t, call{path: path}).ok(t), more)
	}

	t.Run("P21 items without paths[] carry _id and object", func(t *testing.T) {
		got := list(t, "/c_messages?limit=2", true)
		want := []any{
			value{"_id": demoID(acme, "c_message", 1), "object": "c_message"},
			value{"_id": demoID(acme, "c_message", 2), "object": "c_message"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("items carry what paths[] asks for and no more", func(t *testing.T) {
		got := list(t, "/c_messages?limit=1&skip=10&paths[]=c_text&paths[]=c_meta.lang", true)
		want := []any{value{
			"_id": demoID(acme, "c_message", 11), "object": "c_message",
			"c_text": "Is the report ready? (10)", "c_meta": value{"lang": nil},
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("a path asks for all that is below it", func(t *testing.T) {
		item := list(t, "/c_messages?limit=1&paths[]=c_meta", true)[0].(value)
		if diff := cmp.Diff(value{"lang": "en"}, item["c_meta"]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("a property without a value is left out", func(t *testing.T) {
		item := list(t, "/c_messages?limit=1&skip=6&paths[]=c_likes", true)[0].(value)
		if likes, ok := item["c_likes"]; ok {
			t.Errorf("c_likes is %v", likes)
		}
	})
	t.Run("hidden and unknown paths ask for nothing", func(t *testing.T) {
		for _, path := range []string{"c_secret", "no_such", "c_textual", "c_meta.", "", "__proto__"} {
			item := list(t, "/c_messages?limit=1&paths[]="+path, true)[0].(value)
			if len(item) != 2 {
				t.Errorf("paths[]=%s answers %v", path, item)
			}
		}
	})
	t.Run("a page has 100 items without a limit, and 1000 at most", func(t *testing.T) {
		if got := len(list(t, "/c_messages", true)); got != 100 {
			t.Errorf("%d items without a limit", got)
		}
		if got := len(list(t, "/c_messages?limit=5000", true)); got != 1000 {
			t.Errorf("%d items with limit=5000", got)
		}
	})
	t.Run("pages put together are the whole list, in order", func(t *testing.T) {
		var ids []string
		for _, page := range []struct {
			skip string
			more bool
		}{{"0", true}, {"1000", true}, {"2000", false}} {
			for _, item := range list(t, "/c_messages?limit=1000&skip="+page.skip, page.more) {
				ids = append(ids, item.(value)["_id"].(string))
			}
		}
		for n, id := range ids {
			if id != demoID(acme, "c_message", n+1) {
				t.Fatalf("item %d is %s", n, id)
			}
		}
		if len(ids) != 2500 {
			t.Errorf("%d items", len(ids))
		}
	})
	t.Run("P20 a page beyond the end is empty, and not null", func(t *testing.T) {
		got := s.do(t, call{path: "/connections?skip=60"})
		if want := `{"object":"list","data":[],"hasMore":false}`; got.text != want {
			t.Errorf("got %s", got.text)
		}
	})
	t.Run("a page that ends with the list has no more", func(t *testing.T) {
		list(t, "/connections?limit=60", false)
		list(t, "/connections?limit=59", true)
	})
	t.Run("a list property is a list of its own, with its own arguments", func(t *testing.T) {
		one := "/c_conversations/" + demoID(acme, "c_conversation", 2)
		got := s.do(t, call{path: one + "?paths[]=c_messages.c_text&c_messages.limit=1&c_messages.skip=1"}).ok(t)
		want := value{"_id": demoID(acme, "c_conversation", 2), "object": "c_conversation", "c_messages": value{
			"object": "list", "hasMore": true,
			"data": []any{value{"_id": demoID(acme, "c_message", 2), "object": "c_message", "c_text": "Is the report ready? (1)"}},
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		whole := s.do(t, call{path: one + "?paths[]=c_messages&c_messages.limit=1000"}).ok(t)
		if got := len(items(t, whole["c_messages"].(value), false)); got != 250 {
			t.Errorf("%d items", got)
		}
	})
	t.Run("a list property without items is an empty list", func(t *testing.T) {
		got := list(t, "/c_conversations?limit=1&paths[]=c_messages", true)[0].(value)
		if diff := cmp.Diff(value{"object": "list", "data": []any{}, "hasMore": false}, got["c_messages"]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestListRefusals(t *testing.T) {
	s := start(t)
	for _, test := range []struct {
		name, query string
		want        map[string]string // a part of the reason, by path
	}{
		{"P01 limit 0", "limit=0", map[string]string{"limit": "1 or more"}},
		{"P01 limit -1", "limit=-1", map[string]string{"limit": "1 or more"}},
		{"P01 limit of 2^63", "limit=9223372036854775808", map[string]string{"limit": "1 or more"}},
		{"P01 limit 1.0", "limit=1.0", map[string]string{"limit": "whole"}},
		{"P01 empty limit", "limit=", map[string]string{"limit": "whole"}},
		{"P01 limit abc", "limit=abc", map[string]string{"limit": "whole"}},
		{"P01 limit with a plus", "limit=%2B5", map[string]string{"limit": "whole"}},
		{"P01 limit with a space", "limit=+5", map[string]string{"limit": "whole"}},
		{"P01 limit in other digits", "limit=٥", map[string]string{"limit": "whole"}},
		{"limit with a leading zero", "limit=05", map[string]string{"limit": "whole"}},
		{"P02 limit twice", "limit=5&limit=5", map[string]string{"limit": "more than once"}},
		{"P03 skip -1", "skip=-1", map[string]string{"skip": "0 or more"}},
		{"P03 skip 10^9", "skip=1000000000", map[string]string{"skip": "10000"}},
		{"where is never ignored", "where={}", map[string]string{"where": "not served"}},
		{"sort is never ignored", "sort=_id", map[string]string{"sort": "not served"}},
		{"101 paths", strings.Repeat("&paths[]=c_text", 101)[1:], map[string]string{"paths[]": "100"}},
		{"all that is wrong, at once", "limit=0&skip=x&where={}", map[string]string{"limit": "1 or more", "skip": "whole", "where": "not served"}},
		{"P05 a malformed escape", "limit=5&paths[]=%zz", map[string]string{}},
		{"P05 a semicolon", "limit=5;skip=1", map[string]string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			// The space and the digits must reach the server as they are.
			got := s.do(t, call{path: "/c_messages?" + strings.ReplaceAll(test.query, "٥", url.QueryEscape("٥"))})
			reasons := children(s.refused(t, got, 400, "invalidArgument.query"))
			if len(reasons) != len(test.want) {
				t.Errorf("got %v, want %v", reasons, test.want)
			}
			for path, want := range test.want {
				if !strings.Contains(reasons[path], want) {
					t.Errorf("%s: %q, want %q", path, reasons[path], want)
				}
			}
		})
	}
	t.Run("arguments of a list property, too", func(t *testing.T) {
		got := s.do(t, call{path: "/c_conversations?c_messages.limit=0&c_messages.where={}"})
		want := map[string]string{"c_messages.limit": "must be a whole number of 1 or more", "c_messages.where": "not served"}
		if diff := cmp.Diff(want, children(s.refused(t, got, 400, "invalidArgument.query"))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestSchemas(t *testing.T) {
	s := start(t)
	body := s.do(t, call{path: "/schemas"})
	if strings.Contains(body.text, "c_secret") {
		t.Error("a hidden property is shown")
	}
	got := items(t, body.ok(t), false)
	if len(got) != 3 {
		t.Fatalf("%d schemas", len(got))
	}
	want := value{"_id": "c_conversation", "object": "schema", "plural": "c_conversations", "properties": []any{
		value{"name": "c_title", "fqpp": "c_title", "type": "string", "filterable": true, "sortable": true},
		value{"name": "c_messages", "fqpp": "c_messages", "type": "list", "filterable": false, "sortable": false, "list": "c_message"},
	}}
	if diff := cmp.Diff(want, got[1]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	items(t, s.do(t, call{path: "/schemas?limit=2"}).ok(t), true)
	s.refused(t, s.do(t, call{path: "/schemas?limit=x"}), 400, "invalidArgument.query")
}
