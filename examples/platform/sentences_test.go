package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/scope"
)

// The tests of this file check the sentences of CONFORMANCE.md. They send requests
// without the library to a listening server. The name of a case begins with the
// number of its sentence.

// below sends a request to a path below the server's URL, with headers in pairs.
func (s *server) below(t *testing.T, method, path, body string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequest(method, s.BaseURL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return send(t, r)
}

// signedHeader returns the four headers that sign a message, in pairs.
func signedHeader(clientKey, macKey, message, timestamp string) []string {
	mac := hmac.New(sha256.New, []byte(macKey))
	io.WriteString(mac, message)
	return []string{
		"Service-Client-Key", clientKey,
		"Service-Client-Timestamp", timestamp,
		"Service-Client-Nonce", hex.EncodeToString(random(8)),
		"Service-Client-Signature", hex.EncodeToString(mac.Sum(nil)),
	}
}

// nextTimestamp returns a timestamp that no request has used yet.
func nextTimestamp() string { return strconv.FormatInt(tick(), 10) }

func TestSentencesOfTenants(t *testing.T) {
	t.Parallel()
	s := start(t)
	t.Run("1-1 an org shows nothing of another", func(t *testing.T) {
		for _, path := range []string{
			"/c_messages/" + demoID(globex, "c_message", 1), "/c_conversations/" + demoID(globex, "c_conversation", 1),
			"/connections/" + demoID(globex, "connection", 1), "/admin/accounts/" + s.OtherAccountID, "/apps/" + s.OtherClientKey,
		} {
			if got := s.do(t, call{path: path}); got.status != 404 {
				t.Errorf("%s: %d", path, got.status)
			}
		}
		s.do(t, call{other: true, path: "/c_messages/" + demoID(globex, "c_message", 1)}).ok(t)
	})
	t.Run("1-2 bodies are JSON both ways", func(t *testing.T) {
		text := s.do(t, call{method: "POST", path: "/c_messages", body: `{"c_text":"x"}`, contentType: "text/plain"})
		s.refused(t, text, 415, "unsupportedMediaType.unspecified")
		s.do(t, call{method: "POST", path: "/c_messages", body: `{"c_text":"x"}`}).ok(t) // checks Content-Type
	})
	t.Run("1-3 one account by each of three mechanisms", func(t *testing.T) {
		b := s.browser(t)
		b.post(t, "/accounts/login", value{"email": s.AccountEmail, "password": s.AccountPassword}).ok(t)
		for name, got := range map[string]answer{
			"5.1-1 a session":   b.get(t, "/accounts/me"),
			"5.1-2 a signature": s.as(t, s.AccountID, "GET", "/accounts/me", ""),
			"5.1-3 a token":     s.bearing(t, s.EphemeralToken, "GET", "/accounts/me", ""),
		} {
			t.Run(name, func(t *testing.T) {
				if me := got.ok(t); me["_id"] != s.AccountID {
					t.Errorf("%v", me["_id"])
				}
			})
		}
		s.refused(t, s.do(t, call{path: "/accounts/me", unsigned: true}), 401, "accessDenied.noCredentialsSupplied")
	})
	t.Run("5.1-3 a session makes a token, and a signature does", func(t *testing.T) {
		b := s.browser(t)
		b.post(t, "/accounts/login", value{"email": s.AccountEmail, "password": s.AccountPassword}).ok(t)
		for _, got := range []answer{
			b.send(t, "POST", s.tokensPath(), wish(s.AccountID, "")), s.as(t, s.AccountID, "POST", s.tokensPath(), wish(s.AccountID, "")),
		} {
			token := got.ok(t)["data"].(value)["token"].(string)
			if me := s.bearing(t, token, "GET", "/accounts/me", "").ok(t); me["_id"] != s.AccountID {
				t.Errorf("%v", me["_id"])
			}
		}
	})
	t.Run("1-5 an app that an org makes has the key and the secret of its requests", func(t *testing.T) {
		app := s.as(t, "", "POST", "/apps", `{"name":"x","credential":{"account":"`+s.AccountID+`"}}`).ok(t)
		key, secret := app["_id"].(string), app["secret"].(string)
		at := nextTimestamp()
		header := signedHeader(key, key+secret, "/accounts/me;GET;"+at, at)
		if me := s.below(t, "GET", "/acme/v2/accounts/me", "", header...).ok(t); me["_id"] != s.AccountID {
			t.Errorf("%v", me)
		}
		at = nextTimestamp()
		header = signedHeader(key, key+secret, "/accounts/me;GET;"+at, at)
		got := s.below(t, "GET", "/"+s.OtherOrg+"/v2/accounts/me", "", header...)
		s.refused(t, got, 401, "accessDenied.invalidRequestSignature")
	})
	t.Run("9-1 org and version stand before the resource path", func(t *testing.T) {
		for path, status := range map[string]int{"/acme/v2/schemas": 200, "/v2/acme/schemas": 400, "/acme/schemas": 400, "/schemas": 404, "/acme/v3/schemas": 400} {
			if got := s.below(t, "GET", path, "", "Authorization", "Bearer "+s.EphemeralToken); got.status != status {
				t.Errorf("%s: %d, want %d", path, got.status, status)
			}
		}
	})
	t.Run("9-2 the signed command is the resource path alone", func(t *testing.T) {
		for command, status := range map[string]int{"/schemas": 200, "/acme/v2/schemas": 401, "/v2/schemas": 401, "schemas": 401} {
			at := nextTimestamp()
			header := signedHeader(s.ClientKey, s.ClientKey+s.ClientSecret, command+";GET;"+at, at)
			if got := s.below(t, "GET", "/acme/v2/schemas", "", header...); got.status != status {
				t.Errorf("%s: %d, want %d", command, got.status, status)
			}
		}
	})
}

func TestSentencesOfLists(t *testing.T) {
	t.Parallel()
	s := startWhole(t)
	s.mint(t, "", wish(s.AccountID, `,"permanent":true`))
	for path, members := range map[string]int{
		"/c_messages?limit=3": 3, "/c_conversations": 3, "/connections": 3, "/schemas": 3, "/apps": 3,
		"/admin/accounts": 3, "/admin/roles": 3, s.subjectPath(s.AccountID): 3, "/auth/certs/jwk": 4, // and the keys of RFC 7517
	} {
		var body value
		if err := json.Unmarshal([]byte(s.do(t, call{path: path}).text), &body); err != nil {
			t.Fatal(err)
		}
		data, isArray := body["data"].([]any)
		_, isBoolean := body["hasMore"].(bool)
		t.Run("2.1-1 three members, "+path, func(t *testing.T) {
			if len(body) != members {
				t.Errorf("%v", body)
			}
		})
		t.Run("2.1-2 object is list, "+path, func(t *testing.T) {
			if body["object"] != "list" {
				t.Errorf("%v", body["object"])
			}
		})
		t.Run("2.1-3 data is an array, "+path, func(t *testing.T) {
			if !isArray || len(data) == 0 {
				t.Errorf("%v", body["data"])
			}
		})
		t.Run("2.1-4 hasMore is a boolean, "+path, func(t *testing.T) {
			if !isBoolean || body["hasMore"] != strings.HasPrefix(path, "/c_messages") {
				t.Errorf("%v", body["hasMore"])
			}
		})
		seen := map[any]bool{}
		for _, item := range data {
			id, _ := item.(value)["_id"].(string)
			object, _ := item.(value)["object"].(string)
			t.Run("2.1-6 each item has an _id that is unique, "+path, func(t *testing.T) {
				if id == "" || seen[id] {
					t.Errorf("%v", item)
				}
			})
			t.Run("2.1-7 each item has the name of its type, "+path, func(t *testing.T) {
				if object == "" || strings.HasPrefix(path, "/c_") && !strings.HasPrefix(object, "c_") {
					t.Errorf("%v", item)
				}
			})
			seen[id] = true
		}
	}
	t.Run("2.1-8 other properties come when paths[] asks for them", func(t *testing.T) {
		bare := items(t, s.do(t, call{path: "/connections?limit=1"}).ok(t), true)[0].(value)
		if len(bare) != 2 {
			t.Errorf("%v", bare)
		}
		item := items(t, s.do(t, call{path: "/connections?limit=1&paths[]=access"}).ok(t), true)[0].(value)
		if access, ok := item["access"].(float64); !ok || access != float64(int(access)) || len(item) != 3 {
			t.Errorf("%v", item)
		}
	})
	conversation := "/c_conversations/" + demoID(acme, "c_conversation", 2)
	t.Run("4-6 one object, and its list properties as lists", func(t *testing.T) {
		bare := s.do(t, call{path: conversation + "?paths[]=c_title"}).ok(t)
		if bare["object"] != "c_conversation" || bare["c_title"] == nil || bare["c_messages"] != nil {
			t.Errorf("%v", bare)
		}
		whole := s.do(t, call{path: conversation + "?paths[]=c_messages"}).ok(t)
		items(t, whole["c_messages"].(value), true)
	})
	first := demoID(acme, "c_message", 1)
	ids := func(t *testing.T, query string, more bool) []string {
		t.Helper()
		return listed(t, s.do(t, call{path: "/c_messages?" + query}), more)
	}
	where := func(text string) string { return "where=" + url.QueryEscape(text) }
	t.Run("4.1-1 paths[] repeated names what items hold", func(t *testing.T) {
		item := items(t, s.do(t, call{path: "/c_messages?limit=1&paths[]=_id&paths[]=c_text&paths[]=c_pinned"}).ok(t), true)[0].(value)
		if len(item) != 4 || item["_id"] != first || item["c_text"] == nil || item["c_pinned"] == nil {
			t.Errorf("%v", item)
		}
	})
	t.Run("4.1-2 limit bounds a page", func(t *testing.T) {
		for _, limit := range []int{1, 7, 1000} {
			if got := ids(t, "limit="+strconv.Itoa(limit), true); len(got) != limit {
				t.Errorf("limit %d: %d items", limit, len(got))
			}
		}
	})
	t.Run("4.1-3 where is a filter, as $gt on _id", func(t *testing.T) {
		got := ids(t, "limit=2&"+where(`{"_id":{"$gt":"`+first+`"}}`), true)
		if diff := cmp.Diff([]string{message2, demoID(acme, "c_message", 3)}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("4.1-4 a sort of 1 is ascending", func(t *testing.T) {
		if got := ids(t, "limit=1&sort="+url.QueryEscape(`{"_id":1}`), true); got[0] != first {
			t.Errorf("%v", got)
		}
		if got := ids(t, "limit=1&sort="+url.QueryEscape(`{"_id":-1}`), true); got[0] != demoID(acme, "c_message", 2500) {
			t.Errorf("%v", got)
		}
	})
	t.Run("4.1-5 skip passes over items", func(t *testing.T) {
		if got := ids(t, "limit=1&skip=41", true); got[0] != demoID(acme, "c_message", 42) {
			t.Errorf("%v", got)
		}
	})

	t.Run("4.2.2-1 a walk by _id: where, sort and limit", func(t *testing.T) {
		var got []string
		more := true
		for pages := 0; more && pages < 10; pages++ {
			query := "limit=700&sort=" + url.QueryEscape(`{"_id":1}`)
			if len(got) > 0 {
				query += "&" + where(`{"_id":{"$gt":"`+got[len(got)-1]+`"}}`)
			}
			body := s.do(t, call{path: "/c_messages?" + query}).ok(t)
			more = body["hasMore"].(bool)
			data := items(t, body, more)
			for _, item := range data {
				got = append(got, item.(value)["_id"].(string))
			}
			t.Run("4.2.1-1 behind a page with hasMore there is another", func(t *testing.T) {
				if more && len(data) != 700 || len(data) == 0 {
					t.Errorf("%d items, more %v", len(data), more)
				}
			})
		}
		t.Run("4.2.4-1 hasMore is false on the last page", func(t *testing.T) {
			if more || len(got) != 2500 {
				t.Errorf("%d items, more %v", len(got), more)
			}
		})
		if diff := cmp.Diff(idsOf(seeded(2500)), got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("4.2.3-1 skip goes with where and limit by a sort that is not unique", func(t *testing.T) {
		filter := where(`{"c_likes":{"$lt":3}}`) + "&sort=" + url.QueryEscape(`{"c_likes":1}`)
		all := ids(t, filter+"&limit=1000", false)
		var got []string
		for more := true; more; {
			body := s.do(t, call{path: fmt.Sprintf("/c_messages?%s&limit=50&skip=%d", filter, len(got))}).ok(t)
			more = body["hasMore"].(bool)
			for _, item := range items(t, body, more) {
				got = append(got, item.(value)["_id"].(string))
			}
		}
		if diff := cmp.Diff(all, got); diff != "" || len(got) < 100 {
			t.Errorf("%d items (-whole +pages):\n%s", len(got), diff)
		}
	})
	t.Run("4.2.3-2 skip is for small lists", func(t *testing.T) {
		ids(t, "limit=1&skip=2499", false)
		s.refused(t, s.do(t, call{path: "/c_messages?skip=10001"}), 400, "invalidArgument.query")
	})
	t.Run("4.2.5-1 a list property is paged by its name in front", func(t *testing.T) {
		var got []string
		for more := true; more; {
			query := "?paths[]=c_messages.c_text&c_messages.limit=60"
			if len(got) > 0 {
				query += "&c_messages." + where(`{"_id":{"$gt":"`+got[len(got)-1]+`"}}`)
			}
			list := s.do(t, call{path: conversation + query}).ok(t)["c_messages"].(value)
			more = list["hasMore"].(bool)
			t.Run("4.2.5-2 its value is a list with its own hasMore", func(t *testing.T) {
				if data := items(t, list, len(got) < 240); data[0].(value)["c_text"] == nil {
					t.Errorf("%v", data[0])
				}
			})
			for _, item := range list["data"].([]any) {
				got = append(got, item.(value)["_id"].(string))
			}
		}
		if len(got) != 250 {
			t.Errorf("%d items", len(got))
		}
	})
}

func TestSentencesOfClaims(t *testing.T) {
	t.Parallel()
	s := start(t)
	refused := func(t *testing.T, got answer) {
		t.Helper()
		s.refused(t, got, 403, "accessDenied.unspecified")
	}
	minted := func(t *testing.T, more string) (token string, claims value) {
		t.Helper()
		token = s.mint(t, "", wish(s.AccountID, more))["token"].(string)
		return token, claimsOf(t, token)
	}
	began := time.Now().Truncate(time.Second).Unix()
	token, claims := minted(t, `,"expiresIn":600`)
	for _, test := range []struct {
		name, claim string
		want        any
	}{
		{"2.3-1 aud is the URL of the environment", "aud", s.BaseURL + "/acme/v2"},
		{"2.3-2 iss is the client key of the app", "iss", s.ClientKey},
		{"2.3-6 sub is the account", "sub", s.AccountID},
		{"2.3-7 an ephemeral token has no jti", "jti", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if claims[test.claim] != test.want {
				t.Errorf("%v, want %v", claims[test.claim], test.want)
			}
		})
	}
	t.Run("2.3-3 iat is when it was made", func(t *testing.T) {
		if iat := int64(claims["iat"].(float64)); iat < began || iat > time.Now().Unix() {
			t.Errorf("%v", iat)
		}
	})
	t.Run("2.3-4 nbf is from when on it is good", func(t *testing.T) {
		at := time.Now().Add(time.Hour).Unix()
		early, claims := minted(t, fmt.Sprintf(`,"notBefore":%d,"expiresIn":7200`, at))
		s.refused(t, s.bearing(t, early, "GET", "/accounts/me", ""), 401, "accessDenied.jwtNotActive")
		if claims["nbf"] != float64(at) {
			t.Errorf("nbf %v is not %d", claims["nbf"], at)
		}
	})
	t.Run("2.3-5 exp is when it ends", func(t *testing.T) {
		short, claims := minted(t, `,"expiresIn":2`)
		end := time.Unix(int64(claims["exp"].(float64)), 0)
		before := s.bearing(t, short, "GET", "/accounts/me", "")
		if time.Now().Before(end) { // false if the machine was too slow
			before.ok(t)
		}
		time.Sleep(time.Until(end))
		s.refused(t, s.bearing(t, short, "GET", "/accounts/me", ""), 401, "expired.jwt")
	})
	t.Run("2.3-6 it authenticates as sub", func(t *testing.T) {
		if me := s.bearing(t, token, "GET", "/accounts/me", "").ok(t); me["_id"] != s.AccountID {
			t.Errorf("%v", me)
		}
	})
	t.Run("2.3-7 permanent and limited-use tokens have a jti of their own", func(t *testing.T) {
		_, permanent := minted(t, `,"permanent":true`)
		_, limited := minted(t, `,"maxUses":3`)
		if permanent["jti"] == nil || limited["jti"] == nil || permanent["jti"] == limited["jti"] {
			t.Errorf("%v and %v", permanent["jti"], limited["jti"])
		}
	})
	t.Run("2.3-8 scp limits", func(t *testing.T) {
		narrow := s.mint(t, "", `{"sub":"`+s.AccountID+`","scope":["object.read.connection"]}`)["token"].(string)
		s.bearing(t, narrow, "GET", "/connections?limit=1", "").ok(t)
		s.scopeRefused(t, s.bearing(t, narrow, "GET", "/c_messages", ""), "object.read.c_message")
	})
	t.Run("2.3-9 rls adds to the roles of the subject", func(t *testing.T) {
		more, claims := minted(t, `,"roles":["administrator"]`)
		s.bearing(t, more, "GET", "/apps", "").ok(t)                                // by the role of the claim
		s.bearing(t, more, "POST", "/c_messages", `{"c_text":"as a member"}`).ok(t) // by the role of the subject
		refused(t, s.bearing(t, token, "GET", "/apps", ""))
		if diff := cmp.Diff([]any{"administrator"}, claims["service/rls"]); diff != "" {
			t.Error(diff)
		}
	})
	theirs := "/c_messages/" + s.as(t, s.TOTPAccountID, "POST", "/c_messages", `{"c_text":"theirs"}`).ok(t)["_id"].(string)
	t.Run("2.3-10 skp skips access rules", func(t *testing.T) {
		skip, claims := minted(t, `,"skipAcl":true`)
		refused(t, s.bearing(t, token, "PATCH", theirs, `{"c_text":"x"}`))
		s.bearing(t, skip, "PATCH", theirs, `{"c_text":"x"}`).ok(t)
		if claims["service/skp"] != true {
			t.Errorf("%v", claims)
		}
	})
	t.Run("2.3-11 skc skips the rules of creating, and no others", func(t *testing.T) {
		guest := s.account(t, `{"email":"guest@acme.example","roles":[]}`)["_id"].(string)
		plain := s.mint(t, "", wish(guest, ""))["token"].(string)
		skip := s.mint(t, "", wish(guest, `,"bypassCreateAcl":true`))["token"].(string)
		refused(t, s.bearing(t, plain, "POST", "/c_messages", `{"c_text":"x"}`))
		s.bearing(t, skip, "POST", "/c_messages", `{"c_text":"x"}`).ok(t)
		refused(t, s.bearing(t, skip, "PATCH", theirs, `{"c_text":"x"}`))
		if claimsOf(t, skip)["service/skc"] != true {
			t.Error("no claim")
		}
	})
	t.Run("2.3-12 gnt grants its level", func(t *testing.T) {
		read, _ := minted(t, `,"grant":"read"`)
		update, claims := minted(t, `,"grant":"update"`)
		refused(t, s.bearing(t, read, "PATCH", theirs, `{"c_text":"x"}`))
		s.bearing(t, update, "PATCH", theirs, `{"c_text":"x"}`).ok(t)
		refused(t, s.bearing(t, update, "DELETE", theirs, ""))
		if claims["service/gnt"] == nil {
			t.Errorf("%v", claims)
		}
	})
	t.Run("2.3-13 cnt is how often it authenticates", func(t *testing.T) {
		limited, claims := minted(t, `,"maxUses":2`)
		if first, second, third := s.works(t, limited), s.works(t, limited), s.works(t, limited); !first || !second || third {
			t.Errorf("accepted: %v, %v, %v", first, second, third)
		}
		if claims["service/cnt"] != 2.0 {
			t.Errorf("%v", claims)
		}
	})
}

func TestSentencesOfSessions(t *testing.T) {
	t.Parallel()
	s := start(t)
	mine := value{"email": s.AccountEmail, "password": s.AccountPassword}
	t.Run("5.2.1-1 a registration starts a session", func(t *testing.T) {
		b := s.browser(t)
		b.post(t, "/accounts", value{"email": "new@acme.example", "password": "correct horse"}).ok(t)
		b.get(t, "/accounts/me").ok(t)
	})
	t.Run("5.2.1-2 a login starts a session", func(t *testing.T) {
		b := s.browser(t)
		b.post(t, "/accounts/login", mine).ok(t)
		b.get(t, "/accounts/me").ok(t)
	})
	t.Run("5.2.2-1 a session is of one user", func(t *testing.T) {
		b, other := s.browser(t), s.browser(t)
		b.post(t, "/accounts/login", mine).ok(t)
		other.post(t, "/accounts/login", value{"email": s.AdminEmail, "password": s.AdminPassword}).ok(t)
		for browser, want := range map[*browser]string{b: s.AccountID, other: s.AdminAccountID} {
			if me := browser.get(t, "/accounts/me").ok(t); me["_id"] != want {
				t.Errorf("%v, want %s", me["_id"], want)
			}
		}
		got := b.send(t, "GET", "/accounts/me", "", "Service-Client-Account", s.AdminAccountID)
		if got.status != 400 {
			t.Errorf("a session as another account: %d", got.status)
		}
	})
	t.Run("5.2.3-2 the org sets how long a session may be unused", func(t *testing.T) {
		b := s.browser(t)
		b.post(t, "/accounts/login", mine).ok(t)
		time.Sleep(1100 * time.Millisecond)
		b.get(t, "/accounts/me").ok(t)
		s.as(t, "", "PATCH", "/admin/settings", `{"idle":1}`).ok(t)
		time.Sleep(1100 * time.Millisecond)
		s.refused(t, b.get(t, "/accounts/me"), 401, "accessDenied.sessionExpired")
	})
}

func TestSentencesOfSignatures(t *testing.T) {
	t.Parallel()
	s := start(t)
	const path, command = "/acme/v2/connections", "/connections"
	key, whole := s.ClientKey, s.ClientKey+s.ClientSecret
	ask := func(t *testing.T, header ...string) answer { return s.below(t, "GET", path, "", header...) }
	fresh := func() []string {
		at := nextTimestamp()
		return signedHeader(key, whole, command+";GET;"+at, at)
	}
	invalid := func(t *testing.T, got answer) {
		t.Helper()
		s.refused(t, got, 401, "accessDenied.invalidRequestSignature")
	}
	malformed := func(t *testing.T, got answer) {
		t.Helper()
		s.refused(t, got, 400, "invalidArgument.malformedRequestSignature")
	}

	credential := func(t *testing.T, restrictions string) (key, secret string) {
		t.Helper()
		app := s.as(t, "", "POST", "/apps", `{"name":"x","credential":{`+restrictions+`}}`).ok(t)
		return app["_id"].(string), app["secret"].(string)
	}
	me := func(t *testing.T, key, secret, account string) answer {
		t.Helper()
		at := nextTimestamp()
		header := signedHeader(key, key+secret, "/accounts/me;GET;"+at, at)
		if account != "" {
			header = append(header, "Service-Client-Account", account)
		}
		return s.below(t, "GET", "/acme/v2/accounts/me", "", header...)
	}
	t.Run("5.3-1 a key for one account or several", func(t *testing.T) {
		key, secret := credential(t, `"account":"`+s.AccountID+`"`)
		if got := me(t, key, secret, "").ok(t); got["_id"] != s.AccountID {
			t.Errorf("%v", got)
		}
		s.refused(t, me(t, key, secret, s.TOTPAccountID), 403, "accessDenied.principal")
		key, secret = credential(t, `"accounts":["`+s.AccountID+`","`+s.TOTPAccountID+`"]`)
		for _, account := range []string{s.AccountID, s.TOTPAccountID} {
			if got := me(t, key, secret, account).ok(t); got["_id"] != account {
				t.Errorf("%v", got)
			}
		}
	})
	t.Run("5.3-2 a key that expires", func(t *testing.T) {
		end := time.Now().Add(2 * time.Second).Truncate(time.Second)
		key, secret := credential(t, fmt.Sprintf(`"account":%q,"notAfter":%d`, s.AccountID, end.Unix()))
		if before := me(t, key, secret, ""); time.Now().Before(end) { // false if the machine was too slow
			before.ok(t)
		}
		for me(t, key, secret, "").status == 200 {
			time.Sleep(100 * time.Millisecond)
		}
		invalid(t, me(t, key, secret, ""))
	})
	t.Run("5.3-3 a key of one network", func(t *testing.T) {
		key, secret := credential(t, `"account":"`+s.AccountID+`","networks":["192.0.2.0/24"]`)
		invalid(t, me(t, key, secret, ""))
		key, secret = credential(t, `"account":"`+s.AccountID+`","networks":["127.0.0.0/8","::1/128"]`)
		me(t, key, secret, "").ok(t)
	})
	t.Run("5.3-3 a key of some scope chains", func(t *testing.T) {
		key, secret := credential(t, `"account":"`+s.AccountID+`","scope":["object.read.c_message"]`)
		for path, status := range map[string]int{"/c_messages": 200, "/connections": 403} {
			at := nextTimestamp()
			header := signedHeader(key, key+secret, path+";GET;"+at, at)
			if got := s.below(t, "GET", "/acme/v2"+path, "", header...); got.status != status {
				t.Errorf("%s: %d, want %d", path, got.status, status)
			}
		}
	})
	for i, name := range []string{"5.3-4 no client key", "5.3-6 no timestamp", "5.3-7 no nonce", "5.3-5 no signature"} {
		t.Run(name, func(t *testing.T) {
			header := fresh()
			malformed(t, ask(t, append(header[:2*i:2*i], header[2*i+2:]...)...))
		})
	}
	t.Run("5.3-4 another client key", func(t *testing.T) {
		header := fresh()
		header[1] = s.OtherClientKey
		invalid(t, ask(t, header...))
	})
	t.Run("5.3-6 the timestamp is decimal milliseconds", func(t *testing.T) {
		ask(t, fresh()...).ok(t)
		seconds := strconv.FormatInt(time.Now().Unix(), 10)
		malformed(t, ask(t, signedHeader(key, whole, command+";GET;"+seconds, seconds)...))
		hexadecimal := strconv.FormatInt(tick(), 16) + "ab"
		malformed(t, ask(t, signedHeader(key, whole, command+";GET;"+hexadecimal, hexadecimal)...))
	})
	t.Run("5.3-7 the nonce has 16 letters and digits", func(t *testing.T) {
		for nonce, good := range map[string]bool{
			"abcdefghIJKLMN01": true, "0000000000000000": true,
			"abcdefghIJKLMN0": false, "abcdefghIJKLMN012": false, "abcdefgh-JKLMN01": false, "abcdefghéJKLMN0": false,
		} {
			header := fresh()
			header[5] = nonce
			if good {
				ask(t, header...).ok(t)
			} else {
				malformed(t, ask(t, header...))
			}
		}
	})
	t.Run("5.3-8 the nonce prevents replay", func(t *testing.T) {
		header := fresh()
		ask(t, header...).ok(t)
		again := fresh()
		again[5] = header[5]
		for _, replay := range [][]string{header, again} {
			s.refused(t, ask(t, replay...), 401, "accessDenied.replayedRequest")
		}
	})
	t.Run("5.3-9 the account header is optional, and for apps that may", func(t *testing.T) {
		if got := me(t, key, s.ClientSecret, "").ok(t); got["_id"] != s.AdminAccountID {
			t.Errorf("%v", got)
		}
		if got := me(t, key, s.ClientSecret, s.AccountID).ok(t); got["_id"] != s.AccountID {
			t.Errorf("%v", got)
		}
		own, secret := credential(t, `"account":"`+s.AccountID+`"`)
		s.refused(t, me(t, own, secret, s.AdminAccountID), 403, "accessDenied.principal")
	})
	t.Run("5.3-10 each operation tells the time of the server", func(t *testing.T) {
		for path, status := range map[string]int{
			"/acme/v2/schemas": 200, "/acme/v2/c_messages?limit=0": 400, "/acme/v2/apps": 403, "/acme/v2/nothing": 404,
			"/acme/v2/auth/certs/jwk": 200, "/nowhere/v2/schemas": 404,
		} {
			got := s.below(t, "GET", path, "", "Authorization", "Bearer "+s.EphemeralToken)
			ms, err := strconv.ParseInt(got.header.Get("Service-Server-Time"), 10, 64)
			if away := time.Since(time.UnixMilli(ms)).Abs(); got.status != status || err != nil || away > patience {
				t.Errorf("%s: status %d, %q", path, got.status, got.header.Get("Service-Server-Time"))
			}
		}
		if got := ask(t); got.status != 401 || got.header.Get("Service-Server-Time") == "" {
			t.Errorf("%d %v", got.status, got.header)
		}
	})
	t.Run("5.3-11 a client sets its clock by it", func(t *testing.T) {
		wrong := strconv.FormatInt(tick()-3_600_000, 10)
		got := ask(t, signedHeader(key, whole, command+";GET;"+wrong, wrong)...)
		s.refused(t, got, 401, "invalidArgument.staleRequestSignature")
		right := got.header.Get("Service-Server-Time")
		ask(t, signedHeader(key, whole, command+";GET;"+right, right)...).ok(t)
	})
	t.Run("5.3.1-1 the key is client key, then secret", func(t *testing.T) {
		for macKey, status := range map[string]int{whole: 200, s.ClientSecret + key: 401, s.ClientSecret: 401, key + ";" + s.ClientSecret: 401} {
			at := nextTimestamp()
			if got := ask(t, signedHeader(key, macKey, command+";GET;"+at, at)...); got.status != status {
				t.Errorf("%d, want %d", got.status, status)
			}
		}
	})
	t.Run("5.3.2-1 the message is command, method and timestamp", func(t *testing.T) {
		for _, test := range []struct {
			form   string
			status int
		}{
			{"/connections;GET;%s", 200}, {"/connections;get;%s", 401}, {"GET;/connections;%s", 401},
			{"/connections;%s;GET", 401}, {"/connections;POST;%s", 401}, {"/connectionsGET%s", 401}, {"/connections;GET;1%s", 401},
		} {
			at := nextTimestamp()
			if got := ask(t, signedHeader(key, whole, fmt.Sprintf(test.form, at), at)...); got.status != test.status {
				t.Errorf("%s: %d, want %d", test.form, got.status, test.status)
			}
		}
	})
	t.Run("5.3.2-2 the command has no query", func(t *testing.T) {
		for signed, status := range map[string]int{command: 200, command + "?limit=2": 401} {
			at := nextTimestamp()
			got := s.below(t, "GET", path+"?limit=2", "", signedHeader(key, whole, signed+";GET;"+at, at)...)
			if got.status != status {
				t.Errorf("%s: %d, want %d", signed, got.status, status)
			}
		}
	})
	t.Run("5.3.3-1 HMAC-SHA256 in lower-case hexadecimal", func(t *testing.T) {
		ask(t, fresh()...).ok(t)
		header := fresh()
		header[7] = strings.ToUpper(header[7])
		malformed(t, ask(t, header...))
	})
}

func TestSentencesOfTokens(t *testing.T) {
	t.Parallel()
	s := start(t)
	t.Run("5.4.1-1 the word Bearer, a blank and the token", func(t *testing.T) {
		for header, status := range map[string]int{
			"Bearer " + s.EphemeralToken: 200, s.EphemeralToken: 401, "Bearer  " + s.EphemeralToken: 401, "Token " + s.EphemeralToken: 401,
		} {
			if got := s.below(t, "GET", "/acme/v2/accounts/me", "", "Authorization", header); got.status != status {
				t.Errorf("%.10s: %d, want %d", header, got.status, status)
			}
		}
	})
	app := s.as(t, "", "POST", "/apps", `{"name":"x"}`).ok(t)["_id"].(string)
	t.Run("5.4.3-1 no token without a key pair", func(t *testing.T) {
		s.refused(t, s.as(t, "", "POST", "/apps/"+app+"/tokens", wish(s.AccountID, "")), 404, "notFound.appRsa")
		s.as(t, "", "POST", "/apps/"+app+"/keypair", "").ok(t)
	})
	foreign := s.as(t, "", "POST", "/apps/"+app+"/tokens", wish(s.AccountID, "")).ok(t)["data"].(value)["token"].(string)
	t.Run("5.4.2-1 the client key header is not needed", func(t *testing.T) {
		s.bearing(t, foreign, "GET", "/accounts/me", "").ok(t)
		s.bearing(t, foreign, "GET", "/accounts/me", "", "Service-Client-Key", app).ok(t)
	})
	t.Run("5.4.2-2 one that differs is a mismatch", func(t *testing.T) {
		for _, key := range []string{s.ClientKey, "nobody"} {
			got := s.bearing(t, foreign, "GET", "/accounts/me", "", "Service-Client-Key", key)
			s.refused(t, got, 401, "accessDenied.invalidJwtApp")
		}
	})
	ephemeral := s.mint(t, s.AccountID, wish(s.AccountID, ""))["token"].(string)
	t.Run("5.4.5-5 what ends tokens one by one ends no ephemeral one", func(t *testing.T) {
		s.as(t, s.AccountID, "DELETE", s.subjectPath(s.AccountID), "").ok(t)
		if !s.works(t, ephemeral) {
			t.Error("it has ended")
		}
	})
	t.Run("5.4.5-1 a new key pair ends all tokens of the app, and of no other", func(t *testing.T) {
		permanent := s.mint(t, s.AccountID, wish(s.AccountID, `,"permanent":true`))["token"].(string)
		s.as(t, "", "POST", "/apps/"+s.ClientKey+"/keypair", "").ok(t)
		if s.works(t, ephemeral) || s.works(t, permanent) || !s.works(t, foreign) {
			t.Error("not those of the app")
		}
	})
	t.Run("5.4.5-2 the end of the app ends all its tokens", func(t *testing.T) {
		s.as(t, "", "DELETE", "/apps/"+app, "").ok(t)
		if s.works(t, foreign) {
			t.Error("it is good")
		}
	})
}

func TestSentencesOfScopes(t *testing.T) {
	t.Parallel()
	s := start(t)
	mint := func(t *testing.T, more string, chains ...string) string {
		t.Helper()
		scope, err := json.Marshal(append([]string{}, chains...))
		if err != nil {
			t.Fatal(err)
		}
		return s.mint(t, "", `{"sub":"`+s.AccountID+`","scope":`+string(scope)+more+`}`)["token"].(string)
	}
	read := func(t *testing.T, token, plural string) answer {
		t.Helper()
		return s.bearing(t, token, "GET", "/"+plural+"?limit=1", "")
	}
	t.Run("5.5-1 a token without chains does nothing", func(t *testing.T) {
		s.scopeRefused(t, read(t, mint(t, ""), "connections"), "object.read.connection")
	})
	t.Run("5.5-2 chains of the claim", func(t *testing.T) {
		token := mint(t, "", "object.read.connection")
		read(t, token, "connections").ok(t)
		s.scopeRefused(t, read(t, token, "c_messages"), "object.read.c_message")
	})
	s.as(t, "", "POST", "/admin/roles", `{"name":"watcher","scope":["object.read.connection"]}`).ok(t)
	t.Run("5.5-3 chains of the subject's roles", func(t *testing.T) {
		watcher := s.account(t, `{"email":"w@acme.example","roles":["watcher"]}`)["_id"].(string)
		token := s.mint(t, "", `{"sub":"`+watcher+`","scope":[]}`)["token"].(string)
		read(t, token, "connections").ok(t)
		s.scopeRefused(t, read(t, token, "c_messages"), "object.read.c_message")
	})
	t.Run("5.5-4 chains of roles that the token grants", func(t *testing.T) {
		token := mint(t, `,"roles":["watcher"]`)
		read(t, token, "connections").ok(t)
		s.scopeRefused(t, read(t, token, "c_messages"), "object.read.c_message")
	})
	t.Run("5.5-7 the empty chain: everything, as the subject", func(t *testing.T) {
		token := mint(t, "", "")
		read(t, token, "c_messages").ok(t)
		s.bearing(t, token, "POST", "/c_messages", `{"c_text":"x"}`).ok(t)
		s.bearing(t, token, "POST", "/routes/echo", `{}`).ok(t)
		s.refused(t, s.bearing(t, token, "GET", "/apps", ""), 403, "accessDenied.unspecified")
	})
	t.Run("5.5-9 the last element is one property", func(t *testing.T) {
		token := mint(t, "", "object.read.c_message.*.c_text", "object.read.c_conversation.*.c_messages.c_text")
		got := s.bearing(t, token, "GET", "/c_messages/"+message1+"?paths[]=c_text&paths[]=c_pinned", "").ok(t)
		if diff := cmp.Diff(value{"_id": message1, "object": "c_message", "c_text": got["c_text"]}, got); diff != "" || got["c_text"] == nil {
			t.Errorf("(-want +got):\n%s", diff)
		}
		s.scopeRefused(t, s.bearing(t, token, "GET", "/c_messages/"+message1+"/c_pinned", ""), "object.read.c_message."+message1+".c_pinned")
		path := "/c_conversations/" + demoID(acme, "c_conversation", 2) + "?paths[]=c_title&paths[]=c_messages.c_text&paths[]=c_messages.c_pinned&c_messages.limit=1"
		got = s.bearing(t, token, "GET", path, "").ok(t)
		item := got["c_messages"].(value)["data"].([]any)[0].(value)
		if len(got) != 3 || len(item) != 3 || item["c_text"] == nil {
			t.Errorf("%v", got)
		}
	})
	t.Run("5.5-10 scripts and the runner need a script chain", func(t *testing.T) {
		token := mint(t, "", "object", "view", "deployment", "admin")
		s.scopeRefused(t, s.bearing(t, token, "POST", "/routes/echo", `{}`), "script.route.echo")
		s.scopeRefused(t, s.bearing(t, token, "POST", "/sys/script_runner", `{"script":"echo"}`), "script.runner")
	})
	t.Run("5.5-11 an identifier is one route", func(t *testing.T) {
		token := mint(t, "", "script.route.echo")
		s.bearing(t, token, "POST", "/routes/echo", `{}`).ok(t)
		s.scopeRefused(t, s.bearing(t, token, "POST", "/routes/whoami", ""), "script.route.whoami")
	})
	t.Run("5.5-12 script, script.execute and script.execute.* are one", func(t *testing.T) {
		for _, chain := range []string{"script", "script.execute", "script.execute.*"} {
			token := mint(t, "", chain)
			s.bearing(t, token, "POST", "/routes/echo", `{}`).ok(t)
			s.bearing(t, token, "POST", "/sys/script_runner", `{"script":"echo"}`).ok(t)
		}
	})
	t.Run("5.5-13 views need a view chain", func(t *testing.T) {
		got := s.bearing(t, mint(t, "", "object", "script", "deployment", "admin"), "GET", "/views/messages", "")
		s.scopeRefused(t, got, "view.execute.messages")
		for _, chain := range []string{"view", "view.*", "view.execute"} {
			s.bearing(t, mint(t, "", chain), "GET", "/views/messages", "").ok(t)
		}
	})
	t.Run("5.5-14 an identifier is one view", func(t *testing.T) {
		token := mint(t, "", "view.execute.messages")
		s.bearing(t, token, "GET", "/views/messages", "").ok(t)
		s.scopeRefused(t, s.bearing(t, token, "GET", "/views/message_token", ""), "view.execute.message_token")
	})
	t.Run("5.5-15 deployments need a deployment chain", func(t *testing.T) {
		got := s.bearing(t, mint(t, "", "object", "script", "view", "admin"), "POST", "/deployments/count_apps/execute", "")
		s.scopeRefused(t, got, "deployment.execute.count_apps")
		for _, chain := range []string{"deployment", "deployment.*", "deployment.execute"} {
			s.bearing(t, mint(t, "", chain), "POST", "/deployments/count_apps/execute", "").ok(t)
		}
	})
	t.Run("5.5-16 an identifier is one deployment", func(t *testing.T) {
		s.bearing(t, mint(t, "", "deployment.execute.count_apps"), "POST", "/deployments/count_apps/execute", "").ok(t)
		got := s.bearing(t, mint(t, "", "deployment.execute.another"), "POST", "/deployments/count_apps/execute", "")
		s.scopeRefused(t, got, "deployment.execute.count_apps")
	})
	t.Run("5.5-17 administration needs an admin chain", func(t *testing.T) {
		as := `,"roles":["administrator"]`
		s.scopeRefused(t, s.bearing(t, mint(t, as, "object", "script", "view", "deployment"), "GET", "/admin/accounts", ""), "admin.read")
		reader := mint(t, as, "admin.read")
		s.bearing(t, reader, "GET", "/admin/accounts", "").ok(t)
		s.scopeRefused(t, s.bearing(t, reader, "POST", "/admin/accounts", `{"email":"x@acme.example"}`), "admin.update")
		s.bearing(t, mint(t, as, "admin"), "POST", "/admin/accounts/"+s.TOTPAccountID+"/deactivate", "").ok(t)
	})
	for number, chains := range map[string]map[string]bool{
		"5.5.1-1 an identifier or * before a property": {"object.read.c_message.*.c_text": true, "object.read.c_message." + message1 + ".c_text": true},
		"5.5.1-2 none before it":                       {"object.read.account.name": false},
		"5.5.2-1 no deployment.create":                 {"deployment.create": false, "deployment.create.x": false},
		"5.5.2-2 object.create.deployment instead":     {"object.create.deployment": true},
		"5.5.3-1 the valid examples":                   {"object.read.account.*.name": true, "script.execute": true, "view.execute.messages": true},
	} {
		t.Run(number, func(t *testing.T) {
			for chain, valid := range chains {
				body := `{"sub":"` + s.AccountID + `","scope":["` + chain + `"]}`
				got := s.as(t, "", "POST", s.tokensPath(), body)
				if valid {
					got.ok(t)
					continue
				}
				s.refused(t, got, 400, "invalidArgument.authScope")
			}
		})
	}
	theirs := "/c_messages/" + s.as(t, "", "POST", "/c_messages", `{"c_text":"theirs"}`).ok(t)["_id"].(string)
	t.Run("5.5.4-1 a scope gives no access that the subject lacks", func(t *testing.T) {
		token := mint(t, "", "object.update.c_message."+theirs[len("/c_messages/"):])
		s.refused(t, s.bearing(t, token, "PATCH", theirs, `{"c_text":"x"}`), 403, "accessDenied.unspecified")
	})
	t.Run("5.5.5-1 a view reads without object scopes", func(t *testing.T) {
		token := mint(t, "", "view.execute.messages")
		items(t, s.bearing(t, token, "GET", "/views/messages?limit=1", "").ok(t), true)
		s.scopeRefused(t, read(t, token, "c_messages"), "object.read.c_message")
	})
	viewTable["rights"] = builtinView{run: func(_ views, r *http.Request) (any, error) {
		p, theirs := auth.From(r.Context()), &object{Owner: "somebody"}
		return envelope.Result[[]bool]{Data: []bool{mayChange(p, theirs, scope.LevelUpdate) == nil, mayChange(p, theirs, scope.LevelDelete) == nil, mayCreate(p) == nil, p.HasRole(administrator)}}, nil
	}}
	t.Cleanup(func() { delete(viewTable, "rights") })
	guest := s.account(t, `{"email":"guest@acme.example","roles":[]}`)["_id"].(string)
	for more, want := range map[string][]any{ // whether it may update, delete, create and administer
		"":                           {false, false, false, false},
		`,"grant":"update"`:          {true, false, false, false},
		`,"grant":"delete"`:          {true, true, false, false},
		`,"skipAcl":true`:            {true, true, false, false},
		`,"bypassCreateAcl":true`:    {false, false, true, false},
		`,"roles":["member"]`:        {false, false, true, false},
		`,"roles":["administrator"]`: {true, true, false, true},
	} {
		t.Run("5.5.5-2 the other claims apply in a view: "+more, func(t *testing.T) {
			token := s.mint(t, "", `{"sub":"`+guest+`","scope":["view.execute.rights"]`+more+`}`)["token"].(string)
			if diff := cmp.Diff(want, s.bearing(t, token, "GET", "/views/rights", "").ok(t)["data"]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
