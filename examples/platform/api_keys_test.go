package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// apiKey makes an API key of the demo app, as its administrator. The fields come after the name.
func (s *server) apiKey(t *testing.T, fields string) (key, id string) {
	t.Helper()
	made := s.as(t, "", "POST", "/apps/"+s.ClientKey+"/keys", `{"name":"Partner Ltd",`+fields+`}`).ok(t)
	return made["key"].(string), made["_id"].(string)
}

func (s *server) readerKey(t *testing.T) (key, id string) {
	t.Helper()
	return s.apiKey(t, `"account":"`+s.AccountID+`","scope":["object.read.c_message"]`)
}

// reads returns the status of a request for messages with a key.
func (s *server) reads(t *testing.T, key string) int {
	t.Helper()
	return s.bearing(t, key, "GET", "/c_messages?limit=1", "").status
}

func TestTheLifeOfAnAPIKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	all := "/apps/" + s.ClientKey + "/keys"
	key, id := s.readerKey(t)
	if got := s.reads(t, key); got != 200 || !strings.HasPrefix(key, "service_live_"+id) {
		t.Fatalf("%d with the key %s", got, id)
	}
	if me := s.bearing(t, key, "GET", "/accounts/me", "").ok(t); me["_id"] != s.AccountID {
		t.Errorf("it acts as %v", me["_id"])
	}
	if got := s.bearing(t, key, "DELETE", "/c_messages/"+demoID(acme, "c_message", 1), ""); got.status != 403 {
		t.Errorf("beyond its scope: %d", got.status)
	}
	listed := s.as(t, "", "GET", all, "")
	if strings.Contains(listed.text, key[len("service_live_")+13:]) {
		t.Error("the list has the secret")
	}
	one := items(t, s.as(t, "", "GET", all+"?where=%7B%22_id%22%3A%22"+id+"%22%7D", "").ok(t), false)[0].(value)
	if one["_id"] != id || one["lastAddress"] != "127.0.0.0/24" || one["lastUsed"] == nil || one["maker"] != s.AdminAccountID || one["key"] != nil {
		t.Errorf("%v", one)
	}

	next := s.as(t, "", "POST", all+"/"+id+"/replace", `{"overlap":600,"expires":"2300-01-02T03:04:05Z"}`).ok(t)
	if next["expires"] != "2300-01-02T03:04:05.000Z" {
		t.Errorf("the new key ends %v", next["expires"])
	}
	later := s.as(t, "", "POST", all+"/"+next["_id"].(string)+"/replace", "").ok(t)
	if later["expires"] != next["expires"] || s.reads(t, next["key"].(string)) != 401 {
		t.Errorf("replaced without a body, the new key ends %v", later["expires"])
	}
	next = s.as(t, "", "POST", all+"/"+later["_id"].(string)+"/replace", `{"expires":null}`).ok(t)
	if got := s.as(t, "", "GET", all+"/"+next["_id"].(string), "").ok(t); got["expires"] != nil || got["object"] != "key" || got["key"] != nil {
		t.Errorf("%v", got)
	}
	for _, key := range []string{key, next["key"].(string)} {
		if got := s.reads(t, key); got != 200 {
			t.Errorf("during the overlap: %d", got)
		}
	}
	if ends, err := time.Parse(dateLayout, items(t, s.as(t, "", "GET", all+"?where=%7B%22_id%22%3A%22"+id+"%22%7D", "").ok(t), false)[0].(value)["expires"].(string)); err != nil || time.Until(ends) > 10*time.Minute {
		t.Errorf("the old key ends %v, %v", ends, err)
	}
	s.refused(t, s.as(t, "", "POST", all+"/"+id+"/replace", `{"overlap":0}`), 409, "conflict.unspecified")
	s.as(t, "", "DELETE", all+"/"+id, "").ok(t)
	if got := s.reads(t, key); got != 401 {
		t.Errorf("a revoked key: %d", got)
	}
	s.refused(t, s.as(t, "", "DELETE", all+"/"+id, ""), 404, "notFound.unspecified")
	if got := s.reads(t, next["key"].(string)); got != 200 {
		t.Errorf("its successor: %d", got)
	}
}

