package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scoped mints a token of the demo account with a scope.
func (s *server) scoped(t *testing.T, chains string) string {
	t.Helper()
	return s.mint(t, s.AccountID, `{"sub":"`+s.AccountID+`","scope":[`+chains+`]}`)["token"].(string)
}

func TestScripts(t *testing.T) {
	s := start(t)
	echo := s.scoped(t, `"script.route.echo"`)
	runner := s.scoped(t, `"script.runner"`)
	minting := s.scoped(t, `"script.route.mint_and_revoke"`)

	t.Run("a scope names one route", func(t *testing.T) {
		got := s.bearing(t, echo, "POST", "/routes/echo", `{"a":[1]}`).ok(t)
		if diff := cmp.Diff(value{"object": "result", "data": value{"a": []any{1.0}}}, got); diff != "" {
			t.Error(diff)
		}
		s.bearing(t, echo, "POST", "/routes/echo", "").ok(t)
		s.scopeRefused(t, s.bearing(t, echo, "POST", "/routes/whoami", ""), "script.route.whoami")
		s.scopeRefused(t, s.bearing(t, echo, "POST", "/sys/script_runner", `{"script":"echo"}`), "script.runner")
		s.scopeRefused(t, s.bearing(t, runner, "POST", "/routes/echo", ""), "script.route.echo")
		s.refused(t, s.as(t, "", "POST", "/routes/nothing", ""), 404, "notFound.unspecified")
	})
	t.Run("the runner", func(t *testing.T) {
		got := s.bearing(t, runner, "POST", "/sys/script_runner", `{"script":"whoami"}`).ok(t)
		if got["data"] != s.AccountID {
			t.Errorf("%v", got)
		}
		for _, body := range []string{`{}`, `{"script":"echo","more":1}`, `{"script":"echo","arguments":[]}`, `{"script":"echo","arguments":{"a":1,"a":2}}`,
			`{"script":"echo","arguments":{"a":[{"b":1e999,"b":2}]}}`} {
			s.refused(t, s.bearing(t, runner, "POST", "/sys/script_runner", body), 400, "invalidArgument.body")
		}
		s.refused(t, s.bearing(t, runner, "POST", "/sys/script_runner", `{"script":"nothing"}`), 404, "notFound.unspecified")
	})
	t.Run("one that mints and revokes", func(t *testing.T) {
		got := s.as(t, s.AccountID, "POST", "/routes/mint_and_revoke", `{"scope":["object.read"]}`).ok(t)["data"].(value)
		if got["jti"] == nil || got["revoked"] != true {
			t.Errorf("%v", got)
		}
		for _, item := range items(t, s.as(t, s.AccountID, "GET", s.subjectPath(s.AccountID), "").ok(t), false) {
			if item.(value)["_id"] == got["jti"] {
				t.Error("it is still there")
			}
		}
	})
	t.Run("T27 a script mints no more than its caller", func(t *testing.T) {
		got := s.as(t, s.AccountID, "POST", "/routes/mint_and_revoke", `{"sub":"`+s.TOTPAccountID+`","skipAcl":true}`)
		s.beyond(t, got, map[string]string{"sub": "", "skipAcl": ""})
		got = s.bearing(t, minting, "POST", "/routes/mint_and_revoke", `{"scope":["object.read"],"expiresIn":60}`)
		s.beyond(t, got, map[string]string{"scope": "object.read"})
		s.bearing(t, minting, "POST", "/routes/mint_and_revoke", `{"expiresIn":60}`).ok(t)
	})
}

func TestViews(t *testing.T) {
	s := start(t)
	t.Run("C13 a view reads without object scopes", func(t *testing.T) {
		only := s.scoped(t, `"view.execute.messages"`)
		got := s.bearing(t, only, "GET", "/views/messages?limit=2&paths[]=c_text", "").ok(t)
		if listed := items(t, got, true); len(listed) != 2 || listed[0].(value)["c_text"] == nil {
			t.Errorf("%v", listed)
		}
		s.scopeRefused(t, s.bearing(t, only, "GET", "/views/message_token", ""), "view.execute.message_token")
		s.refused(t, s.as(t, "", "GET", "/views/nothing", ""), 404, "notFound.unspecified")
	})
	t.Run("C13 minting inside a view is capped by the original scope", func(t *testing.T) {
		only := s.scoped(t, `"view.execute.message_token"`)
		s.beyond(t, s.bearing(t, only, "GET", "/views/message_token", ""), map[string]string{"scope": "object.read.c_message"})
		wide := s.scoped(t, `"view.execute.message_token","object.read"`)
		got := s.bearing(t, wide, "GET", "/views/message_token", "").ok(t)["data"].(value)
		claims := claimsOf(t, got["token"])
		if diff := cmp.Diff([]any{"object.read.c_message"}, claims["service/scp"]); diff != "" || claims["sub"] != s.AccountID {
			t.Errorf("%v", claims)
		}
	})
}
