package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/token"
)

// scopesOf returns the scope of each listed token by its id. nil is unknown.
func (s *server) scopesOf(t *testing.T, path string) map[string]any {
	t.Helper()
	scopes := map[string]any{}
	for _, item := range s.do(t, call{path: path}).ok(t)["data"].([]any) {
		scopes[item.(value)["_id"].(string)] = item.(value)["scope"]
	}
	return scopes
}

func TestListedTokensHaveTheirScope(t *testing.T) {
	t.Parallel()
	s, p := inside(t)
	path := "/apps/" + s.ClientKey + "/tokens"
	all := s.mint(t, "", `{"sub":"`+s.AccountID+`","scope":["*"],"permanent":true}`)["jti"].(string)
	none := s.mint(t, "", `{"sub":"`+s.AccountID+`","scope":[],"permanent":true}`)["jti"].(string)
	two := s.mint(t, "", `{"sub":"`+s.AccountID+`","scope":["object.read.c_message","admin.read"],"maxUses":3}`)["jti"].(string)
	_, elsewhere, err := p.tokens.mechanism.Minter(p.guard).Permanent(t.Context(), token.Claims{
		Issuer: s.ClientKey, Audience: s.BaseURL + "/acme/v2", Subject: s.AccountID, Scope: []string{"view"}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{all: []any{"*"}, none: []any{}, two: []any{"object.read.c_message", "admin.read"}, elsewhere.ID: nil}
	for _, path := range []string{path, "/apps/" + s.ClientKey + "/subjects/" + s.AccountID + "/tokens"} {
		got := s.scopesOf(t, path)
		for id, scope := range want {
			if diff := cmp.Diff(scope, got[id]); diff != "" {
				t.Errorf("%s %s: %s", path, id, diff)
			}
		}
	}
}

func TestScopesOfEndedTokensAreForgotten(t *testing.T) {
	t.Parallel()
	s, p := inside(t)
	var ids []string
	for range 3 {
		ids = append(ids, s.mint(t, "", `{"sub":"`+s.AccountID+`","scope":[],"permanent":true}`)["jti"].(string))
	}
	s.as(t, "", "DELETE", "/apps/"+s.ClientKey+"/tokens/"+ids[0], "").ok(t)
	if got := kept(t, p, s.ClientKey); !slices.Contains(got, ids[0]) {
		t.Errorf("a new row is gone: %v", got)
	}
	if _, err := p.store.db.Exec("UPDATE platform_token_scopes SET minted = $1", time.Now().Add(-time.Hour).Unix()); err != nil {
		t.Fatal(err)
	}
	last := s.mint(t, "", `{"sub":"`+s.AccountID+`","scope":[],"permanent":true}`)["jti"].(string)
	if got := kept(t, p, s.ClientKey); slices.Contains(got, ids[0]) || !slices.Contains(got, ids[1]) || !slices.Contains(got, last) {
		t.Errorf("%v of %v and %s", got, ids, last)
	}
	s.as(t, "", "DELETE", "/apps/"+s.ClientKey, "").ok(t)
	if got := kept(t, p, s.ClientKey); len(got) != 0 {
		t.Errorf("of a deleted app: %v", got)
	}
}

// TestRolesOfAListedToken: without them, a token that its roles let do everything would look harmless.
func TestRolesOfAListedToken(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.as(t, "", "POST", "/admin/roles", `{"name":"auditor","scope":["admin.read"]}`).ok(t)
	id := s.mint(t, "", `{"sub":"`+s.AccountID+`","scope":[],"roles":["auditor"],"permanent":true}`)["jti"].(string)
	for _, item := range s.do(t, call{path: s.tokensPath()}).ok(t)["data"].([]any) {
		token := item.(value)
		if diff := cmp.Diff([]any{"auditor"}, token["roles"]); token["_id"] == id && diff != "" {
			t.Error(diff)
		}
	}
}

// TestAMintedTokenIsNotLost: it counts against the tokens of its subject, so the caller must get it.
func TestAMintedTokenIsNotLost(t *testing.T) {
	t.Parallel()
	s, p := inside(t)
	if _, err := p.store.db.Exec("ALTER TABLE platform_token_scopes RENAME TO elsewhere"); err != nil {
		t.Fatal(err)
	}
	s.mint(t, "", `{"sub":"`+s.AccountID+`","scope":[],"permanent":true}`)
}

// TestForgettingHasAnIndex: an app may have tokens for many subjects, and each mint forgets those of one.
func TestForgettingHasAnIndex(t *testing.T) {
	t.Parallel()
	_, p := inside(t)
	var plan string
	err := p.store.db.QueryRow("EXPLAIN QUERY PLAN DELETE FROM platform_token_scopes WHERE org = '' AND client_key = '' AND subject = ''").
		Scan(new(int), new(int), new(int), &plan)
	if err != nil || !strings.Contains(plan, "subject=?") {
		t.Errorf("%s %v", plan, err)
	}
}

func kept(t *testing.T, p *platform, clientKey string) (ids []string) {
	t.Helper()
	all, err := findAll[tokenScope](context.Background(), p.store.db, "SELECT record FROM platform_token_scopes WHERE client_key = $1", clientKey)
	if err != nil {
		t.Fatal(err)
	}
	return each(all, func(s *tokenScope) string { return s.ID })
}

// TestWhatACredentialHolds asks by each kind what it holds itself.
func TestWhatACredentialHolds(t *testing.T) {
	t.Parallel()
	s := start(t)
	narrow := *s
	narrow.ClientKey, narrow.ClientSecret = s.NarrowClientKey, s.NarrowClientSecret
	for name, test := range map[string]struct {
		got  answer
		want []any
	}{
		"a session":               {s.signedIn(t, s.AccountEmail, s.AccountPassword).get(t, "/accounts/me?scope=true"), []any{"*"}},
		"a signature":             {s.do(t, call{path: "/accounts/me?scope=true"}), []any{"*"}},
		"a restricted credential": {narrow.do(t, call{path: "/accounts/me?scope=true"}), []any{"object.read.c_message"}},
		"a token":                 {s.bearing(t, s.NarrowToken, "GET", "/accounts/me?scope=true", ""), []any{"object.read.c_message.*.c_text"}},
		"an API key":              {s.bearing(t, s.APIKey, "GET", "/accounts/me?scope=true", ""), []any{"object.read.c_message"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(any(test.want), test.got.ok(t)["scope"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKeysOfAllApps(t *testing.T) {
	t.Parallel()
	s := start(t)
	other := s.as(t, "", "POST", "/apps", `{"name":"second"}`).ok(t)["_id"].(string)
	made := s.as(t, "", "POST", "/apps/"+other+"/keys", `{"name":"own","scope":[]}`).ok(t)["_id"].(string)
	list := func(got answer) (apps []string) {
		for _, item := range got.ok(t)["data"].([]any) {
			apps = append(apps, fmt.Sprint(item.(value)["_id"], " ", item.(value)["app"]))
		}
		slices.Sort(apps)
		return apps
	}
	want := []string{made + " " + other, s.APIKeyID + " " + s.ClientKey}
	slices.Sort(want)
	if diff := cmp.Diff(want, list(s.do(t, call{path: "/keys"}))); diff != "" {
		t.Error(diff)
	}
	mia := s.signedIn(t, s.AccountEmail, s.AccountPassword)
	if diff := cmp.Diff([]string{s.APIKeyID + " " + s.ClientKey}, list(mia.get(t, "/keys"))); diff != "" {
		t.Errorf("of others: %s", diff)
	}
	s.scopeRefused(t, s.bearing(t, s.NarrowToken, "GET", "/keys", ""), "admin.read")
	s.refused(t, s.do(t, call{path: "/keys", unsigned: true}), 401, "accessDenied.noCredentialsSupplied")
}

func TestARenameIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	s := start(t)
	app := s.as(t, "", "POST", "/apps", `{"name":"new"}`).ok(t)["_id"].(string)
	verbs := func() (all []string) {
		events, _ := s.events(t, "where", `{"app":"`+app+`"}`, "sort", `{"n":1}`)
		for _, e := range events {
			all = append(all, e["verb"].(string))
		}
		return all
	}
	before := len(verbs())
	for _, step := range []struct {
		body string
		want []string
	}{
		{`{"name":"other"}`, []string{"app.changed"}},
		{`{"name":"other"}`, nil},
		{`{"disabled":true}`, []string{"app.changed"}},
		{`{"name":"third","credential":{"scope":[]}}`, []string{"credential.restricted", "app.changed"}},
	} {
		s.as(t, "", "PATCH", "/apps/"+app, step.body).ok(t)
		all := verbs()
		if got := all[before:]; !slices.Equal(got, step.want) {
			t.Errorf("%s: %v", step.body, got)
		}
		before = len(all)
	}
	s.expectChain(t)
}
