package main

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestMinting(t *testing.T) {
	t.Parallel()
	s := start(t)
	t.Run("an ephemeral token", func(t *testing.T) {
		data := s.mint(t, "", wish(s.AccountID, `,"expiresIn":60,"roles":["administrator"],"grant":"read","skipAcl":true,"bypassCreateAcl":true,"claims":{"x":{"y":1}}`))
		if _, has := data["jti"]; has || data["expires"] == nil {
			t.Errorf("%v", data)
		}
		claims := claimsOf(t, data["token"])
		if life := claims["exp"].(float64) - claims["iat"].(float64); life < 59 || life > 61 {
			t.Errorf("lives %v s", life)
		}
		if at, err := time.Parse(dateLayout, data["expires"].(string)); err != nil || float64(at.Unix()) != claims["exp"] {
			t.Errorf("expires %v, exp %v", data["expires"], claims["exp"])
		}
		delete(claims, "exp")
		delete(claims, "iat")
		want := value{
			"iss": s.ClientKey, "sub": s.AccountID, "aud": s.BaseURL + "/acme/v2", "x": value{"y": 1.0},
			"service/scp": []any{""}, "service/rls": []any{"administrator"},
			"service/gnt": 4.0, "service/skp": true, "service/skc": true,
		}
		if diff := gocmp.Diff(want, claims); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
		me := s.bearing(t, data["token"].(string), "GET", "/accounts/me", "").ok(t)
		if me["_id"] != s.AccountID {
			t.Errorf("acts as %v", me["_id"])
		}
	})
	t.Run("a permanent token", func(t *testing.T) {
		data := s.mint(t, s.AccountID, wish(s.AccountID, `,"permanent":true`))
		if claims := claimsOf(t, data["token"]); claims["jti"] != data["jti"] || claims["exp"] != nil || data["expires"] != nil {
			t.Errorf("%v and %v", data, claims)
		}
	})
	t.Run("T19 a token of one use", func(t *testing.T) {
		data := s.mint(t, s.AccountID, wish(s.AccountID, `,"maxUses":1,"expiresIn":3600`))
		if data["jti"] == nil || data["expires"] == nil {
			t.Errorf("%v", data)
		}
		token := data["token"].(string)
		first := s.works(t, token)
		if second := s.works(t, token); !first || second {
			t.Errorf("accepted: %v, then %v", first, second)
		}
	})
	t.Run("the demo tokens", func(t *testing.T) {
		for range 3 {
			if !s.works(t, s.LimitedToken) {
				t.Error("the limited token is spent early")
			}
		}
		if s.works(t, s.LimitedToken) {
			t.Error("the limited token is not limited")
		}
		s.bearing(t, s.AdminToken, "GET", "/apps", "").ok(t)
		if !s.works(t, s.EphemeralToken) || !s.works(t, s.NarrowToken) {
			t.Error("refused")
		}
	})
}

