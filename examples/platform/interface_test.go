package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tests of this file send requests to a listening server, and check limits and
// refusals that INTERFACE.md states.

// expect checks the status and the detail of a refusal.
func (s *server) expect(t *testing.T, got answer, detail string) {
	t.Helper()
	if detail == "" {
		got.ok(t)
		return
	}
	s.refused(t, got, 400, detail)
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
