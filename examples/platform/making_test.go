package main

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
)

// The tests of this file check who may make something, until when it lasts, and
// what a refusal leaves behind.

// token mints a token for the administrator's account with the demo's signing key.
func (s *server) adminToken(t *testing.T, more string, chains ...string) string {
	t.Helper()
	scope := `"` + strings.Join(chains, `","`) + `"`
	if chains == nil {
		scope = ""
	}
	return s.mint(t, "", `{"sub":"`+s.AdminAccountID+`","scope":[`+scope+`]`+more+`}`)["token"].(string)
}

// app makes an app with the demo's signing key.
func (s *server) app(t *testing.T, credential string) value {
	t.Helper()
	return s.as(t, "", "POST", "/apps", `{"name":"x","credential":{`+credential+`}}`).ok(t)
}

// signer acts as an app of the org.
func (s *server) signer(app value) *server {
	by := *s
	by.ClientKey, by.ClientSecret = app["_id"].(string), app["secret"].(string)
	return &by
}

func (s *server) account(t *testing.T, body string) value {
	t.Helper()
	return s.as(t, "", "POST", "/admin/accounts", body).ok(t)
}

// M06: only a fresh session may make what outlives it.
func TestM06StepUp(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "platform.db")
	s := start(t, "-db", sqliteDB+file)
	b := s.browser(t)
	change(t, file, "UPDATE platform_accounts SET record = json_remove(record, '$.Changed')") // it is the server's start, and the session gets older below
	b.post(t, "/accounts/login", value{"email": s.AccountEmail, "password": s.AccountPassword}).ok(t)
	own := "/apps/" + s.ClientKey + "/tokens"
	change(t, file, "UPDATE tenantkit_v9_sessions SET authenticated = authenticated - 3600000")
	for _, more := range []string{`,"permanent":true`, `,"maxUses":1`, `,"expiresIn":3600`} {
		s.refused(t, b.send(t, "POST", own, wish(s.AccountID, more)), 403, "accessDenied.reauthenticationRequired")
	}
	b.send(t, "POST", own, wish(s.AccountID, `,"expiresIn":900`)).ok(t)
	b.post(t, "/accounts/me/reauthenticate", value{"password": s.AccountPassword}).ok(t)
	b.send(t, "POST", own, wish(s.AccountID, `,"permanent":true`)).ok(t)

	_, id := s.readerKey(t)
	keys, b := "/apps/"+s.ClientKey+"/keys", s.browser(t)
	b.post(t, "/accounts/login", value{"email": s.AdminEmail, "password": s.AdminPassword}).ok(t)
	change(t, file, "UPDATE tenantkit_v9_sessions SET authenticated = authenticated - 3600000")
	for path, body := range map[string]string{keys: `{"name":"x","scope":[]}`, keys + "/" + id + "/replace": `{"overlap":0}`} {
		s.refused(t, b.send(t, "POST", path, body), 403, "accessDenied.reauthenticationRequired")
	}
	b.send(t, "DELETE", keys+"/"+id, "").ok(t)
}

