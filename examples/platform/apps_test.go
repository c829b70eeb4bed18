package main

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/token"
)

// signedBy is a request that another app signs.
func (s *server) signedBy(t *testing.T, app value, method, path, body string) answer {
	t.Helper()
	by := *s
	by.ClientKey, by.ClientSecret = app["_id"].(string), app["secret"].(string)
	return by.as(t, "", method, path, body)
}

func TestApps(t *testing.T) {
	t.Parallel()
	s := start(t)
	post := func(t *testing.T, body string) value {
		t.Helper()
		return s.as(t, "", "POST", "/apps", body).ok(t)
	}
	acting := `{"name":"Acting","credential":{"account":"` + s.AccountID + `"}}`

	t.Run("its whole life", func(t *testing.T) {
		app := post(t, acting)
		one := "/apps/" + app["_id"].(string)
		if me := s.signedBy(t, app, "GET", "/accounts/me", "").ok(t); me["_id"] != s.AccountID {
			t.Errorf("acts as %v", me["_id"])
		}
		secret := app["secret"].(string)
		delete(app, "secret")
		want := value{
			"_id": app["_id"], "object": "app", "name": "Acting", "disabled": false, "exposeKeys": false, "kid": "",
			"credential": value{
				"account": s.AccountID, "accounts": []any{}, "scope": nil, "networks": nil, "notBefore": nil, "notAfter": nil,
				"minVersion": 1.0, "publicKey": nil, "secrets": 1.0, "secretEnds": []any{},
				"maker": s.AdminAccountID, "created": app["credential"].(value)["created"],
			},
		}
		if diff := cmp.Diff(want, app); diff != "" {
			t.Errorf("created (-want +got):\n%s", diff)
		}
		got := s.as(t, "", "GET", one, "").ok(t)
		of := got["credential"].(value)
		if _, err := time.Parse(dateLayout, fmt.Sprint(of["lastUsed"])); err != nil || of["lastUsed"].(string) < of["created"].(string) || of["lastAddress"] != "127.0.0.0/24" {
			t.Errorf("its last use: %v", of)
		}
		delete(of, "lastUsed")
		delete(of, "lastAddress")
		if cmp.Diff(app, got) != "" {
			t.Errorf("read %v", got)
		}
		s.as(t, "", "POST", one+"/secret", `{"grace":3600}`).ok(t)
		for _, listed := range s.as(t, "", "GET", "/apps?limit=1000", "").ok(t)["data"].([]any) {
			if a := listed.(value); a["_id"] == app["_id"] {
				app["credential"] = a["credential"]
			}
		}
		if credential := app["credential"].(value); credential["secrets"] != 2.0 || len(credential["secretEnds"].([]any)) != 1 {
			t.Errorf("listed after a rotation: %v", credential)
		}
		got = s.as(t, "", "POST", one+"/keypair", "").ok(t)
		if len(got["kid"].(string)) != 43 {
			t.Errorf("kid %v", got["kid"])
		}
		got = s.as(t, "", "PATCH", one, `{"name":"Renamed","disabled":true}`).ok(t)
		if got["name"] != "Renamed" || got["disabled"] != true || got["kid"] == "" {
			t.Errorf("changed to %v", got)
		}
		app["secret"] = secret
		s.refused(t, s.signedBy(t, app, "GET", "/accounts/me", ""), 401, "accessDenied.invalidRequestSignature")
		s.as(t, "", "PATCH", one, `{"disabled":false}`).ok(t)
		s.signedBy(t, app, "GET", "/accounts/me", "").ok(t)
		s.as(t, "", "DELETE", one, "").ok(t)
		s.refused(t, s.signedBy(t, app, "GET", "/accounts/me", ""), 401, "accessDenied.invalidRequestSignature")
		for _, method := range []string{"GET", "DELETE"} {
			s.refused(t, s.as(t, "", method, one, ""), 404, "notFound.app")
		}
	})
	t.Run("a list of the org's own", func(t *testing.T) {
		names := make(map[any]any)
		for _, item := range items(t, s.as(t, "", "GET", "/apps?limit=3", "").ok(t), false) {
			names[item.(value)["_id"]] = item.(value)["name"]
		}
		if diff := cmp.Diff(map[any]any{s.ClientKey: "Integration", s.NarrowClientKey: "Partner, reads messages", s.V2ClientKey: "Partner, signs bodies"}, names); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("an app of another org is not found", func(t *testing.T) {
		one := "/apps/" + s.OtherClientKey
		for _, c := range []call{{path: one}, {method: "PATCH", path: one, body: `{"name":"x"}`}, {method: "DELETE", path: one},
			{method: "POST", path: one + "/keypair"}, {method: "POST", path: one + "/secret"}} {
			s.refused(t, s.do(t, c), 404, "notFound.app")
		}
	})
	t.Run("nobody but an administrator, with the scope", func(t *testing.T) {
		narrow := s.mint(t, "", `{"sub":"`+s.AdminAccountID+`","scope":["admin.read"]}`)["token"].(string)
		for _, c := range []call{{path: "/apps"}, {method: "POST", path: "/apps", body: acting}, {method: "DELETE", path: "/apps/" + s.ClientKey},
			{method: "POST", path: "/apps/" + s.ClientKey + "/keypair"}, {method: "POST", path: "/apps/" + s.ClientKey + "/secret"}} {
			got := s.as(t, s.AccountID, c.method, c.path, c.body)
			s.refused(t, got, 403, "accessDenied.unspecified")
			if c.method != "" {
				s.scopeRefused(t, s.bearing(t, narrow, c.method, c.path, c.body), "admin.update")
			}
		}
		s.bearing(t, narrow, "GET", "/apps", "").ok(t)
	})
	t.Run("bodies that are refused", func(t *testing.T) {
		for body, path := range map[string]string{
			`{}`:                           "name",
			`{"name":" "}`:                 "name",
			`{"name":"a\nb"}`:              "name",
			`{"name":"x","secret":"s"}`:    "secret",
			`{"name":"x","disabled":true}`: "disabled",
			`{"name":"x","exposeKeys":1}`:  "exposeKeys",
			`{"name":"x","credential":{"account":"nobody"}}`:                              "credential.account",
			`{"name":"x","credential":{"accounts":["` + s.OtherAccountID + `"]}}`:         "credential.accounts",
			`{"name":"x","credential":{"networks":["192.0.2.1/24"]}}`:                     "credential.networks",
			`{"name":"x","credential":{"networks":[]}}`:                                   "credential.networks",
			`{"name":"x","credential":{"networks":["anywhere"]}}`:                         "credential.networks",
			`{"name":"x","credential":{"notBefore":"tomorrow"}}`:                          "credential.notBefore",
			`{"name":"x","credential":{"notBefore":2000000001,"notAfter":2000000000}}`:    "credential.notAfter",
			`{"name":"x","credential":{"key":"k"}}`:                                       "credential.key",
			`{"name":"x","credential":{"minVersion":3}}`:                                  "credential.minVersion",
			`{"name":"x","credential":{"minVersion":0}}`:                                  "credential.minVersion",
			`{"name":"x","credential":{"publicKey":null}}`:                                "credential.publicKey",
			`{"name":"x","credential":{"publicKey":"k"}}`:                                 "credential.publicKey",
			`{"name":"x","credential":{"publicKey":"` + strings.Repeat("A", 43) + `"}}`:   "credential.publicKey", // small order
			`{"name":"x","credential":{"publicKey":"` + aPublicKey + `","minVersion":1}}`: "credential.minVersion",
			`{"name":"x","credential":{"publicKey":"` + aPublicKey + `\n"}}`:              "credential.publicKey",
		} {
			fault := s.refused(t, s.as(t, "", "POST", "/apps", body), 400, "invalidArgument.body")
			if children(fault)[path] == "" {
				t.Errorf("%s: %v", body, children(fault))
			}
		}
	})
	t.Run("what a credential is restricted to", func(t *testing.T) {
		for name, test := range map[string]struct{ restriction, lifted string }{
			"another network": {`"networks":["192.0.2.0/24"]`, `"networks":["127.0.0.0/8"]`},
			"later":           {`"notBefore":"2126-01-02T03:04:05.000Z"`, `"notBefore":null`},
			"earlier":         {`"notAfter":1000000000`, `"notAfter":null`},
		} {
			app := post(t, `{"name":"x","credential":{"account":"`+s.AccountID+`",`+test.restriction+`}}`)
			s.refused(t, s.signedBy(t, app, "GET", "/accounts/me", ""), 401, "accessDenied.invalidRequestSignature")
			s.as(t, "", "PATCH", "/apps/"+app["_id"].(string), `{"credential":{`+test.lifted+`}}`).ok(t)
			if got := s.signedBy(t, app, "GET", "/accounts/me", ""); got.status != 200 {
				t.Errorf("%s: %s", name, got.text)
			}
		}
		nobody := post(t, `{"name":"x"}`)
		s.refused(t, s.signedBy(t, nobody, "GET", "/accounts/me", ""), 403, "accessDenied.principal")
	})
	t.Run("a rotated secret lives on beside the new one, when that is rotated too", func(t *testing.T) {
		app := post(t, acting)
		secrets := []any{app["secret"]}
		for range 3 {
			rotated := s.as(t, "", "POST", "/apps/"+app["_id"].(string)+"/secret", "").ok(t)
			secrets = append(secrets, rotated["data"].(value)["secret"])
		}
		for _, app["secret"] = range secrets {
			s.signedBy(t, app, "GET", "/accounts/me", "").ok(t)
		}
	})
}

// TestKeysThatOverlap changes the key pair of an app while its tokens are in use.
func TestKeysThatOverlap(t *testing.T) {
	t.Parallel()
	s := start(t)
	app := s.as(t, "", "POST", "/apps", `{"name":"x","exposeKeys":true}`).ok(t)
	one := "/apps/" + app["_id"].(string)
	pair := func(body string) string { return s.as(t, "", "POST", one+"/keypair", body).ok(t)["kid"].(string) }
	mint := func() string {
		data := s.as(t, "", "POST", one+"/tokens", wish(s.AccountID, `,"permanent":true`)).ok(t)["data"].(value)
		return data["token"].(string)
	}
	works := func(what, token string, want bool) {
		t.Helper()
		if got := s.works(t, token); got != want {
			t.Errorf("%s: accepted %v, want %v", what, got, want)
		}
	}
	s.refused(t, s.as(t, "", "POST", one+"/keypair", `{"overlap":60}`), 404, "notFound.appRsa")
	first := pair("")
	before := mint()
	works("at first", before, true)
	for _, overlap := range []string{"0", "-1", "2592001", "9007199254740993"} {
		fault := s.refused(t, s.as(t, "", "POST", one+"/keypair", `{"overlap":`+overlap+`}`), 400, "invalidArgument.option")
		if fault["path"] != "overlap" {
			t.Errorf("an overlap of %s: path %v", overlap, fault["path"])
		}
	}
	for _, overlap := range []string{`"60"`, "1.5", "true", "[]", "null"} {
		s.refused(t, s.as(t, "", "POST", one+"/keypair", `{"overlap":`+overlap+`}`), 400, "invalidArgument.body")
	}
	if kid := s.as(t, "", "GET", one, "").ok(t)["kid"]; kid != first {
		t.Fatalf("after refusals the key is %v, want %s", kid, first)
	}

	second := pair(`{"overlap":2592000}`)
	after := mint()
	works("of the former key", before, true)
	works("of the present key", after, true)
	if kids := keyIDs(t, s); second == first || !slices.Contains(kids, first) || !slices.Contains(kids, second) {
		t.Errorf("listed: %v", kids)
	}
	path := one + "/subjects/" + s.AccountID + "/tokens"
	if listed := items(t, s.as(t, "", "GET", path, "").ok(t), false); len(listed) != 2 {
		t.Errorf("%d tokens are listed, want 2", len(listed))
	}
	for range token.MaxFormers - 1 {
		pair(`{"overlap":3600}`)
	}
	s.refused(t, s.as(t, "", "POST", one+"/keypair", `{"overlap":3600}`), 409, "conflict.unspecified")
	works("of the first key", before, true)

	last := pair(`{}`)
	works("of a former key, afterwards", before, false)
	works("of another, afterwards", after, false)
	if kids := keyIDs(t, s); !slices.Contains(kids, last) || len(kids) != 2 {
		t.Errorf("listed: %v", kids)
	}
	third := mint()
	pair(`{"overlap":3}`)
	works("before the end", third, true)
	time.Sleep(3100 * time.Millisecond)
	works("at the end", third, false)
}

func TestEndOfAnApp(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]struct {
		method, path string
		listed       bool
	}{
		"T22 regenerate the key pair": {"POST", "/keypair", true},
		"T22 delete the app":          {"DELETE", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			app := s.as(t, "", "POST", "/apps", `{"name":"x","exposeKeys":true}`).ok(t)
			one := "/apps/" + app["_id"].(string)
			s.as(t, "", "POST", one+"/keypair", "").ok(t)
			var tokens []string
			for _, kind := range []string{"", `,"permanent":true`, `,"maxUses":9`} {
				data := s.as(t, "", "POST", one+"/tokens", wish(s.AccountID, kind)).ok(t)["data"].(value)
				tokens = append(tokens, data["token"].(string))
			}
			for _, token := range tokens {
				for range 2 { // the second finds the cache warm
					if !s.works(t, token) {
						t.Fatal("not accepted")
					}
				}
			}
			before := keyIDs(t, s)
			s.as(t, "", end.method, one+end.path, "").ok(t)
			for _, token := range tokens {
				if s.works(t, token) {
					t.Error("accepted after its key has gone")
				}
			}
			after := keyIDs(t, s)
			if cmp.Diff(before, after) == "" || len(after) != map[bool]int{true: 2, false: 1}[end.listed] {
				t.Errorf("keys before %v, after %v", before, after)
			}
			if !end.listed {
				s.refused(t, s.as(t, "", "GET", one, ""), 404, "notFound.app")
				return
			}
			path := one + "/subjects/" + s.AccountID + "/tokens"
			if listed := items(t, s.as(t, "", "GET", path, "").ok(t), false); len(listed) != 0 {
				t.Errorf("listed: %v", listed)
			}
			s.as(t, "", "POST", one+"/tokens", wish(s.AccountID, `,"permanent":true`)).ok(t)
		})
	}
}

