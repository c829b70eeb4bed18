package main

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEnding(t *testing.T) {
	t.Parallel()
	s := start(t)
	inDays := func(n int) string { return time.Now().Add(time.Duration(n) * 24 * time.Hour).UTC().Format(dateLayout) }
	mint := func(seconds int, name string) string {
		return s.mint(t, "", wish(s.AccountID, fmt.Sprintf(`,"permanent":true,"expiresIn":%d,"name":%q`, seconds, name)))["token"].(string)
	}
	used := mint(3*24*3600, "nightly build")
	mint(20*24*3600, "later")
	s.mint(t, "", wish(s.AccountID, `,"permanent":true`))
	key := s.as(t, "", "POST", "/apps/"+s.ClientKey+"/keys", `{"name":"deploy","account":"`+s.AccountID+`","scope":["object.read"],"expires":"`+inDays(2)+`"}`).ok(t)["_id"].(string)
	s.as(t, "", "POST", "/apps/"+s.ClientKey+"/keys", `{"name":"never","account":"`+s.AccountID+`","scope":["object.read"]}`).ok(t)
	app := s.as(t, "", "POST", "/apps", `{"name":"partner","credential":{"account":"`+s.AccountID+`","notAfter":"`+inDays(13)+`"}}`).ok(t)["_id"].(string)
	s.bearing(t, used, "GET", "/accounts/me", "").ok(t)

	// The demo's own end earlier.
	list := func(t *testing.T, query string, more bool) (all []string) {
		t.Helper()
		query = "?where=" + url.QueryEscape(`{"ends":{"$gt":"`+inDays(1)+`"}}`) + "&" + query
		for _, item := range items(t, s.as(t, "", "GET", "/admin/ending"+query, "").ok(t), more) {
			all = append(all, fmt.Sprint(item.(value)["kind"], " ", item.(value)["name"]))
		}
		return all
	}
	sorted := "sort=" + url.QueryEscape(`{"ends":1}`)
	if diff := cmp.Diff([]string{"key deploy", "token nightly build", "credential partner"}, list(t, sorted, false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"token nightly build"}, list(t, sorted+"&skip=1&limit=1", true)); diff != "" {
		t.Errorf("the second (-want +got):\n%s", diff)
	}
	of := "/admin/ending?where=" + url.QueryEscape(`{"app":"`+app+`","kind":"credential"}`)
	if got := items(t, s.as(t, "", "GET", of, "").ok(t), false); len(got) != 1 || got[0].(value)["_id"] != app {
		t.Errorf("of an app: %v", got)
	}
	for id, item := range byID(t, s.as(t, "", "GET", "/admin/ending?where="+url.QueryEscape(`{"ends":{"$gt":"`+inDays(1)+`"}}`), "")) {
		if item["maker"] != s.AdminAccountID || item["account"] != s.AccountID || item["object"] != "ending" || item["ends"] == nil {
			t.Errorf("%s: %v", id, item)
		}
		isUsed := item["kind"] == "token"
		if (item["lastUsed"] != nil) != isUsed || (item["lastAddress"] == "127.0.0.0/24") != isUsed {
			t.Errorf("%s: last use %v from %v", id, item["lastUsed"], item["lastAddress"])
		}
	}
	s.as(t, "", "PATCH", "/apps/"+app, `{"disabled":true}`).ok(t)
	s.as(t, "", "DELETE", "/apps/"+s.ClientKey+"/keys/"+key, "").ok(t)
	if diff := cmp.Diff([]string{"token nightly build"}, list(t, "", false)); diff != "" {
		t.Errorf("what is disabled or gone (-want +got):\n%s", diff)
	}
	t.Run("T35 administrators alone", func(t *testing.T) {
		s.refused(t, s.as(t, s.AccountID, "GET", "/admin/ending", ""), 403, "accessDenied.unspecified")
		s.scopeRefused(t, s.bearing(t, s.NarrowToken, "GET", "/admin/ending", ""), "admin.read")
		s.refused(t, s.do(t, call{other: true, path: "/admin/ending"}), 403, "accessDenied.unspecified")
	})
	t.Run("arguments", func(t *testing.T) {
		for _, query := range []string{"?where={%22name%22:%22x%22}", "?sort=maker", "?limit=0"} {
			s.refused(t, s.as(t, "", "GET", "/admin/ending"+query, ""), 400, "invalidArgument.query")
		}
	})
	t.Run("the name of a token", func(t *testing.T) {
		for _, name := range []string{`""`, `"a\nb"`, `"a\u202eb"`} {
			got := s.as(t, "", "POST", s.tokensPath(), wish(s.AccountID, `,"permanent":true,"name":`+name))
			if got.status != 400 {
				t.Errorf("%s: %d", name, got.status)
			}
		}
		got := s.as(t, "", "POST", s.tokensPath(), wish(s.AccountID, `,"name":"ephemeral"`))
		s.refused(t, got, 400, "invalidArgument.option")
	})
}