func TestMintingRefusals(t *testing.T) {
	t.Parallel()
	s := start(t)
	me := s.AccountID
	for _, test := range []struct {
		name, body string
		detail     string
		paths      []string
	}{
		{"without sub and scope", `{}`, "invalidArgument.body", []string{"sub", "scope"}},
		{"an unknown field", wish(me, `,"uses":1`), "invalidArgument.body", []string{"uses"}},
		{"a field twice", wish(me, `,"permanent":true,"permanent":false`), "invalidArgument.body", []string{"permanent"}},
		{"a name twice within claims", wish(me, `,"claims":{"x":[{"a":1,"a":2}]}`), "invalidArgument.body", []string{"claims"}},
		{"null for the scope", `{"sub":"x","scope":null}`, "invalidArgument.body", []string{"scope"}},
		{"a scope of null", `{"sub":"x","scope":[null]}`, "invalidArgument.body", []string{"scope"}},
		{"no such level", wish(me, `,"grant":9`), "invalidArgument.body", []string{"grant"}},
		{"permanent with a use count", wish(me, `,"permanent":true,"maxUses":1`), "invalidArgument.option", []string{"maxUses"}},
		{"no use", wish(me, `,"maxUses":0`), "invalidArgument.option", []string{"maxUses"}},
		{"no life", wish(me, `,"expiresIn":0`), "invalidArgument.option", []string{"expiresIn"}},
		{"a life that overflows", wish(me, `,"expiresIn":9223372036854775807`), "invalidArgument.option", []string{"expiresIn"}},
		{"ephemeral for more than a day", wish(me, `,"expiresIn":86401`), "invalidArgument.option", nil},
		{"ends before it begins", wish(me, `,"notBefore":4102444800`), "invalidArgument.option", nil},
		{"a claim of the namespace", wish(me, `,"claims":{"service/skp":true}`), "invalidArgument.option", nil},
		{"a registered claim", wish(me, `,"claims":{"sub":"x"}`), "invalidArgument.option", nil},
		{"C02 chains that do not parse", `{"sub":"` + me + `","scope":["object.read","object.read.account.name","Object"]}`, "invalidArgument.authScope", []string{"scope[1]", "scope[2]"}},
		{"C02 a chain with a NUL", `{"sub":"` + me + `","scope":["","object.read\u0000"]}`, "invalidArgument.body", []string{"scope"}},
		{"C02 a chain with a line end", `{"sub":"` + me + `","scope":["","object.read\n"]}`, "invalidArgument.authScope", []string{"scope[1]"}},
		{"C02b a chain that matches nothing", `{"sub":"` + me + `","scope":["object.create.c_a.000000000000000000000001"]}`, "invalidArgument.authScope", []string{"scope[0]"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			fault := s.refused(t, s.as(t, "", "POST", s.tokensPath(), test.body), 400, test.detail)
			said := children(fault)
			if len(said) != len(test.paths) {
				t.Errorf("%v, want %v", said, test.paths)
			}
			for _, path := range test.paths {
				if said[path] == "" {
					t.Errorf("nothing about %s in %v", path, said)
				}
			}
		})
	}
	t.Run("C02 a control character is shown escaped", func(t *testing.T) {
		for in, want := range map[string][2]string{
			`\u0000`: {"scope", "[1] must not contain NUL"},
			`\n`:     {"scope[1]", `segment 2: got "read\n", expected create, read, update, delete or *`},
			`\u007f`: {"scope[1]", `segment 2: got "read\x7f", expected create, read, update, delete or *`},
		} {
			got := s.as(t, "", "POST", s.tokensPath(), `{"sub":"`+me+`","scope":["","object.read`+in+`"]}`)
			fault := s.refused(t, got, 400, map[bool]string{true: "invalidArgument.body", false: "invalidArgument.authScope"}[want[0] == "scope"])
			if diff := gocmp.Diff(map[string]string{want[0]: want[1]}, children(fault)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", in, diff)
			}
		}
	})
	t.Run("an app that is not there, or another org's", func(t *testing.T) {
		for _, key := range []string{"nobody", s.OtherClientKey} {
			s.refused(t, s.as(t, "", "POST", "/apps/"+key+"/tokens", wish(me, "")), 404, "notFound.app")
		}
	})
	t.Run("an app that is disabled", func(t *testing.T) {
		app := "/apps/" + s.as(t, "", "POST", "/apps", `{"name":"x"}`).ok(t)["_id"].(string)
		s.as(t, "", "POST", app+"/keypair", "").ok(t)
		s.as(t, "", "PATCH", app, `{"disabled":true}`).ok(t)
		s.refused(t, s.as(t, "", "POST", app+"/tokens", wish(me, "")), 404, "notFound.app")
	})
	t.Run("an app without a key pair", func(t *testing.T) {
		got := s.do(t, call{other: true, method: "POST", path: "/apps/" + s.OtherClientKey + "/tokens", body: wish(s.OtherAccountID, "")})
		s.refused(t, got, 404, "notFound.appRsa")
	})
}