func TestPagesOfAPIKeys(t *testing.T) {
	t.Parallel()
	s := start(t)
	all := "/apps/" + s.ClientKey + "/keys"
	seen := map[string]bool{}
	for i := range 5 {
		_, id := s.apiKey(t, fmt.Sprintf(`"account":"%s","scope":[],"expires":%d`, s.AccountID, time.Now().Unix()+int64(86400*(i+1))))
		seen[id] = true
	}
	after := ""
	for page := range 3 { // of the five and the demo's own
		data := items(t, s.as(t, "", "GET", all+"?limit=2&where=%7B%22_id%22%3A%7B%22%24gt%22%3A%22"+after+"%22%7D%7D", "").ok(t), page < 2)
		for _, item := range data {
			after = item.(value)["_id"].(string)
			delete(seen, after)
		}
	}
	if len(seen) != 0 {
		t.Errorf("%v are on no page", seen)
	}
	soon := time.Now().Add(60 * time.Hour).UTC().Format(dateLayout)
	if data := items(t, s.as(t, "", "GET", all+"?where=%7B%22expires%22%3A%7B%22%24lt%22%3A%22"+soon+"%22%7D%7D", "").ok(t), false); len(data) != 3 {
		t.Errorf("%d keys end within 60 hours, want 3", len(data))
	}
}

// M26: whoever makes or replaces a key passes on no more than they hold.
func TestM26MakingAPIKeys(t *testing.T) {
	t.Parallel()
	s := start(t)
	all := "/apps/" + s.ClientKey + "/keys"
	wide, id := s.apiKey(t, `"account":"`+s.AdminAccountID+`","scope":[""]`)
	narrow := s.signer(s.app(t, `"account":"`+s.AdminAccountID+`","scope":["admin.update"],"networks":["127.0.0.0/8"]`))
	own := "/apps/" + narrow.ClientKey + "/keys"
	s.beyond(t, narrow.as(t, "", "POST", own, `{"name":"x","scope":["object"]}`), map[string]string{"scope": "object", "networks": ""})
	s.beyond(t, narrow.as(t, "", "POST", all+"/"+id+"/replace", `{"overlap":0}`), map[string]string{"scope": "*", "networks": ""})
	narrow.as(t, "", "POST", own, `{"name":"x","scope":["admin.update"],"networks":["127.0.0.0/16"]}`).ok(t)
	for _, c := range []struct{ name, method, path, body string }{
		{"make", "POST", all, `{"name":"x","scope":[]}`},
		{"make for another", "POST", all, `{"name":"x","account":"` + s.AdminAccountID + `","scope":[]}`},
		{"replace", "POST", all + "/" + id + "/replace", `{"overlap":0}`},
	} {
		t.Run(c.name+", by a key of an administrator", func(t *testing.T) {
			s.refused(t, s.bearing(t, wide, c.method, c.path, c.body), 403, "accessDenied.delegation")
		})
	}
	t.Run("make for another, by a member", func(t *testing.T) {
		s.beyond(t, s.as(t, s.AccountID, "POST", all, `{"name":"x","account":"`+s.AdminAccountID+`"}`), map[string]string{"account": ""})
	})
	for name, c := range map[string]struct {
		body   string
		status int
		detail string
	}{
		"an unknown owner":         {`{"name":"x","account":"nobody","scope":[]}`, 404, "notFound.unspecified"},
		"an unknown chain":         {`{"name":"x","scope":["nonsense"]}`, 400, "invalidArgument.authScope"},
		"an end that is past":      {`{"name":"x","expires":"2020-01-01T00:00:00Z"}`, 400, "invalidArgument.option"},
		"another org":              {`{"name":"x","scope":[],"org":"globex"}`, 400, "invalidArgument.body"},
		"a hash":                   {`{"name":"x","scope":[],"hash":"0"}`, 400, "invalidArgument.body"},
		"a name of two lines":      {`{"name":"x\ny","scope":[]}`, 400, "invalidArgument.body"},
		"a name with a zero byte":  {`{"name":"x\u0000y","scope":[]}`, 400, "invalidArgument.body"},
		"a name of 129 bytes":      {`{"name":"` + strings.Repeat("x", 129) + `","scope":[]}`, 400, "invalidArgument.body"},
		"networks that are one":    {`{"name":"x","scope":[],"networks":["192.0.2.1/24"]}`, 400, "invalidArgument.body"},
		"no networks at all":       {`{"name":"x","scope":[],"networks":[]}`, 400, "invalidArgument.body"},
		"more networks than it is": {`{"name":"x","scope":[],"networks":[` + strings.Repeat(`"192.0.2.0/24",`, 64) + `"192.0.2.0/24"]}`, 400, "invalidArgument.option"},
		"no uses":                  {`{"name":"x","scope":[],"uses":0}`, 400, "invalidArgument.body"},
	} {
		t.Run(name, func(t *testing.T) { s.refused(t, s.as(t, "", "POST", all, c.body), c.status, c.detail) })
	}
	t.Run("a key of another app does not exist", func(t *testing.T) {
		s.refused(t, s.as(t, "", "POST", own+"/"+id+"/replace", `{"overlap":0}`), 404, "notFound.unspecified")
		s.refused(t, s.as(t, "", "DELETE", own+"/"+id, ""), 404, "notFound.unspecified")
	})
	t.Run("a session that has just begun makes one", func(t *testing.T) {
		b := s.browser(t)
		b.post(t, "/accounts/login", value{"email": s.AdminEmail, "password": s.AdminPassword}).ok(t)
		b.post(t, all, value{"name": "x", "scope": []string{"object"}}).ok(t)
	})
	if got := s.reads(t, wide); got != 200 {
		t.Errorf("refusals have ended a key: %d", got)
	}
}