// change alters the database of a server.
func change(t *testing.T, file, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", sqliteSource(file, "_pragma=busy_timeout(60000)"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

// M10: a narrow token neither lists nor ends the tokens of its subject.
func TestM10NarrowTokensEndThemselvesOnly(t *testing.T) {
	t.Parallel()
	s := start(t)
	view := s.mint(t, "", `{"sub":"`+s.AccountID+`","scope":["view.execute.messages"],"permanent":true}`)
	victim := s.mint(t, "", wish(s.AccountID, `,"permanent":true`))
	token, path := view["token"].(string), s.tokensPath()+"/"
	s.scopeRefused(t, s.bearing(t, token, "GET", s.subjectPath(s.AccountID), ""), "admin.read")
	s.scopeRefused(t, s.bearing(t, token, "DELETE", s.subjectPath(s.AccountID), ""), "admin.update")
	s.scopeRefused(t, s.bearing(t, token, "DELETE", path+victim["jti"].(string), ""), "admin.update")
	s.scopeRefused(t, s.bearing(t, token, "DELETE", path+"unknown", ""), "admin.update")
	if !s.works(t, victim["token"].(string)) {
		t.Error("ended all the same")
	}
	s.bearing(t, token, "DELETE", path+view["jti"].(string), "").ok(t)
	if s.works(t, token) {
		t.Error("accepted after it has revoked itself")
	}
	allowed := s.mint(t, "", `{"sub":"`+s.AccountID+`","scope":["admin"],"expiresIn":60}`)["token"].(string)
	s.bearing(t, allowed, "GET", s.subjectPath(s.AccountID), "").ok(t)
	s.bearing(t, allowed, "DELETE", path+victim["jti"].(string), "").ok(t)
}

// M14: a signing key with a scope does what its chains permit.
func TestM14ScopeOfASigningKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	by := *s
	by.ClientKey, by.ClientSecret = s.NarrowClientKey, s.NarrowClientSecret
	by.as(t, "", "GET", "/c_messages?limit=1", "").ok(t)
	if me := by.as(t, "", "GET", "/accounts/me", "").ok(t); me["_id"] != s.AccountID {
		t.Errorf("acts as %v", me["_id"])
	}
	for _, c := range [][3]string{
		{"POST", "/c_messages", "object.create.c_message"},
		{"GET", "/c_conversations", "object.read.c_conversation"},
		{"GET", "/views/messages", "view.execute.messages"},
	} {
		fault := s.refused(t, by.as(t, "", c[0], c[1], `{"c_text":"x"}`), 403, "accessDenied.scope")
		if fault["reason"] != c[2] {
			t.Errorf("%s %s: reason %v", c[0], c[1], fault["reason"])
		}
	}
	one := "/apps/" + s.NarrowClientKey
	if got := s.as(t, "", "GET", one, "").ok(t)["credential"].(value)["scope"]; cmp.Diff([]any{"object.read.c_message"}, got) != "" {
		t.Errorf("scope %v", got)
	}
	fault := s.refused(t, s.as(t, "", "PATCH", one, `{"credential":{"scope":["object.raed"]}}`), 400, "invalidArgument.authScope")
	if children(fault)["credential.scope[0]"] == "" {
		t.Errorf("%v", children(fault))
	}
	s.as(t, "", "PATCH", one, `{"credential":{"scope":null}}`).ok(t)
	by.as(t, "", "GET", "/c_conversations?limit=1", "").ok(t)
}

// M17: whoever may call a route may end things and narrow them.
func TestM17EndingIsNeverRefused(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := s.account(t, `{"email":"b@acme.example","roles":["administrator","member"]}`)["_id"].(string)
	app := s.app(t, `"account":"`+s.AdminAccountID+`","accounts":["`+b+`"]`)["_id"].(string)
	s.as(t, "", "POST", "/admin/roles", `{"name":"writer","scope":["object.update","object.delete"]}`).ok(t)
	token := s.adminToken(t, `,"expiresIn":60`, "admin.update")
	for _, c := range [][3]string{
		{"PATCH", "/apps/" + app, `{"credential":{"accounts":[]}}`},
		{"PATCH", "/apps/" + app, `{"credential":{"notAfter":4000000000}}`},
		{"PATCH", "/apps/" + app, `{"credential":{"notAfter":3000000000,"notBefore":1000000000}}`},
		{"PATCH", "/apps/" + app, `{"credential":{"networks":["127.0.0.0/8"]}}`},
		{"PATCH", "/apps/" + app, `{"credential":{"networks":["127.1.0.0/16"],"scope":["object","admin"]}}`},
		{"PATCH", "/apps/" + app, `{"credential":{"scope":["object.read"]}}`},
		{"PATCH", "/apps/" + app, `{"credential":{"scope":[]}}`},
		{"PATCH", "/apps/" + app, `{"name":"renamed","disabled":true}`},
		{"DELETE", "/apps/" + app, ""},
		{"PATCH", "/admin/accounts/" + b, `{"roles":["member"],"tokensFrom":1700000000}`},
		{"PATCH", "/admin/accounts/" + b, `{"name":"Renamed","disabled":true}`},
		{"POST", "/admin/accounts/" + b + "/deactivate", ""},
		{"PATCH", "/admin/roles/writer", `{"scope":["object.update.c_message"]}`},
		{"PATCH", "/admin/roles/writer", `{"scope":[]}`},
		{"DELETE", "/admin/roles/writer", ""},
		{"PATCH", "/admin/settings", `{"idle":60,"maxSession":3600,"requireSecondFactor":true,"sessionsPerAccount":2}`},
	} {
		t.Run(c[0]+" "+c[2], func(t *testing.T) { s.bearing(t, token, c[0], c[1], c[2]).ok(t) })
	}
	s.refused(t, s.bearing(t, token, "PATCH", "/admin/settings", `{"idle":60,"sessionsPerAccount":100}`), 403, "accessDenied.delegation")
}