func TestDelegation(t *testing.T) {
	t.Parallel()
	s := start(t)
	mintAs := func(t *testing.T, token, body string) answer {
		t.Helper()
		return s.bearing(t, token, "POST", s.tokensPath(), body)
	}
	for _, test := range []struct {
		name, body string
		excess     map[string]string
	}{
		{"T27 for another account", wish(s.TOTPAccountID, ""), map[string]string{"sub": ""}},
		{"T27 for an account that is not there", wish("000000000000000000000009", ""), map[string]string{"sub": ""}},
		{"T27 skipAcl", wish(s.AccountID, `,"skipAcl":true`), map[string]string{"skipAcl": ""}},
		{"T27 bypassCreateAcl", wish(s.AccountID, `,"bypassCreateAcl":true`), map[string]string{"bypassCreateAcl": ""}},
		{"T27 grant", wish(s.AccountID, `,"grant":4`), map[string]string{"grant": ""}},
		{"T27 a role it lacks", wish(s.AccountID, `,"roles":["administrator"]`), map[string]string{"roles": "administrator"}},
		{"T27 a role that is not there", wish(s.AccountID, `,"roles":["nobody"]`), map[string]string{"roles": "nobody"}},
		{"T27 everything at once", wish(s.TOTPAccountID, `,"skipAcl":true,"grant":"delete"`), map[string]string{"sub": "", "skipAcl": "", "grant": ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.beyond(t, s.as(t, s.AccountID, "POST", s.tokensPath(), test.body), test.excess)
			s.beyond(t, mintAs(t, s.EphemeralToken, test.body), test.excess)
		})
	}
	t.Run("an account that is there and one that is not get one answer", func(t *testing.T) {
		const more = `,"skipAcl":true,"roles":["administrator","member"]`
		known := s.as(t, s.AccountID, "POST", s.tokensPath(), wish(s.AdminAccountID, more))
		unknown := s.as(t, s.AccountID, "POST", s.tokensPath(), wish("000000000000000000000009", more))
		if known.text != unknown.text || known.status != 403 {
			t.Errorf("%s and %s", known.text, unknown.text)
		}
		s.refused(t, s.as(t, "", "POST", s.tokensPath(), wish("000000000000000000000009", "")), 404, "notFound.unspecified")
	})
	t.Run("what is not there is named by its field", func(t *testing.T) {
		for path, body := range map[string]string{
			"sub":   wish("000000000000000000000009", `,"roles":["nobody"]`),
			"roles": wish(s.AccountID, `,"roles":["administrator","nobody"]`),
		} {
			fault := s.refused(t, s.as(t, "", "POST", s.tokensPath(), body), 404, "notFound.unspecified")
			if fault["path"] != path {
				t.Errorf("%s: path %v", path, fault["path"])
			}
		}
	})
	t.Run("T27 beyond its scope", func(t *testing.T) {
		body := `{"sub":"` + s.AccountID + `","scope":["object.read.c_message","object.read.c_message.*.c_text"]}`
		s.beyond(t, mintAs(t, s.NarrowToken, body), map[string]string{"scope": "object.read.c_message"})
		own := `{"sub":"` + s.AccountID + `","scope":["object.read.c_message.*.c_text"]}`
		mintAs(t, s.NarrowToken, own).ok(t)
	})
	t.Run("T28 longer than the minter", func(t *testing.T) {
		s.beyond(t, mintAs(t, s.EphemeralToken, wish(s.AccountID, `,"expiresIn":7200`)), map[string]string{"expiresIn": ""})
		s.beyond(t, mintAs(t, s.AdminToken, wish(s.AccountID, `,"expiresIn":7200`)), map[string]string{"expiresIn": ""})
	})
	t.Run("T28 permanent from ephemeral", func(t *testing.T) {
		s.beyond(t, mintAs(t, s.AdminToken, wish(s.AdminAccountID, `,"permanent":true`)), map[string]string{"expiresIn": ""})
	})
	t.Run("T28 a higher grant, an administrator's token too", func(t *testing.T) {
		s.beyond(t, mintAs(t, s.AdminToken, wish(s.AccountID, `,"grant":"read"`)), map[string]string{"grant": ""})
	})
	t.Run("T28 a limited-use token mints nothing", func(t *testing.T) {
		s.beyond(t, mintAs(t, s.LimitedToken, wish(s.AccountID, "")), map[string]string{"maxUses": ""})
	})
	t.Run("an administrator whose token may administer mints within it", func(t *testing.T) {
		narrow := s.mint(t, "", `{"sub":"`+s.AdminAccountID+`","scope":["admin.update"]}`)["token"].(string)
		s.beyond(t, mintAs(t, narrow, wish(s.AccountID, `,"expiresIn":60`)), map[string]string{"scope": "*"})
		mintAs(t, narrow, `{"sub":"`+s.AccountID+`","scope":["admin.update"],"expiresIn":60}`).ok(t)
	})
	for _, chains := range []string{``, `"object.read.c_message.*.c_text"`, `"admin.read"`} {
		t.Run("M01 an administrator whose token may not administer: "+chains, func(t *testing.T) {
			narrow := s.mint(t, "", `{"sub":"`+s.AdminAccountID+`","scope":[`+chains+`]}`)["token"].(string)
			s.beyond(t, mintAs(t, narrow, `{"sub":"`+s.AccountID+`","scope":[`+chains+`],"expiresIn":60}`), map[string]string{"sub": ""})
			s.beyond(t, mintAs(t, narrow, `{"sub":"`+s.AdminAccountID+`","scope":[`+chains+`],"claims":{"x":1},"expiresIn":60}`), map[string]string{"claims": ""})
			mintAs(t, narrow, `{"sub":"`+s.AdminAccountID+`","scope":[`+chains+`],"expiresIn":60}`).ok(t)
		})
	}
}

