package main

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLinks follows the Link headers of a list to its end, for a caller of a narrow scope.
func TestLinks(t *testing.T) {
	t.Parallel()
	s := startScoped(t)
	const author = "object.read.c_message.*.c_author"
	chains := []string{author, "object.read.c_message.*.c_sent", "object.read.c_message.*.c_likes", "object.read.c_message.*.c_meta.lang"}
	for _, sort := range []string{`{}`, `{"_id":-1}`, `{"c_likes":-1}`, `{"c_meta.lang":1,"c_sent":-1}`, `{"object":1}`} {
		t.Run(sort, func(t *testing.T) {
			query := url.Values{"sort": {sort}, "where": {`{"c_author":{"$ne":"x"}}`}, "limit": {"100"}}.Encode()
			var got, want []string
			for query != "" {
				reply := s.get(t, "/c_messages?"+query, chains...)
				query = nextQuery(t, reply.header.Get("Link"))
				got = append(got, listed(t, reply, query != "")...)
			}
			for _, skip := range []string{"0", "100", "200"} {
				page := s.get(t, "/c_messages?limit=100&skip="+skip+"&sort="+url.QueryEscape(sort), chains...)
				want = append(want, listed(t, page, skip != "200")...)
			}
			if diff := cmp.Diff(want, got); diff != "" || len(slices.Compact(slices.Sorted(slices.Values(got)))) != fewMessages {
				t.Errorf("%d objects (-want +got):\n%s", len(got), diff)
			}
		})
	}
	for name, reply := range map[string]answer{
		"the last page": s.get(t, "/c_messages?limit=100&skip=200", chains...),
		"a refusal":     s.get(t, "/c_messages?limit=0", chains...),
		"a view":        s.get(t, "/views/messages?limit=1", ""),
	} {
		if link := reply.header.Get("Link"); link != "" {
			t.Errorf("%s has the link %s", name, link)
		}
	}
}

// nextQuery returns the query of a link.
func nextQuery(t *testing.T, link string) string {
	t.Helper()
	if link == "" {
		return ""
	}
	query, ok := strings.CutPrefix(link, "<http://127.0.0.1/acme/v2/c_messages?")
	query, rest, _ := strings.Cut(query, ">")
	if !ok || rest != `; rel="next"` || strings.Contains(query, "acme") {
		t.Fatalf("link %q", link)
	}
	return query
}