// null removes a restriction, and so widens the credential. It passes the same
// check.
func TestNullUnsets(t *testing.T) {
	t.Parallel()
	s := start(t)
	const all = `"notBefore":1000000000,"notAfter":4000000000,"networks":["127.0.0.0/8"],"scope":["object","admin"]`
	key := s.app(t, `"account":"`+s.AdminAccountID+`","accounts":["`+s.AccountID+`"],`+all)["_id"].(string)
	one := "/apps/" + key
	token := s.adminToken(t, `,"expiresIn":60`, "")
	narrow := s.adminToken(t, `,"expiresIn":60`, "admin", "object")
	before := s.as(t, "", "GET", one, "").ok(t)
	for _, field := range []string{"notBefore", "notAfter", "networks", "scope"} {
		t.Run("M15 "+field+", by a token that ends", func(t *testing.T) {
			body := `{"credential":{"` + field + `":null}}`
			for _, token := range []string{token, narrow} {
				s.refused(t, s.bearing(t, token, "PATCH", one, body), 403, "accessDenied.delegation")
			}
			if diff := cmp.Diff(before, s.as(t, "", "GET", one, "").ok(t)); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
		})
	}
	t.Run("M15 by a signing key that is bound by the same", func(t *testing.T) {
		by := s.signer(s.app(t, `"account":"`+s.AdminAccountID+`",`+all))
		for _, c := range [][2]string{{"notAfter", "credential.notAfter"}, {"networks", "credential.networks"}, {"scope", "credential.scope"}} {
			got := by.as(t, "", "PATCH", "/apps/"+by.ClientKey, `{"credential":{"`+c[0]+`":null}}`)
			reasons := children(s.refused(t, got, 403, "accessDenied.delegation"))
			if _, named := reasons[c[1]]; !named || len(reasons) != 1 {
				t.Errorf("%s: %v", c[0], reasons)
			}
		}
	})
	t.Run("by one that is bound by nothing", func(t *testing.T) {
		s.as(t, "", "PATCH", one, `{"exposeKeys":true}`).ok(t)
		got := s.as(t, "", "PATCH", one, `{"exposeKeys":null,"credential":{"notBefore":null,"notAfter":null,"networks":null,"scope":null,"accounts":null}}`).ok(t)
		want := value{"account": s.AdminAccountID, "accounts": []any{}, "scope": nil, "notBefore": nil, "notAfter": nil, "networks": nil,
			"minVersion": 1.0, "publicKey": nil, "secrets": 1.0, "secretEnds": []any{}}
		of := got["credential"].(value)
		delete(of, "created")
		delete(of, "maker")
		if diff := cmp.Diff(want, of); diff != "" || got["exposeKeys"] != false {
			t.Errorf("exposeKeys %v (-want +got):\n%s", got["exposeKeys"], diff)
		}
	})
	t.Run("M17 the accounts that it acts as, by anybody who may change it", func(t *testing.T) {
		got := s.bearing(t, token, "PATCH", one, `{"credential":{"account":null}}`).ok(t)
		if got["credential"].(value)["account"] != nil {
			t.Errorf("%v", got)
		}
	})
	t.Run("an account's name", func(t *testing.T) {
		if got := s.bearing(t, token, "PATCH", "/admin/accounts/"+s.AccountID, `{"name":null}`).ok(t); got["name"] != "" {
			t.Errorf("%v", got)
		}
	})
	t.Run("not what must be said", func(t *testing.T) {
		for path, fields := range map[string][]string{
			one:                              {"name", "disabled", "credential"},
			"/admin/accounts/" + s.AccountID: {"roles", "disabled", "resetSecondFactor", "tokensFrom"},
		} {
			for _, field := range fields {
				fault := s.refused(t, s.as(t, "", "PATCH", path, `{"`+field+`":null}`), 400, "invalidArgument.body")
				if children(fault)[field] == "" {
					t.Errorf("%s: %v", field, children(fault))
				}
			}
		}
	})
}