func TestTokensPerSubject(t *testing.T) {
	t.Parallel()
	s := start(t)
	t.Run("T21 the eleventh of parallel mints is refused", func(t *testing.T) {
		var mu sync.Mutex
		granted, refused := 0, 0
		var all sync.WaitGroup
		for range 11 {
			all.Go(func() {
				got := s.as(t, "", "POST", s.tokensPath(), wish(s.TOTPAccountID, `,"permanent":true`))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case got.status == http.StatusOK:
					granted++
				case strings.Contains(got.text, "service.accessDenied.maxJwtPerSubject"):
					refused++
				}
			})
		}
		all.Wait()
		if granted != 10 || refused != 1 {
			t.Errorf("%d granted, %d refused", granted, refused)
		}
	})
	t.Run("a revoked one makes room", func(t *testing.T) {
		listed := items(t, s.as(t, s.TOTPAccountID, "GET", s.subjectPath(s.TOTPAccountID)+"?limit=10", "").ok(t), false)
		first := listed[0].(value)["_id"].(string)
		s.as(t, s.TOTPAccountID, "DELETE", s.tokensPath()+"/"+first, "").ok(t)
		s.mint(t, s.TOTPAccountID, wish(s.TOTPAccountID, `,"permanent":true`))
		fault := s.as(t, "", "POST", s.tokensPath(), wish(s.TOTPAccountID, `,"maxUses":1`))
		s.refused(t, fault, 403, "accessDenied.maxJwtPerSubject")
	})
}

