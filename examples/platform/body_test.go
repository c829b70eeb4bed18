package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBodyRefusals(t *testing.T) {
	t.Parallel()
	s := start(t)
	before := s.do(t, call{path: "/c_messages?skip=200&limit=1000"}).text
	for _, test := range []struct {
		name, body string
		want       map[string]string // reason by path; nil: the whole body is malformed
	}{
		{"not JSON", `c_text`, nil},
		{"cut short", `{"c_text":"x"`, nil},
		{"trailing data", `{"c_text":"x"}{}`, nil},
		{"not UTF-8", "{\"c_text\":\"\xff\"}", nil},
		{"more members than a body may have", `{"c_nope":{` + manyMembers(1000) + `}}`, nil},
		{"more items than a body may have", `{"c_nope":[` + strings.Repeat("0,", 1000) + `0]}`, nil},
		{"nested without end", strings.Repeat(`{"c_meta":`, 20_000), nil},
		{"an unknown field", `{"c_text":"x","c_nope":1}`, map[string]string{"c_nope": "unknown field"}},
		{"a hidden field", `{"c_secret":"x"}`, map[string]string{"c_secret": "unknown field"}},
		{"what the server gives", `{"_id":"x","object":"c_message"}`, map[string]string{"_id": "unknown field", "object": "unknown field"}},
		{"an unknown field below", `{"c_meta":{"lang":"en","x":{}}}`, map[string]string{"c_meta.x": "unknown field"}},
		{"a field twice", `{"c_text":"x","c_text":"y"}`, map[string]string{"c_text": "given more than once"}},
		{"a number for a string", `{"c_text":1}`, map[string]string{"c_text": "must be a string"}},
		{"null for what has always a value", `{"c_author":null,"c_sent":null}`,
			map[string]string{"c_author": "must be a string", "c_sent": "must be a date such as 2026-01-02T03:04:05.000Z"}},
		{"NUL in a string", `{"c_text":"a\u0000b"}`, map[string]string{"c_text": "must not contain NUL"}},
		{"a fraction", `{"c_likes":1.0}`, map[string]string{"c_likes": "must be an integer of 64 bits"}},
		{"a date without milliseconds", `{"c_sent":"2026-01-02T03:04:05Z"}`, map[string]string{"c_sent": "must be a date such as 2026-01-02T03:04:05.000Z"}},
		{"a date that is none", `{"c_sent":"2026-02-30T03:04:05.000Z"}`, map[string]string{"c_sent": "must be a date such as 2026-01-02T03:04:05.000Z"}},
		{"several things at once", `{"c_text":1,"c_nope":2,"c_pinned":"true"}`,
			map[string]string{"c_text": "must be a string", "c_nope": "unknown field", "c_pinned": "must be true or false"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, c := range []call{
				{method: "POST", path: "/c_messages", body: test.body},
				{method: "PATCH", path: "/c_messages/" + demoID(acme, "c_message", 201), body: test.body},
			} {
				fault := s.refused(t, s.do(t, c), 400, "invalidArgument.body")
				if test.want == nil {
					if reason, _ := fault["reason"].(string); reason == "" || len(children(fault)) > 0 {
						t.Errorf("%s: %v", c.method, fault)
					}
					continue
				}
				if diff := cmp.Diff(test.want, children(fault)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.method, diff)
				}
			}
		})
	}
	t.Run("a new object has no null, but where it means something", func(t *testing.T) {
		got := s.do(t, call{method: "POST", path: "/c_messages", body: `{"c_text":null,"c_pinned":null,"c_meta":null}`})
		want := map[string]string{"c_text": "must be a string", "c_pinned": "must be true or false", "c_meta": "must be an object"}
		if diff := cmp.Diff(want, children(s.refused(t, got, 400, "invalidArgument.body"))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("a list property is not written through its object", func(t *testing.T) {
		want := map[string]string{"c_messages": "cannot be written"}
		for _, c := range []call{
			{method: "POST", path: "/c_conversations", body: `{"c_messages":[]}`},
			{method: "PATCH", path: "/c_conversations/" + conversation3, body: `{"c_messages":[]}`},
			{method: "PATCH", path: "/c_conversations/" + conversation3, body: `{"c_messages":null}`},
		} {
			if diff := cmp.Diff(want, children(s.refused(t, s.do(t, c), 400, "invalidArgument.body"))); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", c.method, c.body, diff)
			}
		}
	})
	t.Run("a body full of nonsense has a short answer", func(t *testing.T) {
		body := `{` + manyMembers(100_000) + `}`
		got := s.do(t, call{method: "POST", path: "/c_messages", body: body})
		s.refused(t, got, 400, "invalidArgument.body")
		if len(got.text) > 16<<10 {
			t.Errorf("%d bytes", len(got.text))
		}
	})
	t.Run("a body of one long name, too", func(t *testing.T) {
		for _, c := range []call{
			{method: "POST", path: "/c_messages", body: `{"` + strings.Repeat("é", 400_000) + `":1}`},
			{method: "POST", path: "/c_messages", body: `{"c_meta":{"` + strings.Repeat("<", 800_000) + `":1}}`},
			{method: "POST", path: "/accounts/login", unsigned: true, body: `{"` + strings.Repeat("<", 16_000) + `":1}`},
		} {
			got := s.do(t, c)
			s.refused(t, got, 400, "invalidArgument.body")
			if len(got.text) > 2<<10 || !strings.Contains(got.text, "…") {
				t.Errorf("%d bytes", len(got.text))
			}
		}
	})
	t.Run("a refused body has changed nothing", func(t *testing.T) {
		if after := s.do(t, call{path: "/c_messages?skip=200&limit=1000"}).text; after != before {
			t.Errorf("before: %s\nafter: %s", before, after)
		}
	})
}

// TestPublicBodies sends longer bodies to public routes than they read.
func TestPublicBodies(t *testing.T) {
	t.Parallel()
	s := start(t)
	frame := len(`{"email":""}`)
	over := `{"email":"` + strings.Repeat("x", maxPublicBody+1-frame) + `"}`
	for _, path := range []string{"/accounts", "/accounts/login", "/accounts/me/second-factor", "/accounts/me/second-factor/confirm"} {
		t.Run(path, func(t *testing.T) {
			c := call{method: "POST", path: path, unsigned: true, body: over}
			s.refused(t, s.do(t, c), 413, "tooLarge.unspecified")
			c.body = over[:11] + over[12:]
			if got := s.do(t, c); got.status != 400 && got.status != 401 {
				t.Errorf("one byte less: %d %s", got.status, got.text)
			}
		})
	}
	t.Run("one that does not say how long it is", func(t *testing.T) {
		r, err := http.NewRequest("POST", s.BaseURL+"/"+s.Org+"/v2/accounts/login", io.MultiReader(strings.NewReader(over)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		s.refused(t, send(t, r), 413, "tooLarge.unspecified")
	})
}

func BenchmarkHostileBody(b *testing.B) {
	body := "{" + manyMembers(131_000) + "}"
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("POST", "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if _, _, err := registrationForm.Read(r, maxBody); err == nil {
			b.Fatal("accepted")
		}
	}
}

// manyMembers returns n members of an object, in as few bytes as possible.
func manyMembers(n int) string {
	const digits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	var text strings.Builder
	for i := range n {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(`"` + string([]byte{digits[i%62], digits[i/62%62], digits[i/62/62%62]}) + `":1`)
	}
	return text.String()
}

// TestBodiless sends fields to routes without a body. They must change nothing.
func TestBodiless(t *testing.T) {
	t.Parallel()
	s := start(t)
	app := s.do(t, call{method: "POST", path: "/apps", body: `{"name":"another"}`}).ok(t)["_id"].(string)
	message := "/c_messages/" + demoID(acme, "c_message", 201)
	routes := []call{
		{method: "POST", path: "/apps/" + app + "/secret"},
		{method: "POST", path: "/apps/" + app + "/keypair"},
		{method: "DELETE", path: "/apps/" + app + "/subjects/" + s.AccountID + "/tokens"},
		{method: "DELETE", path: "/apps/" + app},
		{method: "DELETE", path: message},
		{method: "POST", path: "/admin/accounts/" + s.AccountID + "/deactivate"},
		{method: "POST", path: "/deployments/count_apps/execute"},
	}
	for _, c := range routes {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			c.body = `{"force":true}`
			fault := s.refused(t, s.do(t, c), 400, "invalidArgument.body")
			if diff := cmp.Diff(map[string]string{"force": "unknown field"}, children(fault)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			c.contentType = "text/plain"
			s.refused(t, s.do(t, c), 415, "unsupportedMediaType.unspecified")
		})
	}
	s.do(t, call{path: message}).ok(t)
	s.do(t, call{path: "/accounts/me", account: s.AccountID}).ok(t)
	for _, c := range routes {
		c.body = `{}` // no fields
		s.do(t, c).ok(t)
	}
}