func TestSecretGrace(t *testing.T) {
	t.Parallel()
	s := start(t)
	by := s.signer(s.app(t, `"account":"`+s.AccountID+`"`))
	one := "/apps/" + by.ClientKey
	first := by.ClientSecret
	secrets := func() any { return s.as(t, "", "GET", one, "").ok(t)["credential"].(value)["secrets"] }
	s.as(t, "", "POST", one+"/secret", `{"grace":60}`).ok(t)
	if got := secrets(); got != 2.0 {
		t.Errorf("%v live, want 2", got)
	}
	by.as(t, "", "GET", "/accounts/me", "").ok(t)
	by.ClientSecret = s.as(t, "", "POST", one+"/secret", `{"grace":0}`).ok(t)["data"].(value)["secret"].(string)
	if got := secrets(); got != 1.0 {
		t.Errorf("%v live, want 1", got)
	}
	by.as(t, "", "GET", "/accounts/me", "").ok(t)
	by.ClientSecret = first
	s.refused(t, by.as(t, "", "GET", "/accounts/me", ""), 401, "accessDenied.invalidRequestSignature")
	for _, body := range []string{`{"grace":-1}`, `{"grace":31536001}`, `{"grace":"1h"}`, `{"life":1}`} {
		s.refused(t, s.as(t, "", "POST", one+"/secret", body), 400, "invalidArgument.body")
	}
	if got := secrets(); got != 1.0 {
		t.Errorf("%v live after refusals, want 1", got)
	}
}

func TestAccountsCanBeChanged(t *testing.T) {
	t.Parallel()
	s := start(t)
	one := "/admin/accounts/" + s.TOTPAccountID
	ephemeral := s.mint(t, "", wish(s.TOTPAccountID, ""))["token"].(string)
	got := s.as(t, "", "PATCH", one, `{"name":"Theodor","roles":[]}`).ok(t)
	if got["name"] != "Theodor" || len(got["roles"].([]any)) != 0 || got["tokensFrom"] != nil {
		t.Errorf("%v", got)
	}
	if diff := cmp.Diff(got, s.as(t, "", "GET", one, "").ok(t)); diff != "" {
		t.Error(diff)
	}
	t.Run("M09 tokens signed before a time are over", func(t *testing.T) {
		if !s.works(t, ephemeral) {
			t.Fatal("not accepted")
		}
		from := time.Now().Add(20 * time.Second).Unix()
		s.as(t, "", "PATCH", one, fmt.Sprintf(`{"tokensFrom":%d}`, from)).ok(t)
		if s.works(t, ephemeral) {
			t.Error("accepted after its end")
		}
		data := s.mint(t, "", wish(s.TOTPAccountID, ""))
		if iat := claimsOf(t, data["token"])["iat"]; iat != float64(from) {
			t.Errorf("iat %v, want %d", iat, from)
		}
		if !s.works(t, data["token"].(string)) {
			t.Error("a new one is refused")
		}
		for _, at := range []int64{from - 10, time.Now().Add(time.Hour).Unix()} {
			fault := s.refused(t, s.as(t, "", "PATCH", one, fmt.Sprintf(`{"tokensFrom":%d}`, at)), 400, "invalidArgument.body")
			if children(fault)["tokensFrom"] == "" {
				t.Errorf("%v", children(fault))
			}
		}
	})
	t.Run("a second factor that is reset", func(t *testing.T) {
		b := s.browser(t)
		s.refused(t, b.post(t, "/accounts/login", value{"email": s.TOTPAccountEmail, "password": s.TOTPPassword}), 403, "accessDenied.unverifiedLocation")
		s.as(t, "", "PATCH", one, `{"resetSecondFactor":true}`).ok(t)
		s.browser(t).post(t, "/accounts/login", value{"email": s.TOTPAccountEmail, "password": s.TOTPPassword}).ok(t)
	})
	t.Run("disabled, and activated again", func(t *testing.T) {
		data := s.mint(t, "", wish(s.TOTPAccountID, ""))["token"].(string)
		if got := s.as(t, "", "PATCH", one, `{"disabled":true}`).ok(t); got["disabled"] != true || got["tokensFrom"] == nil {
			t.Errorf("%v", got)
		}
		s.refused(t, s.browser(t).post(t, "/accounts/login", value{"email": s.TOTPAccountEmail, "password": s.TOTPPassword}), 401, "accessDenied.invalidCredentials")
		for range 70 { // which do not move tokensFrom by more than a minute
			s.as(t, "", "PATCH", one, `{"name":"Theodor"}`).ok(t)
		}
		if got := s.as(t, "", "POST", one+"/activate", "").ok(t); got["disabled"] != false {
			t.Errorf("%v", got)
		}
		s.browser(t).post(t, "/accounts/login", value{"email": s.TOTPAccountEmail, "password": s.TOTPPassword}).ok(t)
		if s.works(t, data) {
			t.Error("an ephemeral token of before is accepted again")
		}
		s.mint(t, "", wish(s.TOTPAccountID, ""))
	})
	t.Run("bodies that are refused", func(t *testing.T) {
		for body, path := range map[string]string{
			`{"roles":["king"]}`:                          "roles",
			`{"roles":["member","member"]}`:               "roles",
			`{"roles":null}`:                              "roles",
			`{"email":"x@y.example"}`:                     "email",
			`{"tokensFrom":"soon"}`:                       "tokensFrom",
			`{"disabled":1}`:                              "disabled",
			`{"name":"` + strings.Repeat("x", 257) + `"}`: "name",
		} {
			fault := s.refused(t, s.as(t, "", "PATCH", one, body), 400, "invalidArgument.body")
			if children(fault)[path] == "" {
				t.Errorf("%s: %v", body, children(fault))
			}
		}
		s.refused(t, s.as(t, "", "PATCH", "/admin/accounts/"+s.OtherAccountID, `{"name":"x"}`), 404, "notFound.unspecified")
	})
}