func TestRevoking(t *testing.T) {
	t.Parallel()
	s := start(t)
	permanent := func(t *testing.T, account string) (token, path string) {
		t.Helper()
		data := s.mint(t, account, wish(account, `,"permanent":true`))
		return data["token"].(string), s.tokensPath() + "/" + data["jti"].(string)
	}
	mine, theirs := s.AccountID, s.TOTPAccountID

	t.Run("a list tells of the uses", func(t *testing.T) {
		data := s.mint(t, mine, wish(mine, `,"maxUses":5,"expiresIn":60`))
		s.works(t, data["token"].(string))
		for _, account := range []string{mine, ""} {
			listed := items(t, s.as(t, account, "GET", s.subjectPath(mine), "").ok(t), false)
			at := slices.IndexFunc(listed, func(item any) bool { return item.(value)["_id"] == data["jti"] })
			if len(listed) != 2 || at < 0 { // besides the demo's limited token
				t.Fatalf("%v", listed)
			}
			got := listed[at].(value)
			if _, err := time.Parse(dateLayout, got["issued"].(string)); err != nil {
				t.Error(err)
			}
			if _, err := time.Parse(dateLayout, got["lastUsed"].(string)); err != nil {
				t.Error(err)
			}
			delete(got, "issued")
			delete(got, "lastUsed")
			want := value{"_id": data["jti"], "lastAddress": "127.0.0.0/24", "object": "token", "subject": mine, "kind": "limited", "uses": 1.0, "maxUses": 5.0, "expires": data["expires"],
				"makerApp": s.ClientKey, "scope": []any{"*"}}
			if account == "" {
				want["maker"] = s.AdminAccountID // the key is the administrator's
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	})
	t.Run("T20 one's own", func(t *testing.T) {
		token, path := permanent(t, mine)
		if !s.works(t, token) {
			t.Fatal("not accepted")
		}
		if got := s.as(t, mine, "DELETE", path, "").ok(t); got["data"] != true {
			t.Errorf("%v", got)
		}
		if s.works(t, token) {
			t.Error("accepted after it was revoked")
		}
		s.refused(t, s.as(t, mine, "DELETE", path, ""), 404, "notFound.unspecified")
		s.refused(t, s.as(t, "", "DELETE", path, ""), 404, "notFound.unspecified")
	})
	t.Run("T20 another's, by an administrator", func(t *testing.T) {
		token, path := permanent(t, mine)
		s.as(t, "", "DELETE", path, "").ok(t)
		if s.works(t, token) {
			t.Error("accepted after it was revoked")
		}
	})
	t.Run("T23 a jti of another subject, by a member", func(t *testing.T) {
		token, path := permanent(t, theirs)
		s.refused(t, s.as(t, mine, "DELETE", path, ""), 404, "notFound.unspecified")
		s.refused(t, s.as(t, mine, "GET", s.subjectPath(theirs), ""), 403, "accessDenied.unspecified")
		s.refused(t, s.as(t, mine, "DELETE", s.subjectPath(theirs), ""), 403, "accessDenied.unspecified")
		if !s.works(t, token) {
			t.Error("ended all the same")
		}
	})
	t.Run("another's, by an administrator whose token may only read", func(t *testing.T) {
		narrow := s.mint(t, "", `{"sub":"`+s.AdminAccountID+`","scope":["admin.read"]}`)["token"].(string)
		_, path := permanent(t, mine)
		s.bearing(t, narrow, "GET", s.subjectPath(mine), "").ok(t)
		s.scopeRefused(t, s.bearing(t, narrow, "DELETE", path, ""), "admin.update")
		s.scopeRefused(t, s.bearing(t, narrow, "DELETE", s.subjectPath(mine), ""), "admin.update")
		s.scopeRefused(t, s.bearing(t, s.NarrowToken, "GET", s.subjectPath(theirs), ""), "admin.read")
	})
	t.Run("T20 all of a subject", func(t *testing.T) {
		before := len(items(t, s.as(t, mine, "GET", s.subjectPath(mine), "").ok(t), false))
		one, _ := permanent(t, mine)
		two, _ := permanent(t, mine)
		got := s.as(t, mine, "DELETE", s.subjectPath(mine), "").ok(t)
		if got["data"] != float64(before+2) {
			t.Errorf("%v, want %d", got["data"], before+2)
		}
		if s.works(t, one) || s.works(t, two) {
			t.Error("accepted after it was revoked")
		}
		if !s.works(t, s.EphemeralToken) {
			t.Error("an ephemeral token was revoked")
		}
	})
	t.Run("T23 a jti of another app, or of another org", func(t *testing.T) {
		other := s.as(t, "", "POST", "/apps", `{"name":"another"}`).ok(t)["_id"].(string)
		token, path := permanent(t, mine)
		jti := path[strings.LastIndexByte(path, '/'):]
		for _, account := range []string{"", mine} {
			s.refused(t, s.as(t, account, "DELETE", "/apps/"+other+"/tokens"+jti, ""), 404, "notFound.unspecified")
			s.refused(t, s.as(t, account, "DELETE", "/apps/"+s.OtherClientKey+"/tokens"+jti, ""), 404, "notFound.app")
		}
		s.refused(t, s.do(t, call{other: true, method: "DELETE", path: path}), 404, "notFound.app")
		if !s.works(t, token) {
			t.Error("ended all the same")
		}
	})
}

func TestMintingQuota(t *testing.T) {
	s := start(t)
	mint := func(account string) answer {
		return s.as(t, account, "POST", s.tokensPath(), wish(cmp.Or(account, s.AdminAccountID), ""))
	}
	var last answer
	for n := 0; n < 500 && last.status != 429; n++ {
		if last = mint(s.AccountID); last.status == 429 && n < newMintQuota().burst {
			t.Fatalf("refused after %d", n)
		}
	}
	s.refused(t, last, 429, "throttled.unspecified")
	if after, err := strconv.Atoi(last.header.Get("Retry-After")); err != nil || after < 1 {
		t.Errorf("Retry-After is %q", last.header.Get("Retry-After"))
	}
	mint("").ok(t) // another account has a quota of its own
	time.Sleep(2 * newMintQuota().interval)
	mint(s.AccountID).ok(t)
}

func TestQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQuota(100*time.Millisecond, 50)
		ann := inOrg{"acme", "ann"}
		count := func() (n int) {
			for q.take(ann) == nil {
				n++
			}
			return n
		}
		for _, test := range []struct {
			rest time.Duration
			want int
		}{{0, 50}, {time.Second, 10}, {time.Hour, 50}} {
			time.Sleep(test.rest)
			if n := count(); n != test.want {
				t.Errorf("%d at once after %v, want %d", n, test.rest, test.want)
			}
		}
	})
}

