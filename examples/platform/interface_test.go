package main

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tests of this file send requests to a listening server, and check limits and
// refusals that INTERFACE.md states.

// repeated returns a text n times, separated by commas.
func repeated(n int, text string) string {
	return strings.TrimSuffix(strings.Repeat(text+",", n), ",")
}

// expect checks the status and the detail of a refusal.
func (s *server) expect(t *testing.T, got answer, detail string) {
	t.Helper()
	if detail == "" {
		got.ok(t)
		return
	}
	s.refused(t, got, 400, detail)
}

func TestBoundsOfAWhere(t *testing.T) {
	t.Parallel()
	s := start(t)
	text := func(n int) string { return `{"c_text":"` + strings.Repeat("x", n-len(`{"c_text":""}`)) + `"}` }
	fourteen := func(inner string) string { return strings.Repeat(`{"$and":[`, 7) + inner + strings.Repeat(`]}`, 7) }
	const exists = `{"c_likes":{"$exists":true}}`
	for _, test := range []struct {
		name, where string
		good        bool
	}{
		{"8 KiB", text(8 << 10), true},
		{"a byte more", text(8<<10 + 1), false},
		{"16 levels", fourteen(`{"c_likes":{"$gt":1}}`), true},
		{"17 levels", fourteen(`{"c_likes":{"$in":[1]}}`), false},
		{"256 conditions, of which $or is one", `{"$or":[` + repeated(255, exists) + `]}`, true},
		{"257 conditions", `{"$or":[` + repeated(256, exists) + `]}`, false},
		{"200 values", `{"c_likes":{"$in":[` + repeated(200, "1") + `]}}`, true},
		{"201 values", `{"c_likes":{"$in":[` + repeated(201, "1") + `]}}`, false},

		{"no condition", `{}`, true},
		{"$gt of booleans", `{"c_pinned":{"$gt":false}}`, true},
		{"a fraction for an integer", `{"c_likes":{"$gt":1.5}}`, true},
		{"a date without milliseconds", `{"c_sent":{"$gt":"2026-01-02T03:04:05Z"}}`, true},
		{"a date of another zone", `{"c_sent":{"$gt":"2026-01-02T03:04:05.000+01:00"}}`, true},
		{"a day for a date", `{"c_sent":{"$gt":"2026-01-02"}}`, false},
		{"microseconds", `{"c_sent":{"$gt":"2026-01-02T03:04:05.000001Z"}}`, false},
		{"a text for a number", `{"c_likes":"1"}`, false},
		{"a number for a text", `{"c_text":1}`, false},
		{"an array for a text", `{"c_text":["x"]}`, false},
		{"null", `{"c_likes":null}`, true},
		{"null in $ne, $in and $nin", `{"c_likes":{"$ne":null,"$in":[null],"$nin":[null]}}`, true},
		{"$gt of null", `{"c_likes":{"$gt":null}}`, false},
		{"null for what is never null", `{"_id":null}`, false},
		{"$in of nothing", `{"c_likes":{"$in":[]}}`, true},
		{"$in of no array", `{"c_likes":{"$in":1}}`, false},
		{"$exists of no boolean", `{"c_likes":{"$exists":1}}`, false},
		{"$not of operators", `{"c_likes":{"$not":{"$gt":1}}}`, true},
		{"$not of a value", `{"c_likes":{"$not":1}}`, false},
		{"$not beside properties", `{"$not":{"c_likes":1}}`, false},
		{"$and of nothing", `{"$and":[]}`, false},
		{"an operator that is unknown", `{"c_text":{"$regex":"x"}}`, false},
		{"a property of which only what is below it has values", `{"c_meta":{"$exists":true}}`, false},
		{"a name twice", `{"c_likes":1,"c_likes":2}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			detail := "invalidArgument.query"
			if test.good {
				detail = ""
			}
			s.expect(t, s.do(t, call{path: "/c_messages?limit=1&where=" + url.QueryEscape(test.where)}), detail)
		})
	}
}

func TestNamesInFrontOfArguments(t *testing.T) {
	t.Parallel()
	s := start(t)
	conversation, message := "/c_conversations/"+demoID(acme, "c_conversation", 2), "/c_messages/"+message1
	for _, test := range []struct {
		name, path string
		good       bool
	}{
		{"a list property", "/c_conversations?c_messages.limit=1", true},
		{"a list property of one object", conversation + "?c_messages.limit=1", true},
		{"the list, where it is the route itself", conversation + "/c_messages?c_messages.limit=1", false},
		{"a name that is unknown", "/c_messages?foo.where={}", false},
		{"a property that is no list", "/c_messages?c_text.limit=1", false},
		{"a property of one object that is no list", message + "?c_text.limit=1", false},
		{"the argument of a list at one object", message + "?limit=1", false},
		{"and at one property", message + "/c_text?sort=_id", false},
		{"another name", "/c_messages?limit=1&foo=1&foo.bar=1", true},
		{"another name at one object", message + "?foo=1&foo.bar=1", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			detail := "invalidArgument.query"
			if test.good {
				detail = ""
			}
			s.expect(t, s.do(t, call{path: test.path}), detail)
		})
	}
}

func TestOnePropertyAsARoute(t *testing.T) {
	t.Parallel()
	s := start(t)
	conversation, message := "/c_conversations/"+demoID(acme, "c_conversation", 2), "/c_messages/"+message1
	t.Run("a list property is a list, with the arguments of one", func(t *testing.T) {
		got := items(t, s.do(t, call{path: conversation + "/c_messages?limit=2&skip=1&paths[]=c_text"}).ok(t), true)
		if first := got[0].(value); len(got) != 2 || first["_id"] != message2 || first["c_text"] == nil {
			t.Errorf("%v", got)
		}
	})
	for path, want := range map[string]any{
		message + "/c_text":      "Good morning (0)",
		message + "/c_meta":      value{"lang": "en"},
		message + "/c_meta/lang": "en",
		"/c_messages/" + demoID(acme, "c_message", 7) + "/c_likes":      nil, // missing
		"/c_messages/" + demoID(acme, "c_message", 11) + "/c_meta/lang": nil, // null
	} {
		t.Run("another one is a result, "+path, func(t *testing.T) {
			if diff := cmp.Diff(value{"object": "result", "data": want}, s.do(t, call{path: path}).ok(t)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for _, property := range []string{"c_secret", "c_nope", "_id", "object", "c_text/x", "c_meta.lang"} {
		t.Run("one that is hidden, unknown or no property is not found, "+property, func(t *testing.T) {
			s.refused(t, s.do(t, call{path: message + "/" + property}), 404, "notFound.unspecified")
		})
	}
	t.Run("one beyond the scope is refused", func(t *testing.T) {
		s.scopeRefused(t, s.bearing(t, s.NarrowToken, "GET", message+"/c_pinned", ""), "object.read.c_message."+message1+".c_pinned")
	})
}

func TestTheAccountHeaderIsBounded(t *testing.T) {
	t.Parallel()
	s := start(t)
	ask := func(account string) answer {
		at := nextTimestamp()
		header := signedHeader(s.ClientKey, s.ClientKey+s.ClientSecret, "/accounts/me;GET;"+at, at)
		return s.below(t, "GET", "/acme/v2/accounts/me", "", append(header, "Service-Client-Account", account)...)
	}
	ask(s.AccountID).ok(t)
	s.refused(t, ask(strings.Repeat("a", 64)), 403, "accessDenied.principal")
	for _, account := range []string{"", strings.Repeat("a", 65), "a b", "a\tb", "é"} {
		s.refused(t, ask(account), 400, "invalidArgument.malformedRequestSignature")
	}
}

func TestBoundsOfOwnClaims(t *testing.T) {
	t.Parallel()
	s := start(t)
	members := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"m%d":1`, i))
		}
		return strings.Join(all, ",")
	}
	levels := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, test := range []struct {
		name, claims string
		good         bool
	}{
		{"a text of 4000 bytes", `"x":"` + strings.Repeat("x", 4000) + `"`, true},
		{"so much that the token has more than 8 KiB", `"x":"` + strings.Repeat("x", 6000) + `"`, false},
		{"16 levels with the object of all claims", `"x":` + levels(15), true},
		{"17 levels", `"x":` + levels(16), false},
		{"an object of 64 members", `"x":{` + members(64) + `}`, true},
		{"an object of 65 members", `"x":{` + members(65) + `}`, false},
		{"64 claims, with those of the interface", members(64 - 6), true},
		{"65 claims", members(65 - 6), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			detail := "invalidArgument.option"
			if test.good {
				detail = ""
			}
			got := s.as(t, "", "POST", s.tokensPath(), wish(s.AccountID, `,"claims":{`+test.claims+`}`))
			s.expect(t, got, detail)
			if test.good && !s.works(t, got.ok(t)["data"].(value)["token"].(string)) {
				t.Error("it does not pass")
			}
		})
	}
}