// M26: everybody handles the keys of their own account, and no others.
func TestM26OwnAPIKeys(t *testing.T) {
	t.Parallel()
	s := start(t)
	all := "/apps/" + s.ClientKey + "/keys"
	_, others := s.apiKey(t, `"account":"`+s.AdminAccountID+`","scope":[""]`)
	made := s.as(t, s.AccountID, "POST", all, `{"name":"mine","scope":["object.read.c_message"],"uses":9}`).ok(t)
	id, key := made["_id"].(string), made["key"].(string)
	if made["account"] != s.AccountID || made["maker"] != s.AdminAccountID || // the credential is hers
		made["maxUses"] != 9.0 {
		t.Errorf("%v", made)
	}
	if got := s.reads(t, key); got != 200 {
		t.Errorf("my key: %d", got)
	}
	listed := items(t, s.as(t, s.AccountID, "GET", all, "").ok(t), false)
	if len(listed) != 2 { // with that of the demo
		t.Errorf("%d keys are listed", len(listed))
	}
	for _, item := range listed {
		if item.(value)["account"] != s.AccountID {
			t.Errorf("%v", item)
		}
	}
	nothing := s.as(t, s.AccountID, "POST", all, `{"name":"no scope"}`).ok(t)
	if got := s.reads(t, nothing["key"].(string)); got != 403 {
		t.Errorf("without a scope: %d", got)
	}
	next := s.as(t, s.AccountID, "POST", all+"/"+nothing["_id"].(string)+"/replace", "").ok(t)["_id"].(string)
	for _, c := range []struct{ method, path string }{
		{"GET", all + "/" + others}, {"POST", all + "/" + others + "/replace"}, {"DELETE", all + "/" + others},
	} {
		s.refused(t, s.as(t, s.AccountID, c.method, c.path, ""), 404, "notFound.unspecified")
	}
	for _, narrow := range []string{s.NarrowToken, key} {
		for _, c := range []struct{ method, path string }{
			{"GET", all}, {"GET", all + "/" + id}, {"POST", all + "/" + id + "/replace"}, {"DELETE", all + "/" + id},
		} {
			if got := s.bearing(t, narrow, c.method, c.path, ""); got.status != 403 || !strings.Contains(got.text, `"service.accessDenied.scope"`) {
				t.Errorf("narrow, %s %s: %d %s", c.method, c.path, got.status, got.text)
			}
		}
	}
	s.refused(t, s.bearing(t, s.NarrowToken, "POST", all, `{"name":"x","scope":["object"]}`), 403, "accessDenied.delegation")
	s.as(t, s.AccountID, "DELETE", all+"/"+id, "").ok(t)
	s.as(t, s.AccountID, "DELETE", all+"/"+next, "").ok(t)
	if got := s.reads(t, s.APIKey); got != 200 {
		t.Errorf("the demo's key: %d", got)
	}
}

