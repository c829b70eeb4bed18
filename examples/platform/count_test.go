package main

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestCounts is P27: a total tells how many objects match of those that the caller may read, and
// compares nothing that the caller may not compare.
func TestCounts(t *testing.T) {
	t.Parallel()
	s := startScoped(t)
	const text = "object.read.c_message.*.c_text"
	one := "/c_conversations/" + conversation3
	var greetings float64
	for skip := range 3 {
		page := s.get(t, fmt.Sprintf("/c_messages?limit=100&skip=%d&paths[]=c_text", skip*100), text).ok(t)
		for _, m := range items(t, page, skip < 2) {
			if strings.HasPrefix(m.(value)["c_text"].(string), "Good morning (1") {
				greetings++
			}
		}
	}
	inConversation := items(t, s.get(t, one+"/c_messages", "").ok(t), false)
	for _, test := range []struct {
		name, path, where string
		total             any
		chains            []string
	}{
		{"everything", "/c_messages", `{}`, float64(fewMessages), []string{""}},
		{"a prefix", "/c_messages", `{"c_text":{"$prefix":"Good morning (1"}}`, greetings, []string{text}},
		{"nothing", "/c_messages", `{"c_text":{"$prefix":"good morning"}}`, 0., []string{text}},
		{"an id of the scope", "/c_messages", `{}`, 1., []string{"object.read.c_message." + message1}},
		{"all ids but those of the scope", "/c_messages", `{"_id":{"$ne":"` + message1 + `"}}`, 0., []string{"object.read.c_message." + message1}},
		{"a list property by itself", one + "/c_messages", `{}`, float64(len(inConversation)), []string{"object.read.c_conversation"}},
	} {
		t.Run("P27 "+test.name, func(t *testing.T) {
			body := s.get(t, test.path+"?count=true&limit=1&where="+url.QueryEscape(test.where), test.chains...).ok(t)
			if diff := cmp.Diff(test.total, body["total"]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for path, reason := range map[string]string{
		`/c_messages?count=true&where={"c_author":"x"}`: "unknown property",
		"/schemas?count=true":                           "cannot be counted",
		one + "?c_messages.count=true":                  "cannot be counted",
		"/c_conversations?c_messages.count=true":        "cannot be counted",
	} {
		t.Run("P27 "+path, func(t *testing.T) {
			escaped := strings.NewReplacer(`"`, "%22", "{", "%7B", "}", "%7D").Replace(path)
			fault := s.refused(t, s.get(t, escaped, text, "object.read.c_conversation"), 400, "invalidArgument.query")
			for _, got := range children(fault) {
				if !strings.HasSuffix(got, reason) {
					t.Errorf("%q", got)
				}
			}
		})
	}
	t.Run("P28 a count that takes too long", func(t *testing.T) {
		s.platform.store.pages.CountTime = time.Nanosecond
		fault := s.refused(t, s.get(t, "/c_messages?count=true", ""), 400, "invalidArgument.query")
		if diff := cmp.Diff(map[string]string{"count": "takes too long; leave it out, or narrow where"}, children(fault)); diff != "" {
			t.Error(diff)
		}
		s.get(t, "/c_messages", "").ok(t)
	})
}