// TestAFullQuotaRefusesNobodyElse lets one org fill a quota.
func TestAFullQuotaRefusesNobodyElse(t *testing.T) {
	t.Parallel()
	q := newQuota(time.Hour, 1)
	q.most = 100
	for _, other := range []inOrg{{org: acme}, {org: globex}} {
		for i := range 2 * q.most {
			who := inOrg{other.org, fmt.Sprint(i)}
			if err := q.take(who); err != nil || q.take(who) == nil {
				t.Fatalf("%v: %v at first, and then admitted", who, err)
			}
		}
	}
	if len(q.fullAt) != q.most {
		t.Errorf("%d names are remembered, want %d", len(q.fullAt), q.most)
	}
}

func TestAnotherClaimNamespace(t *testing.T) {
	t.Parallel()
	s := start(t, "-header-prefix", "Acme-", "-claim-namespace", "acme/", "-fault-namespace", "acme")
	s.brand, s.faults = "Acme-", "acme"
	claims := claimsOf(t, s.mint(t, "", wish(s.AccountID, `,"skipAcl":true`))["token"])
	if claims["acme/skp"] != true || claims["service/skp"] != nil || claims["acme/scp"] == nil {
		t.Errorf("%v", claims)
	}
	s.scopeRefused(t, s.bearing(t, s.NarrowToken, "GET", "/apps", ""), "admin.read")
	s.bearing(t, s.AdminToken, "GET", "/apps", "", "Acme-Client-Key", s.ClientKey).ok(t)
	got := s.bearing(t, s.AdminToken, "GET", "/apps", "", "Acme-Client-Key", s.OtherClientKey)
	s.refused(t, got, 401, "accessDenied.invalidJwtApp")
}