// keyIDs returns the ids that the certificates endpoint lists.
func keyIDs(t *testing.T, s *server) (ids []string) {
	t.Helper()
	for _, key := range jwks(t, s)["keys"].([]any) {
		ids = append(ids, key.(value)["kid"].(string))
	}
	return ids
}

func certs(t *testing.T, s *server, org, form string) answer {
	t.Helper()
	r, err := http.NewRequest("GET", s.BaseURL+"/"+org+"/v2/auth/certs/"+form, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := send(t, r)
	if got.status != 200 {
		t.Fatalf("%d %s", got.status, got.text)
	}
	return got
}

func jwks(t *testing.T, s *server) value {
	t.Helper()
	var set value
	if err := json.Unmarshal([]byte(certs(t, s, s.Org, "jwk").text), &set); err != nil {
		t.Fatal(err)
	}
	return set
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	s := start(t)
	t.Run("K01 only exposed apps of the org, and public members only", func(t *testing.T) {
		hidden := s.as(t, "", "POST", "/apps", `{"name":"hidden"}`).ok(t)["_id"].(string)
		kid := s.as(t, "", "POST", "/apps/"+hidden+"/keypair", "").ok(t)["kid"].(string)
		set := jwks(t, s)
		if got := certs(t, s, s.Org, "pem").text; strings.Contains(got, kid) || strings.Contains(got, "PRIVATE") {
			t.Error(got)
		}
		var names []string
		key := set["keys"].([]any)[0].(value)
		for _, name := range []string{"kty", "use", "alg", "kid", "n", "e"} {
			if key[name] == nil {
				names = append(names, name)
			}
		}
		if len(set["keys"].([]any)) != 1 || len(names) > 0 || len(key) != 6 {
			t.Errorf("%v", set)
		}
		if got := certs(t, s, s.OtherOrg, "jwk").text; strings.Contains(got, `"kid"`) {
			t.Error(got)
		}
		s.as(t, "", "PATCH", "/apps/"+hidden, `{"exposeKeys":true}`).ok(t)
		if got := certs(t, s, s.Org, "pem").text; !strings.Contains(got, "# kid: "+kid) {
			t.Error(got)
		}
		s.as(t, "", "PATCH", "/apps/"+hidden, `{"disabled":true}`).ok(t)
		if got := certs(t, s, s.Org, "pem").text; strings.Contains(got, kid) {
			t.Error("a disabled app is listed")
		}
	})
	t.Run("both forms hold the same key", func(t *testing.T) {
		block, _ := pem.Decode([]byte(certs(t, s, s.Org, "pem").text))
		parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		n, err := base64.RawURLEncoding.DecodeString(jwks(t, s)["keys"].([]any)[0].(value)["n"].(string))
		if err != nil || !bytes.Equal(new(big.Int).SetBytes(n).Bytes(), parsed.(*rsa.PublicKey).N.Bytes()) {
			t.Error("they differ")
		}
	})
}
