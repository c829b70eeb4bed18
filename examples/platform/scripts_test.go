package main

import (
	"errors"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
)

// scoped mints a token of the demo account with a scope.
func (s *server) scoped(t *testing.T, chains string) string {
	t.Helper()
	return s.mint(t, s.AccountID, `{"sub":"`+s.AccountID+`","scope":[`+chains+`]}`)["token"].(string)
}

func TestScripts(t *testing.T) {
	t.Parallel()
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

func TestTokensOfScripts(t *testing.T) {
	t.Parallel()
	s := start(t)
	const create, revoke, revokeAll = "/routes/createAuthToken", "/routes/revokeAuthToken", "/routes/revokeSubjectTokens"
	arguments := func(account, options string) string {
		return `{"clientKey":"` + s.ClientKey + `","accountId":"` + account + `","options":{` + options + `}}`
	}
	made := func(t *testing.T, options string) value {
		t.Helper()
		return s.as(t, "", "POST", create, arguments(s.AccountID, options)).ok(t)["data"].(value)
	}
	revoking := func(jti any) string { return `{"clientKey":"` + s.ClientKey + `","jti":"` + jti.(string) + `"}` }

	t.Run("the options are those of the route of tokens", func(t *testing.T) {
		from := strconv.FormatInt(time.Now().Unix()-10, 10)
		for _, options := range []string{
			`"scope":[]`,
			`"scope":[""],"expiresIn":60`,
			`"scope":["object.read.c_message"],"roles":["reader"],"skipAcl":true,"bypassCreateAcl":true,"grant":"read","claims":{"x":[1]}`,
			`"scope":["object"],"permanent":true,"notBefore":` + from,
			`"scope":["object"],"maxUses":3,"expiresIn":600,"grant":6`,
		} {
			got, want := made(t, options), s.mint(t, "", `{"sub":"`+s.AccountID+`",`+options+`}`)
			for _, data := range []value{got, want} {
				delete(data, "expires") // may differ by a second, as iat and exp may
				if data["jti"] != nil {
					data["jti"] = true
				}
				claims := claimsOf(t, data["token"])
				for _, name := range []string{"iat", "exp", "jti"} {
					if claims[name] != nil {
						claims[name] = true
					}
				}
				data["token"] = claims
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("{%s} (-route +script):\n%s", options, diff)
			}
		}
	})
	t.Run("one that is made works until it is revoked", func(t *testing.T) {
		data := made(t, `"scope":[""],"permanent":true`)
		if !s.works(t, data["token"].(string)) {
			t.Fatal("not accepted")
		}
		got := s.as(t, s.AccountID, "POST", revoke, revoking(data["jti"])).ok(t)
		if diff := cmp.Diff(value{"object": "result", "data": true}, got); diff != "" {
			t.Error(diff)
		}
		if s.works(t, data["token"].(string)) {
			t.Error("accepted after its end")
		}
	})
	t.Run("all of an account are revoked, and counted", func(t *testing.T) {
		one, two := made(t, `"scope":[""],"permanent":true`), made(t, `"scope":[""],"maxUses":5`)
		body := `{"clientKey":"` + s.ClientKey + `","accountId":"` + s.AccountID + `"}`
		before := len(items(t, s.as(t, "", "GET", s.subjectPath(s.AccountID), "").ok(t), false))
		got := s.as(t, s.AccountID, "POST", revokeAll, body).ok(t)
		if diff := cmp.Diff(value{"object": "result", "data": float64(before)}, got); diff != "" {
			t.Error(diff)
		}
		if s.works(t, one["token"].(string)) || s.works(t, two["token"].(string)) {
			t.Error("accepted after its end")
		}
	})
	t.Run("by the runner", func(t *testing.T) {
		run := func(name, arguments string) value {
			return s.as(t, "", "POST", "/sys/script_runner", `{"script":"`+name+`","arguments":`+arguments+`}`).ok(t)
		}
		data := run("createAuthToken", arguments(s.AccountID, `"scope":[""],"permanent":true`))["data"].(value)
		if got := run("revokeAuthToken", revoking(data["jti"])); got["data"] != true || s.works(t, data["token"].(string)) {
			t.Errorf("%v", got)
		}
	})
	t.Run("T27 it makes no more than its caller holds", func(t *testing.T) {
		got := s.as(t, s.AccountID, "POST", create, arguments(s.TOTPAccountID, `"scope":[],"skipAcl":true,"bypassCreateAcl":true,"grant":1,"claims":{"x":1},"roles":["administrator"]`))
		s.beyond(t, got, map[string]string{"accountId": "", "options.skipAcl": "", "options.bypassCreateAcl": "", "options.grant": "", "options.claims": "", "options.roles": "administrator"})
		only := s.scoped(t, `"script.route.createAuthToken"`)
		s.beyond(t, s.bearing(t, only, "POST", create, arguments(s.AccountID, `"scope":["object.read"],"expiresIn":60`)), map[string]string{"options.scope": "object.read"})
		s.bearing(t, only, "POST", create, arguments(s.AccountID, `"scope":[],"expiresIn":60`)).ok(t)
		another := `{"clientKey":"` + s.app(t, "")["_id"].(string) + `","accountId":"` + s.AccountID + `","options":{"scope":[]}}`
		s.beyond(t, s.bearing(t, only, "POST", create, another), map[string]string{"clientKey": ""})
		s.scopeRefused(t, s.bearing(t, s.NarrowToken, "POST", create, arguments(s.AccountID, `"scope":[]`)), "script.route.createAuthToken")
	})
	t.Run("M10 it ends no more than its caller may", func(t *testing.T) {
		victim := made(t, `"scope":[""],"permanent":true`)
		only := s.scoped(t, `"script"`)
		all := `{"clientKey":"` + s.ClientKey + `","accountId":"` + s.AccountID + `"}`
		s.scopeRefused(t, s.bearing(t, only, "POST", revoke, revoking(victim["jti"])), "admin.update")
		s.scopeRefused(t, s.bearing(t, only, "POST", revokeAll, all), "admin.update")
		s.refused(t, s.as(t, s.TOTPAccountID, "POST", revoke, revoking(victim["jti"])), 404, "notFound.unspecified")
		s.refused(t, s.as(t, s.TOTPAccountID, "POST", revokeAll, all), 403, "accessDenied.unspecified")
		if !s.works(t, victim["token"].(string)) {
			t.Error("ended all the same")
		}
	})
	t.Run("what is not there", func(t *testing.T) {
		for _, c := range [][2]string{
			{create, `{"clientKey":"` + s.OtherClientKey + `","accountId":"` + s.AccountID + `","options":{"scope":[]}}`},
			{revoke, `{"clientKey":"` + s.OtherClientKey + `","jti":"x"}`},
			{revokeAll, `{"clientKey":"` + s.OtherClientKey + `","accountId":"` + s.AccountID + `"}`},
		} {
			s.refused(t, s.as(t, "", "POST", c[0], c[1]), 404, "notFound.app")
		}
		fault := s.refused(t, s.as(t, "", "POST", create, arguments(s.OtherAccountID, `"scope":[]`)), 404, "notFound.unspecified")
		if fault["path"] != "accountId" {
			t.Errorf("an unknown account: %v", fault)
		}
		s.refused(t, s.as(t, "", "POST", revoke, revoking("unknown")), 404, "notFound.unspecified")
	})
	t.Run("arguments that are refused", func(t *testing.T) {
		for _, c := range [][3]string{
			{create, ``, "clientKey"},
			{create, `{"clientKey":"` + s.ClientKey + `","accountId":"` + s.AccountID + `"}`, "options"},
			{create, arguments(s.AccountID, `"roles":[]`), "options.scope"},
			{create, `{"clientKey":"` + s.ClientKey + `","accountId":"` + s.AccountID + `","options":null}`, "options"},
			{create, arguments(s.AccountID, `"scope":[],"sub":"x"`), "options.sub"},
			{create, arguments(s.AccountID, `"scope":null`), "options.scope"},
			{create, `{"clientKey":"` + s.ClientKey + `","accountId":1,"scope":[]}`, "scope"},
			{revoke, `{"clientKey":"` + s.ClientKey + `"}`, "jti"},
			{revoke, `{"clientKey":"` + s.ClientKey + `","jti":"x","accountId":"y"}`, "accountId"},
			{revokeAll, `{"accountId":"` + s.AccountID + `"}`, "clientKey"},
		} {
			fault := s.refused(t, s.as(t, "", "POST", c[0], c[1]), 400, "invalidArgument.body")
			if children(fault)[c[2]] == "" {
				t.Errorf("%s: %v", c[1], children(fault))
			}
		}
		fault := s.refused(t, s.as(t, "", "POST", create, arguments(s.AccountID, `"scope":[],"maxUses":0,"permanent":true,"expiresIn":0`)), 400, "invalidArgument.option")
		if reasons := children(fault); reasons["options.maxUses"] == "" || reasons["options.expiresIn"] == "" {
			t.Errorf("%v", reasons)
		}
		fault = s.refused(t, s.as(t, "", "POST", create, arguments(s.AccountID, `"scope":["object.read","object.red"]`)), 400, "invalidArgument.authScope")
		if reasons := children(fault); reasons["options.scope[1]"] == "" {
			t.Errorf("%v", reasons)
		}
	})
}

func TestListsOfScriptsAndViews(t *testing.T) {
	t.Parallel()
	s := start(t)
	for path, want := range map[string][]any{
		"/routes": {
			value{"_id": "createAuthToken", "object": "script", "arguments": []any{"clientKey", "accountId", "options"}},
			value{"_id": "echo", "object": "script", "arguments": []any{}},
			value{"_id": "mint_and_revoke", "object": "script", "arguments": []any{"app", "sub", "scope", "roles", "skipAcl", "bypassCreateAcl",
				"grant", "maxUses", "permanent", "expiresIn", "notBefore", "claims", "name"}},
			value{"_id": "revokeAuthToken", "object": "script", "arguments": []any{"clientKey", "jti"}},
			value{"_id": "revokeSubjectTokens", "object": "script", "arguments": []any{"clientKey", "accountId"}},
			value{"_id": "whoami", "object": "script", "arguments": []any{}},
		},
		"/views": {
			value{"_id": "message_token", "object": "view", "arguments": []any{}},
			value{"_id": "messages", "object": "view", "arguments": []any{"paths[]", "limit", "where", "sort", "skip", "count"}},
		},
	} {
		t.Run(path, func(t *testing.T) {
			if diff := cmp.Diff(want, items(t, s.bearing(t, s.NarrowToken, "GET", path, "").ok(t), false)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			last := url.QueryEscape(`{"_id":-1}`)
			if diff := cmp.Diff(want[len(want)-1:], items(t, s.as(t, "", "GET", path+"?limit=1&sort="+last, "").ok(t), true)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			s.refused(t, s.do(t, call{path: path, unsigned: true}), 401, "accessDenied.noCredentialsSupplied")
		})
	}
}

func TestViews(t *testing.T) {
	t.Parallel()
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

// TestFieldsOfFailures checks that the failure of a store stays a failure, whatever
// it wraps.
func TestFieldsOfFailures(t *testing.T) {
	t.Parallel()
	missing := &auth.Error{Detail: auth.DetailNotFound, Path: "sub"}
	failed := storeFailed(missing)
	if got := inFields(failed, createFields); !errors.Is(got, auth.ErrUnavailable) {
		t.Errorf("a store that failed: %v", got)
	}
	if got := inFields(missing, createFields); got.(*auth.Error).Path != "accountId" || missing.Path != "sub" {
		t.Errorf("%v", got)
	}
}