func TestTheLastAdministrator(t *testing.T) {
	t.Parallel()
	s := start(t)
	last := "/admin/accounts/" + s.AdminAccountID
	for _, c := range [][3]string{
		{"POST", last + "/deactivate", ""}, {"PATCH", last, `{"disabled":true}`}, {"PATCH", last, `{"roles":["member"]}`},
	} {
		s.refused(t, s.as(t, "", c[0], c[1], c[2]), 409, "conflict.unspecified")
	}
}

// Several changes at once, each of which ends an administrator: one administrator
// stays.
func TestConcurrentEndsOfAdministrators(t *testing.T) {
	t.Parallel()
	s, ctx := newStore(t), t.Context()
	if err := putOrg(ctx, s.db, auth.Org{Code: acme}); err != nil {
		t.Fatal(err)
	}
	const many = 8
	refused := make(chan error, many)
	for i := range many {
		if err := s.addAccount(ctx, demoAccount(acme, i, fmt.Sprintf("A%d", i), administrator), ""); err != nil {
			t.Fatal(err)
		}
	}
	for i := range many {
		go func() {
			refused <- s.locked(ctx, acme, func(tx *sql.Tx) error {
				_, err := changeAccount(ctx, tx, acme, demoID(acme, "account", i), func(a *account) error {
					a.Disabled = i%2 == 0
					a.Roles = []string{member}
					return nil
				})
				return err
			})
		}()
	}
	kept := 0
	for range many {
		if err := <-refused; err != nil {
			kept++
			if e, ok := errors.AsType[*auth.Error](err); !ok || e.Detail != auth.DetailConflict {
				t.Error(err)
			}
		}
	}
	if kept != 1 {
		t.Errorf("%d administrators are left, want 1", kept)
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	s := start(t)
	made := s.as(t, "", "POST", "/admin/roles", `{"name":"watcher","scope":["object.read.c_message"]}`).ok(t)
	want := value{"_id": "watcher", "object": "role", "scope": []any{"object.read.c_message"}}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.refused(t, s.as(t, "", "POST", "/admin/roles", `{"name":"watcher","scope":[]}`), 409, "conflict.unspecified")
	listed := items(t, s.as(t, "", "GET", "/admin/roles", "").ok(t), false)
	if len(listed) != 4 || cmp.Diff(want, listed[3].(value)) != "" {
		t.Errorf("%v", listed)
	}
	b := s.account(t, `{"email":"r@acme.example","roles":["watcher"]}`)["_id"].(string)
	token := s.mint(t, "", `{"sub":"`+b+`","scope":[],"expiresIn":600}`)["token"].(string)
	s.bearing(t, token, "GET", "/c_messages?limit=1", "").ok(t)
	s.scopeRefused(t, s.bearing(t, token, "GET", "/c_conversations", ""), "object.read.c_conversation")
	t.Run("M17 a role that was deleted can be kept and taken away", func(t *testing.T) {
		s.as(t, "", "POST", "/admin/roles", `{"name":"brief","scope":[]}`).ok(t)
		c := s.account(t, `{"email":"c@acme.example","roles":["brief","member"]}`)["_id"].(string)
		s.as(t, "", "DELETE", "/admin/roles/brief", "").ok(t)
		s.as(t, "", "PATCH", "/admin/accounts/"+c, `{"roles":["brief"]}`).ok(t)
		s.as(t, "", "PATCH", "/admin/accounts/"+c, `{"roles":[]}`).ok(t)
		s.refused(t, s.as(t, "", "PATCH", "/admin/accounts/"+c, `{"roles":["brief"]}`), 400, "invalidArgument.body")
	})
	t.Run("M16 a token has what its subject's roles gain and lose", func(t *testing.T) {
		s.as(t, "", "PATCH", "/admin/roles/watcher", `{"scope":["object.read.c_message","object.read.c_conversation"]}`).ok(t)
		s.bearing(t, token, "GET", "/c_conversations?limit=1", "").ok(t)
		s.as(t, "", "DELETE", "/admin/roles/watcher", "").ok(t)
		s.scopeRefused(t, s.bearing(t, token, "GET", "/c_messages", ""), "object.read.c_message")
		s.refused(t, s.as(t, "", "DELETE", "/admin/roles/watcher", ""), 404, "notFound.unspecified")
	})
	for body, path := range map[string]string{
		`{}`: "name", `{"name":"a b","scope":[]}`: "name", `{"name":"x","scope":null}`: "scope",
	} {
		fault := s.refused(t, s.as(t, "", "POST", "/admin/roles", body), 400, "invalidArgument.body")
		if children(fault)[path] == "" {
			t.Errorf("%s: %v", body, children(fault))
		}
	}
	s.refused(t, s.as(t, "", "POST", "/admin/roles", `{"name":"x","scope":["object.raed"]}`), 400, "invalidArgument.authScope")
}

func TestSettings(t *testing.T) {
	t.Parallel()
	s := start(t)
	want := value{"_id": "acme", "object": "settings", "idle": 1800.0, "maxSession": 43200.0, "requireSecondFactor": false, "sessionsPerAccount": 100.0, "rememberDevices": 30.0}
	if diff := cmp.Diff(want, s.as(t, "", "GET", "/admin/settings", "").ok(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got := s.as(t, "", "PATCH", "/admin/settings", `{"requireSecondFactor":true,"idle":60}`).ok(t)
	want["idle"], want["requireSecondFactor"], want["rememberDevices"] = 60.0, true, 0.0
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	refused := s.browser(t).post(t, "/accounts/login", value{"email": s.AccountEmail, "password": s.AccountPassword})
	if fault := s.refused(t, refused, 403, "accessDenied.unverifiedLocation"); fault["reason"] != "enrol" {
		t.Errorf("%v", fault)
	}
	for _, body := range []string{`{"idle":0}`, `{"maxSession":-1}`, `{"sessionsPerAccount":1001}`, `{"sessionsPerAccount":0}`, `{"idle":"30m"}`} {
		s.refused(t, s.as(t, "", "PATCH", "/admin/settings", body), 400, "invalidArgument.body")
	}
}
