package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMe(t *testing.T) {
	t.Parallel()
	s := start(t)
	want := value{
		"_id": s.AdminAccountID, "object": "account", "email": "ada@acme.example", "name": "Ada Admin",
		"roles": []any{"administrator", "member"},
	}
	if diff := cmp.Diff(want, s.do(t, call{path: "/accounts/me"}).ok(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, id := range []string{s.AccountID, s.TOTPAccountID} {
		if got := s.do(t, call{path: "/accounts/me", account: id}).ok(t); got["_id"] != id {
			t.Errorf("as %s: %v", id, got)
		}
	}
	if got := s.do(t, call{path: "/accounts/me", other: true}).ok(t); got["_id"] != s.OtherAccountID {
		t.Errorf("in the other org: %v", got)
	}
}

func TestObjectLife(t *testing.T) {
	t.Parallel()
	s := start(t)
	began := time.Now().Truncate(time.Millisecond)

	created := s.do(t, call{method: "POST", path: "/c_messages", account: s.AccountID, body: `
		{ "c_text" : "héllo" , "c_likes" : 9007199254740993, "c_pinned":true, "c_meta" : { "lang" : null } }`})
	if !strings.Contains(created.text, "9007199254740993") {
		t.Errorf("an integer lost its last digits: %s", created.text)
	}
	got := created.ok(t)
	id := got["_id"].(string)
	want := value{
		"_id": id, "object": "c_message",
		"c_text": "héllo", "c_author": s.AccountID, "c_likes": got["c_likes"], "c_sent": got["c_sent"],
		"c_pinned": true, "c_meta": value{"lang": nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("POST (-want +got):\n%s", diff)
	}
	if sent, err := time.Parse(dateLayout, got["c_sent"].(string)); err != nil || sent.Before(began) || sent.After(time.Now()) {
		t.Errorf("c_sent is %v", got["c_sent"])
	}
	one := "/c_messages/" + id
	if diff := cmp.Diff(want, s.do(t, call{path: one}).ok(t)); diff != "" {
		t.Errorf("GET (-want +got):\n%s", diff)
	}
	narrow := value{"_id": id, "object": "c_message", "c_text": "héllo"}
	if diff := cmp.Diff(narrow, s.do(t, call{path: one + "?paths[]=c_text&paths[]=c_secret"}).ok(t)); diff != "" {
		t.Errorf("GET with paths[] (-want +got):\n%s", diff)
	}

	patched := s.do(t, call{method: "PATCH", path: one, account: s.AccountID, body: `{"c_text":"bye","c_meta":{"lang":"de"}}`}).ok(t)
	want["c_text"], want["c_meta"] = "bye", value{"lang": "de"}
	if diff := cmp.Diff(want, patched); diff != "" {
		t.Errorf("PATCH (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, s.do(t, call{path: one}).ok(t)); diff != "" {
		t.Errorf("GET after PATCH (-want +got):\n%s", diff)
	}

	deleted := s.do(t, call{method: "DELETE", path: one, account: s.AccountID}).ok(t)
	if diff := cmp.Diff(value{"object": "result", "data": true}, deleted); diff != "" {
		t.Errorf("DELETE (-want +got):\n%s", diff)
	}
	for _, method := range []string{"GET", "PATCH", "DELETE"} {
		s.refused(t, s.do(t, call{method: method, path: one, body: `{}`}), 404, "notFound.unspecified")
	}
}

func TestObjectTypes(t *testing.T) {
	t.Parallel()
	s := start(t)
	t.Run("a demo message shows all but what is hidden", func(t *testing.T) {
		got := s.do(t, call{path: "/c_messages/" + demoID(acme, "c_message", 2)}).ok(t)
		want := value{
			"_id": demoID(acme, "c_message", 2), "object": "c_message",
			"c_text": "Is the report ready? (1)", "c_author": s.AccountID, "c_likes": 13.0,
			"c_sent": "2026-01-02T03:05:05.000Z", "c_pinned": false, "c_meta": value{"lang": "de"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("one conversation comes without its list", func(t *testing.T) {
		got := s.do(t, call{path: "/c_conversations/" + demoID(acme, "c_conversation", 2)}).ok(t)
		want := value{"_id": demoID(acme, "c_conversation", 2), "object": "c_conversation", "c_title": "Conversation 1"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("a deleted message leaves its conversation", func(t *testing.T) {
		s.do(t, call{method: "DELETE", path: "/c_messages/" + demoID(acme, "c_message", 1)}).ok(t)
		got := s.do(t, call{path: "/c_conversations/" + demoID(acme, "c_conversation", 2) + "?paths[]=c_messages&c_messages.limit=249"}).ok(t)
		data := items(t, got["c_messages"].(value), false)
		if len(data) != 249 || data[0].(value)["_id"] != demoID(acme, "c_message", 2) {
			t.Errorf("%d items from %v", len(data), data[0])
		}
	})
	t.Run("a new conversation has an empty list", func(t *testing.T) {
		got := s.do(t, call{method: "POST", path: "/c_conversations?paths[]=c_messages", body: `{"c_title":"New"}`}).ok(t)
		items(t, got["c_messages"].(value), false)
	})
	t.Run("a connection", func(t *testing.T) {
		got := s.do(t, call{method: "POST", path: "/connections", body: `{"target":"x","access":4}`}).ok(t)
		want := value{"_id": got["_id"], "object": "connection", "target": "x", "access": 4.0}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("what was posted last is the end of the list", func(t *testing.T) {
		id := s.do(t, call{method: "POST", path: "/c_messages", body: `{}`}).ok(t)["_id"]
		data := items(t, s.do(t, call{path: "/c_messages?skip=255"}).ok(t), false)
		if len(data) != 1 || data[0].(value)["_id"] != id {
			t.Errorf("%v, want %v", data, id)
		}
	})
}

// TestArgumentsOfAListOnOneObject checks that such arguments are refused before
// anything is written, and not ignored.
func TestArgumentsOfAListOnOneObject(t *testing.T) {
	t.Parallel()
	s := start(t)
	message, conversation := "/c_messages/"+demoID(acme, "c_message", 2), "/c_conversations/"+demoID(acme, "c_conversation", 2)
	before, all := s.do(t, call{path: message}).text, s.do(t, call{path: "/c_messages?skip=200"}).text
	for _, to := range []call{
		{path: message},
		{path: conversation},
		{path: message + "/c_text"},
		{path: message + "/c_meta"},
		{path: message + "/c_meta/lang"},
		{method: "POST", path: "/c_messages", body: `{"c_text":"new"}`},
		{method: "PATCH", path: message, body: `{"c_text":"changed"}`},
		{method: "DELETE", path: message},
	} {
		for argument, query := range map[string]string{
			"limit": "limit=5",
			"skip":  "paths[]=_id&skip=1",
			"sort":  "sort=_id",
			"where": "where={%22_id%22:%22x%22}",
			"Where": "Where={}",
		} {
			c := to
			c.account, c.path = s.AccountID, to.path+"?"+query
			fault := s.refused(t, s.do(t, c), 400, "invalidArgument.query")
			if child := fault["faults"].([]any)[0].(value); child["path"] != argument {
				t.Errorf("%s %s: %v", c.method, c.path, child)
			}
		}
	}
	if after := s.do(t, call{path: message}).text; after != before {
		t.Errorf("written all the same: %s", after)
	}
	if after := s.do(t, call{path: "/c_messages?skip=200"}).text; after != all {
		t.Error("created all the same")
	}

	t.Run("those of its list properties are fine", func(t *testing.T) {
		got := s.do(t, call{path: conversation + "?c_messages.limit=2&c_messages.skip=1&paths[]=c_messages"}).ok(t)
		items(t, got["c_messages"].(value), true)
		items(t, s.do(t, call{path: conversation + "/c_messages?limit=2&skip=1"}).ok(t), true)
	})
	t.Run("and so are the application's own", func(t *testing.T) {
		s.do(t, call{path: message + "?tenant=acme"}).ok(t)
	})
}
