package main

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestList(t *testing.T) {
	t.Parallel()
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
	t.Run("a page has 100 items without a limit", func(t *testing.T) {
		if got := len(list(t, "/c_messages", true)); got != 100 {
			t.Errorf("%d items without a limit", got)
		}
	})
	t.Run("P20 a page beyond the end is empty, and not null", func(t *testing.T) {
		got := s.do(t, call{path: "/connections?skip=60"})
		if want := `{"object":"list","data":[],"hasMore":false}`; got.text != want {
			t.Errorf("got %s", got.text)
		}
	})
}

var escapedText = strings.NewReplacer("٥", url.QueryEscape("٥"), `"`, "%22", "{", "%7B", "}", "%7D")

func TestListRefusals(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, test := range []struct {
		name, query string
		want        map[string]string // a part of the reason, by path
	}{
		{"P01 limit 0", "limit=0", map[string]string{"limit": "positive integer"}},
		{"P01 limit 1.0", "limit=1.0", map[string]string{"limit": "positive integer"}},
		{"P02 limit twice", "limit=5&limit=5", map[string]string{"limit": "more than once"}},
		{"P03 skip -1", "skip=-1", map[string]string{"skip": "non-negative integer"}},
		{"P03 skip 10^9", "skip=1000000000", map[string]string{"skip": "sort by _id"}},
		{"P02 where in brackets", "where[c_likes]=1", map[string]string{"where[c_likes]": "did you mean where?"}},
		{"P05 where null", "where=null", map[string]string{"where": "object"}},
		{"P07 where on a hidden property", `where={"c_secret":"x"}`, map[string]string{"where": "/c_secret: unknown property"}},
		{"P07 where on an unknown property", `where={"c_nope":"x"}`, map[string]string{"where": "/c_nope: unknown property"}},
		{"P07 sort by a hidden property", "sort=c_secret", map[string]string{"sort": "unknown property"}},
		{"P07 sort by an unknown property", "sort=c_nope", map[string]string{"sort": "unknown property"}},
		{"P09 a sort of 0", `sort={"c_likes":0}`, map[string]string{"sort": "1 or -1"}},
		{"sort by what is not sortable", "sort=c_text", map[string]string{"sort": "cannot be sorted by"}},
		{"where on a list property", `where={"c_messages":null}`, map[string]string{"where": "unknown property"}},
		{"an argument of a list that is not there", "c_nope.limit=1", map[string]string{"c_nope.limit": "unknown property"}},
		{"P11 another org", `where={"org":"globex"}`, map[string]string{"where": "/org: unknown property"}},
		{"all that is wrong, at once", "limit=0&skip=x&where=[]", map[string]string{"limit": "positive", "skip": "non-negative", "where": "object"}},
		{"P05 a malformed escape", "limit=5&paths[]=%zz", map[string]string{"": "malformed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			// The plus and the bad escape must reach the server as they are.
			got := s.do(t, call{path: "/c_messages?" + escapedText.Replace(test.query)})
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
		got := s.do(t, call{path: "/c_conversations?c_messages.limit=0&c_messages.sort=c_secret"})
		want := map[string]string{"c_messages.limit": "must be a positive integer", "c_messages.sort": "unknown property"}
		if diff := cmp.Diff(want, children(s.refused(t, got, 400, "invalidArgument.query"))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestSchemas(t *testing.T) {
	t.Parallel()
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
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	t.Run("are what the demo promises", func(t *testing.T) {
		var lines []string
		for _, item := range got {
			for _, p := range item.(value)["properties"].([]any) {
				p := p.(value)
				lines = append(lines, fmt.Sprint(item.(value)["_id"], " ", p["fqpp"], " ", p["type"], " ", p["filterable"], " ", p["sortable"]))
			}
		}
		want := []string{
			"c_conversation c_title string true true",
			"c_conversation c_messages list false false",
			"c_message c_text string true false",
			"c_message c_author string true true",
			"c_message c_likes integer true true",
			"c_message c_sent date true true",
			"c_message c_pinned boolean true false",
			"c_message c_meta.lang string true true",
			"connection target string true true",
			"connection access integer true true",
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
