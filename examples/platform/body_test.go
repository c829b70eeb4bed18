package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBodyRefusals(t *testing.T) {
	s := start(t)
	before := s.do(t, call{path: "/c_messages?skip=2400&limit=1000"}).text
	for _, test := range []struct {
		name, body string
		want       map[string]string // reason by path; nil: the whole is malformed
	}{
		{"not JSON", `c_text`, nil},
		{"cut short", `{"c_text":"x"`, nil},
		{"trailing data", `{"c_text":"x"}{}`, nil},
		{"trailing comma", `{"c_text":"x",}`, nil},
		{"an array", `[{"c_text":"x"}]`, nil},
		{"null", `null`, nil},
		{"blanks", `  `, nil},
		{"not UTF-8", "{\"c_text\":\"\xff\"}", nil},
		{"nested without end", strings.Repeat(`{"c_meta":`, 20_000), nil},
		{"an unknown field", `{"c_text":"x","c_nope":1}`, map[string]string{"c_nope": "unknown field"}},
		{"a hidden field", `{"c_secret":"x"}`, map[string]string{"c_secret": "unknown field"}},
		{"another spelling", `{"C_TEXT":"x"}`, map[string]string{"C_TEXT": "unknown field"}},
		{"what the server gives", `{"_id":"x","object":"c_message"}`, map[string]string{"_id": "unknown field", "object": "unknown field"}},
		{"an unknown field below", `{"c_meta":{"lang":"en","x":{}}}`, map[string]string{"c_meta.x": "unknown field"}},
		{"a path for a name", `{"c_meta.lang":"en"}`, map[string]string{"c_meta.lang": "unknown field"}},
		{"a field twice", `{"c_text":"x","c_text":"y"}`, map[string]string{"c_text": "given more than once"}},
		{"a field twice, once escaped", `{"c_text":"x","c\u005ftext":"y"}`, map[string]string{"c_text": "given more than once"}},
		{"an object twice", `{"c_meta":{"lang":"en"},"c_meta":{}}`, map[string]string{"c_meta": "given more than once"}},
		{"a number for a string", `{"c_text":1}`, map[string]string{"c_text": "must be a string"}},
		{"null for a string", `{"c_text":null}`, map[string]string{"c_text": "must be a string"}},
		{"an object for a string", `{"c_text":{"a":1}}`, map[string]string{"c_text": "must be a string"}},
		{"NUL in a string", `{"c_text":"a\u0000b"}`, map[string]string{"c_text": "must not contain NUL"}},
		{"a string for an object", `{"c_meta":"en"}`, map[string]string{"c_meta": "must be an object"}},
		{"a string for an integer", `{"c_likes":"1"}`, map[string]string{"c_likes": "must be an integer of 64 bits"}},
		{"a fraction", `{"c_likes":1.0}`, map[string]string{"c_likes": "must be an integer of 64 bits"}},
		{"an exponent", `{"c_likes":1e3}`, map[string]string{"c_likes": "must be an integer of 64 bits"}},
		{"2^63", `{"c_likes":9223372036854775808}`, map[string]string{"c_likes": "must be an integer of 64 bits"}},
		{"a number for a boolean", `{"c_pinned":1}`, map[string]string{"c_pinned": "must be true or false"}},
		{"a date without milliseconds", `{"c_sent":"2026-01-02T03:04:05Z"}`, map[string]string{"c_sent": "must be a date such as 2026-01-02T03:04:05.000Z"}},
		{"a date with a comma", `{"c_sent":"2026-01-02T03:04:05,000Z"}`, map[string]string{"c_sent": "must be a date such as 2026-01-02T03:04:05.000Z"}},
		{"a date that is none", `{"c_sent":"2026-02-30T03:04:05.000Z"}`, map[string]string{"c_sent": "must be a date such as 2026-01-02T03:04:05.000Z"}},
		{"several things at once", `{"c_text":1,"c_nope":2,"c_pinned":null}`,
			map[string]string{"c_text": "must be a string", "c_nope": "unknown field", "c_pinned": "must be true or false"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, c := range []call{
				{method: "POST", path: "/c_messages", body: test.body},
				{method: "PATCH", path: "/c_messages/" + demoID(acme, "c_message", 2401), body: test.body},
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
	t.Run("a list property is not written through its object", func(t *testing.T) {
		got := s.do(t, call{method: "POST", path: "/c_conversations", body: `{"c_messages":[]}`})
		want := map[string]string{"c_messages": "cannot be written"}
		if diff := cmp.Diff(want, children(s.refused(t, got, 400, "invalidArgument.body"))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("a body full of nonsense has a short answer", func(t *testing.T) {
		body := `{` + strings.Repeat(`"x":1,`, 100_000) + `"x":1}`
		got := s.do(t, call{method: "POST", path: "/c_messages", body: body})
		s.refused(t, got, 400, "invalidArgument.body")
		if len(got.text) > 16<<10 {
			t.Errorf("%d bytes", len(got.text))
		}
	})
	t.Run("a refused body has changed nothing", func(t *testing.T) {
		if after := s.do(t, call{path: "/c_messages?skip=2400&limit=1000"}).text; after != before {
			t.Errorf("before: %s\nafter: %s", before, after)
		}
	})
}

func TestBodyFrame(t *testing.T) {
	s := start(t)
	post := call{method: "POST", path: "/c_messages", body: `{"c_text":"x"}`}

	t.Run("media types that are not JSON", func(t *testing.T) {
		for _, mediaType := range []string{"text/plain", "application/x-www-form-urlencoded", "application/jsonx", ";", "application/json, text/plain"} {
			post.contentType = mediaType
			s.refused(t, s.do(t, post), 415, "unsupportedMediaType.unspecified")
		}
	})
	t.Run("a body that is packed, or says so", func(t *testing.T) {
		for _, coding := range []string{"gzip", "br", "identity"} {
			r, err := http.NewRequest("POST", s.BaseURL+"/"+s.Org+"/v2/c_messages", strings.NewReader(`{"c_text":"x"}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Content-Encoding", coding)
			s.sign(r, "/c_messages", s.ClientKey, s.ClientSecret)
			s.refused(t, send(t, r), 415, "unsupportedMediaType.unspecified")
		}
	})
	t.Run("a charset is no matter", func(t *testing.T) {
		post.contentType = "application/json; charset=utf-8"
		s.do(t, post).ok(t)
	})
	t.Run("no media type", func(t *testing.T) {
		r, err := http.NewRequest("POST", s.BaseURL+"/"+s.Org+"/v2/c_messages", strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		s.sign(r, "/c_messages", s.ClientKey, s.ClientSecret)
		s.refused(t, send(t, r), 415, "unsupportedMediaType.unspecified")
	})
	t.Run("one byte over 1 MiB", func(t *testing.T) {
		frame := len(`{"c_text":""}`)
		over := `{"c_text":"` + strings.Repeat("x", maxBody+1-frame) + `"}`
		s.refused(t, s.do(t, call{method: "POST", path: "/c_messages", body: over}), 413, "tooLarge.unspecified")
		s.do(t, call{method: "POST", path: "/c_messages", body: over[:11] + over[12:]}).ok(t)
	})
}

// TestBodiless sends fields where there are none to send: nothing is done.
func TestBodiless(t *testing.T) {
	s := start(t)
	app := s.do(t, call{method: "POST", path: "/apps", body: `{"name":"another"}`}).ok(t)["_id"].(string)
	message := "/c_messages/" + demoID(acme, "c_message", 2401)
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
		c.body = `{}` // says nothing
		s.do(t, c).ok(t)
	}
}

func TestNamedOnce(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, `[]`: true, `1e999`: true, `"a"`: true, `null`: true,
		`{"a":1,"b":"a","c":{"a":{"a":null}},"d":[{"a":1},{"a":2}]}`: true,
		`["a","a",["a","a"]]`:                                 true,
		`{"a":1,"a":2}`:                                       false,
		`{"a":1,"\u0061":2}`:                                  false,
		`{"a":{"b":[],"c":{},"b":[]}}`:                        false,
		`[[{"a":[{}],"b":[{"x":true,"y":0,"x":1}]}]]`:         false,
		strings.Repeat("[", 9000) + strings.Repeat("]", 9000): true,
	} {
		if got := namedOnce([]byte(text)); got != want {
			t.Errorf("%.60s: %t", text, got)
		}
	}
}