// M27: a key is not a session, and makes nothing that would outlive it.
func TestM27WhatAnAPIKeyCannotDo(t *testing.T) {
	t.Parallel()
	s := start(t)
	key, _ := s.apiKey(t, `"account":"`+s.AdminAccountID+`","scope":[""]`)
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/accounts/me/sessions", ""},
		{"POST", "/accounts/me/reauthenticate", `{"password":"` + s.AdminPassword + `"}`},
		{"POST", "/accounts/me/password", `{"password":"` + s.AdminPassword + `","newPassword":"correct horse battery"}`},
		{"GET", "/accounts/me/second-factor", ""},
		{"POST", "/accounts/me/second-factor", ""},
		{"POST", "/apps", `{"name":"x","credential":{"account":"` + s.AdminAccountID + `"}}`},
		{"POST", "/apps/" + s.ClientKey + "/secret", ""},
		{"POST", "/apps/" + s.ClientKey + "/tokens", wish(s.AdminAccountID, `,"permanent":true`)},
		{"POST", "/apps/" + s.ClientKey + "/tokens", wish(s.AdminAccountID, `,"expiresIn":3600`)},
		{"POST", "/admin/accounts", `{"email":"x@acme.example","roles":["administrator"]}`},
	} {
		got := s.bearing(t, key, c.method, c.path, c.body)
		if got.status != 401 && got.status != 403 || got.header.Get("Set-Cookie") != "" {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.status, got.text)
		}
	}
	s.bearing(t, key, "POST", "/apps/"+s.ClientKey+"/tokens", wish(s.AdminAccountID, `,"expiresIn":600`)).ok(t)
	b := s.browser(t)
	if got := b.send(t, "GET", "/accounts/me", "", "Cookie", "__Host-session-acme="+key); got.status != 401 {
		t.Errorf("a key as a session cookie: %d", got.status)
	}
}

// K54: a key ends with its owner and with its app, for good.
func TestK54WhatEndsAPIKeys(t *testing.T) {
	t.Parallel()
	s := start(t)
	owner := s.account(t, `{"email":"partner@acme.example"}`)["_id"].(string)
	of, _ := s.apiKey(t, `"account":"`+owner+`","scope":["object.read.c_message"]`)
	others, _ := s.readerKey(t)
	app := s.app(t, `"account":"`+s.AdminAccountID+`"`)["_id"].(string)
	made := s.as(t, "", "POST", "/apps/"+app+"/keys", `{"name":"x","account":"`+s.AccountID+`","scope":["object.read.c_message"]}`).ok(t)["key"].(string)
	for _, key := range []string{of, others, made} {
		if got := s.reads(t, key); got != 200 {
			t.Fatalf("before: %d", got)
		}
	}
	s.as(t, "", "POST", "/admin/accounts/"+owner+"/deactivate", "").ok(t)
	if got := s.reads(t, of); got != 401 {
		t.Errorf("of a disabled owner: %d", got)
	}
	s.as(t, "", "POST", "/admin/accounts/"+owner+"/activate", "").ok(t)
	if got := s.reads(t, of); got != 401 {
		t.Errorf("of an owner that is enabled again: %d", got)
	}
	s.as(t, "", "PATCH", "/apps/"+app, `{"disabled":true}`).ok(t)
	if got := s.reads(t, made); got != 401 {
		t.Errorf("of a disabled app: %d", got)
	}
	s.as(t, "", "DELETE", "/apps/"+app, "").ok(t)
	s.refused(t, s.as(t, "", "GET", "/apps/"+app+"/keys", ""), 404, "notFound.app")
	if got := s.reads(t, others); got != 200 {
		t.Errorf("of others: %d", got)
	}
}
