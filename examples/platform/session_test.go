package main

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// browser is a client that keeps cookies.
type browser struct {
	*server
	jar http.CookieJar
}

func (s *server) browser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{s, jar}
}

func (b *browser) send(t *testing.T, method, path, body string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequest(method, b.BaseURL+"/"+b.Org+"/v2"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	for _, c := range b.jar.Cookies(r.URL) {
		r.AddCookie(c)
	}
	got := send(t, r)
	b.jar.SetCookies(r.URL, (&http.Response{Header: got.header}).Cookies())
	return got
}

func (b *browser) get(t *testing.T, path string) answer {
	t.Helper()
	return b.send(t, http.MethodGet, path, "")
}

func (b *browser) post(t *testing.T, path string, body any) answer {
	t.Helper()
	if body == nil {
		return b.send(t, http.MethodPost, path, "")
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return b.send(t, http.MethodPost, path, string(text))
}

// totp computes a code of RFC 6238 with the standard library only. Callers move now
// by whole steps to get codes that were not used yet.
func totp(t *testing.T, secret string, steps int64) string {
	t.Helper()
	return totpBy(t, sha1.New, secret, steps)
}

func totpBy(t *testing.T, newHash func() hash.Hash, secret string, steps int64) string {
	t.Helper()
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(newHash, key)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(time.Now().Unix()/30+steps)))
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 15
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[at:at+4])&0x7fffffff%1_000_000)
}

func TestSignInAndOut(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := s.browser(t)
	right := value{"email": s.AccountEmail, "password": s.AccountPassword}

	s.refused(t, b.post(t, "/accounts/login", value{"email": s.AccountEmail, "password": "wrong"}), 401, "accessDenied.invalidCredentials")
	s.refused(t, b.post(t, "/accounts/login", value{"email": "nobody@acme.example", "password": "wrong"}), 401, "accessDenied.invalidCredentials")
	want := value{"loggedin": false}
	if diff := cmp.Diff(want, b.get(t, "/accounts/status").ok(t)); diff != "" {
		t.Errorf("status before (-want +got):\n%s", diff)
	}

	account := b.post(t, "/accounts/login", right).ok(t)
	if account["_id"] != s.AccountID || account["object"] != "account" {
		t.Errorf("login answered %v", account)
	}
	want = value{"loggedin": true, "account": account}
	if diff := cmp.Diff(want, b.get(t, "/accounts/status").ok(t)); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	b.get(t, "/c_messages?limit=1").ok(t)
	b.post(t, "/c_messages", value{"c_text": "by a session"}).ok(t)

	b.post(t, "/accounts/me/logout", nil).ok(t)
	s.refused(t, b.get(t, "/accounts/me"), 401, "accessDenied.noCredentialsSupplied")
}

func TestLoginBodies(t *testing.T) {
	t.Parallel()
	s := start(t)
	for name, body := range map[string]value{
		"nothing":              {},
		"no password":          {"email": s.AccountEmail},
		"a code and an e-mail": {"email": s.AccountEmail, "location": value{"verificationToken": "123456"}},
		"an unknown field":     {"email": s.AccountEmail, "password": "x", "remember": true},
		"a number":             {"email": 1, "password": "x"},
		"null":                 {"email": nil, "password": "x"},
	} {
		t.Run(name, func(t *testing.T) {
			s.refused(t, s.browser(t).post(t, "/accounts/login", body), 400, "invalidArgument.body")
		})
	}
	t.Run("a code without a ticket", func(t *testing.T) {
		body := value{"location": value{"verificationToken": "123456"}}
		s.refused(t, s.browser(t).post(t, "/accounts/login", body), 401, "invalidArgument.locationToken")
	})
}

func TestRegister(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := s.browser(t)
	body := value{"email": "New@acme.example", "password": "correct horse", "name": "New One"}
	account := b.post(t, "/accounts", body).ok(t)
	if account["email"] != "New@acme.example" || account["name"] != "New One" {
		t.Errorf("registered %v", account)
	}
	if diff := cmp.Diff(account, b.get(t, "/accounts/me").ok(t)); diff != "" {
		t.Errorf("not signed in (-want +got):\n%s", diff)
	}
	b.post(t, "/c_messages", value{"c_text": "a member may"}).ok(t)

	body["email"] = "new@ACME.example"
	s.refused(t, s.browser(t).post(t, "/accounts", body), 409, "conflict.unspecified")
	s.browser(t).post(t, "/accounts/login", value{"email": "new@acme.example", "password": "correct horse"}).ok(t)

	for _, short := range []string{"short", "ééééééé", "Password", "12345678"} {
		reasons := children(s.refused(t, b.post(t, "/accounts", value{"email": "x", "password": short}), 400, "invalidArgument.body"))
		if len(reasons) != 2 || reasons["email"] == "" || reasons["password"] == "" {
			t.Errorf("reasons %v", reasons)
		}
	}
	s.browser(t).post(t, "/accounts", value{"email": "eight@acme.example", "password": "éééééééé"}).ok(t)
}

func TestSecondFactorAtLogin(t *testing.T) {
	t.Parallel()
	s := start(t)
	first := value{"email": s.TOTPAccountEmail, "password": s.TOTPPassword}

	b := s.browser(t)
	fault := s.refused(t, b.post(t, "/accounts/login", first), 403, "accessDenied.unverifiedLocation")
	if fault["reason"] != "code" {
		t.Errorf("reason %v", fault["reason"])
	}
	s.refused(t, b.get(t, "/accounts/me"), 401, "accessDenied.noCredentialsSupplied")
	s.refused(t, b.post(t, "/accounts/login", value{"location": value{"verificationToken": "000000x"}}), 401, "invalidArgument.locationToken")
	code := totp(t, s.TOTPSecret, 0)
	account := b.post(t, "/accounts/login", value{"location": value{"verificationToken": code, "locationName": "desk", "singleUse": true}}).ok(t)
	if account["_id"] != s.TOTPAccountID {
		t.Errorf("login answered %v", account)
	}
	b.get(t, "/accounts/me").ok(t)

	// The same code again with the password, and then the next code.
	again := value{"email": s.TOTPAccountEmail, "password": s.TOTPPassword, "location": value{"verificationToken": code}}
	s.refused(t, s.browser(t).post(t, "/accounts/login", again), 401, "invalidArgument.locationToken")
	again["location"] = value{"verificationToken": totp(t, s.TOTPSecret, 1)}
	s.browser(t).post(t, "/accounts/login", again).ok(t)
}

func TestSecondFactorOfOnesOwn(t *testing.T) {
	t.Parallel()
	s := start(t)
	first := value{"email": s.AccountEmail, "password": s.AccountPassword}
	b, other := s.browser(t), s.browser(t)
	b.post(t, "/accounts/login", first).ok(t)
	other.post(t, "/accounts/login", first).ok(t)

	enrolment := b.post(t, "/accounts/me/second-factor", nil).ok(t)["data"].(value)
	secret := enrolment["secret"].(string)
	if uri := enrolment["otpauth"].(string); !strings.Contains(uri, secret) || !strings.Contains(uri, "mia%40acme.example") {
		t.Errorf("otpauth %q", uri)
	}
	s.refused(t, b.post(t, "/accounts/me/second-factor/confirm", value{"code": "no code"}), 401, "invalidArgument.locationToken")
	codes := b.post(t, "/accounts/me/second-factor/confirm", value{"code": totp(t, secret, 0)}).ok(t)["data"].(value)["recoveryCodes"].([]any)
	if len(codes) != 10 {
		t.Fatalf("recovery codes %v", codes)
	}
	b.get(t, "/accounts/me").ok(t) // with its new token

	third := s.browser(t)
	s.refused(t, third.post(t, "/accounts/login", first), 403, "accessDenied.unverifiedLocation")
	third.post(t, "/accounts/login", value{"location": value{"verificationToken": codes[3]}}).ok(t)

	s.refused(t, b.send(t, http.MethodDelete, "/accounts/me/second-factor", `{"code":"000000"}`), 401, "invalidArgument.locationToken")
	b.send(t, http.MethodDelete, "/accounts/me/second-factor", fmt.Sprintf(`{"code":%q}`, codes[4])).ok(t)
	s.refused(t, other.get(t, "/accounts/me"), 401, "accessDenied.sessionExpired")
	b.get(t, "/accounts/me").ok(t)
	s.browser(t).post(t, "/accounts/login", first).ok(t)
}

func TestStateOfASecondFactor(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := s.browser(t)
	b.post(t, "/accounts/login", value{"email": s.AccountEmail, "password": s.AccountPassword}).ok(t)
	// shows compares what the account and its administrator see.
	shows := func(when string, active, pending bool, left int) {
		t.Helper()
		want := value{"active": active, "pending": pending, "recoveryCodesLeft": float64(left)}
		if diff := cmp.Diff(want, b.get(t, "/accounts/me/second-factor").ok(t)["data"]); diff != "" {
			t.Errorf("%s, the account sees (-want +got):\n%s", when, diff)
		}
		if diff := cmp.Diff(want, s.as(t, "", "GET", "/admin/accounts/"+s.AccountID, "").ok(t)["secondFactor"]); diff != "" {
			t.Errorf("%s, the administrator sees (-want +got):\n%s", when, diff)
		}
	}
	shows("before", false, false, 0)
	secret := b.post(t, "/accounts/me/second-factor", nil).ok(t)["data"].(value)["secret"].(string)
	shows("begun", false, true, 0)
	codes := b.post(t, "/accounts/me/second-factor/confirm", value{"code": totp(t, secret, 0)}).ok(t)["data"].(value)["recoveryCodes"].([]any)
	shows("confirmed", true, false, 10)
	other := s.browser(t)
	s.refused(t, other.post(t, "/accounts/login", value{"email": s.AccountEmail, "password": s.AccountPassword}), 403, "accessDenied.unverifiedLocation")
	other.post(t, "/accounts/login", value{"location": value{"verificationToken": codes[0]}}).ok(t)
	shows("with a recovery code used", true, false, 9)
	b.post(t, "/accounts/me/second-factor", nil).ok(t)
	shows("with another device begun", true, true, 9)
	none := value{"active": false, "pending": false, "recoveryCodesLeft": float64(0)}
	if diff := cmp.Diff(none, s.as(t, "", "PATCH", "/admin/accounts/"+s.AccountID, `{"resetSecondFactor":true}`).ok(t)["secondFactor"]); diff != "" {
		t.Errorf("the answer of the reset (-want +got):\n%s", diff)
	}
	b.post(t, "/accounts/login", value{"email": s.AccountEmail, "password": s.AccountPassword}).ok(t)
	shows("reset", false, false, 0)
}

func TestNewRecoveryCodes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "platform.db")
	s := start(t, "-db", sqliteDB+file)
	b := s.browser(t)
	const path = "/accounts/me/second-factor/recovery-codes"
	change(t, file, "UPDATE platform_accounts SET record = json_remove(record, '$.Changed')") // it is the server's start, and the session gets older below
	b.post(t, "/accounts/login", value{"email": s.AccountEmail, "password": s.AccountPassword}).ok(t)
	s.refused(t, b.post(t, path, value{"code": "000000"}), 401, "invalidArgument.locationToken")

	secret := b.post(t, "/accounts/me/second-factor", nil).ok(t)["data"].(value)["secret"].(string)
	used := totp(t, secret, 0)
	former := b.post(t, "/accounts/me/second-factor/confirm", value{"code": used}).ok(t)["data"].(value)["recoveryCodes"].([]any)
	left := func() float64 {
		return b.get(t, "/accounts/me/second-factor").ok(t)["data"].(value)["recoveryCodesLeft"].(float64)
	}
	t.Run("F29 need a code of the factor", func(t *testing.T) {
		s.refused(t, b.post(t, path, value{}), 400, "invalidArgument.body")
		s.refused(t, b.post(t, path, value{"code": "000000"}), 401, "invalidArgument.locationToken")
		s.refused(t, b.post(t, path, value{"code": used}), 401, "invalidArgument.locationToken")
	})
	t.Run("F29 need a session", func(t *testing.T) {
		body := fmt.Sprintf(`{"code":%q}`, totp(t, secret, 1))
		permanent := s.mint(t, "", wish(s.AccountID, `,"permanent":true`))["token"].(string)
		for what, got := range map[string]answer{
			"a token":     s.bearing(t, permanent, "POST", path, body),
			"a signature": s.as(t, s.AccountID, "POST", path, body),
		} {
			if fault := s.refused(t, got, 403, "accessDenied.unspecified"); fault["reason"] == nil {
				t.Errorf("%s: no reason", what)
			}
		}
		s.refused(t, s.bearing(t, permanent, "GET", "/accounts/me/second-factor", ""), 403, "accessDenied.unspecified")
		s.refused(t, s.as(t, s.AccountID, "GET", "/accounts/me/second-factor", ""), 403, "accessDenied.unspecified")
		s.refused(t, b.send(t, "POST", path, body, "Sec-Fetch-Site", "cross-site"), 403, "accessDenied.csrfTokenMismatch")
	})
	t.Run("F29 need a fresh session", func(t *testing.T) {
		change(t, file, "UPDATE tenantkit_v9_sessions SET authenticated = authenticated - 3600000")
		s.refused(t, b.post(t, path, value{"code": totp(t, secret, 1)}), 403, "accessDenied.reauthenticationRequired")
		b.post(t, "/accounts/me/reauthenticate", value{"password": s.AccountPassword}).ok(t)
	})
	if n := left(); n != 10 {
		t.Fatalf("refusals leave %v of the former codes", n)
	}

	got := b.post(t, path, value{"code": former[0]}).ok(t)["data"].(value)["recoveryCodes"].([]any)
	if n := left(); len(got) != 10 || n != 10 {
		t.Errorf("%d new codes, and %v left", len(got), n)
	}
	login := func(code any) answer {
		return s.browser(t).post(t, "/accounts/login",
			value{"email": s.AccountEmail, "password": s.AccountPassword, "location": value{"verificationToken": code}})
	}
	s.refused(t, login(former[1]), 401, "invalidArgument.locationToken")
	login(got[0]).ok(t)
	b.get(t, "/accounts/me").ok(t) // the session stays
}

func TestSecondFactorBySHA256(t *testing.T) {
	t.Parallel()
	s := start(t, "-sha256-codes")
	b := s.browser(t)
	b.post(t, "/accounts/login", value{"email": s.AccountEmail, "password": s.AccountPassword}).ok(t)
	enrolment := b.post(t, "/accounts/me/second-factor", nil).ok(t)["data"].(value)
	secret := enrolment["secret"].(string)
	if uri := enrolment["otpauth"].(string); !strings.Contains(uri, "algorithm=SHA256") {
		t.Errorf("otpauth %q", uri)
	}
	s.refused(t, b.post(t, "/accounts/me/second-factor/confirm", value{"code": totp(t, secret, 0)}), 401, "invalidArgument.locationToken")
	b.post(t, "/accounts/me/second-factor/confirm", value{"code": totpBy(t, sha256.New, secret, 0)}).ok(t)
}

func TestARequiredSecondFactorIsEnrolledAtLogin(t *testing.T) {
	t.Parallel()
	s := start(t, "-require-second-factor")
	b := s.browser(t)
	fault := s.refused(t, b.post(t, "/accounts/login", value{"email": s.AccountEmail, "password": s.AccountPassword}), 403, "accessDenied.unverifiedLocation")
	if fault["reason"] != "enrol" {
		t.Errorf("reason %v", fault["reason"])
	}
	s.refused(t, b.get(t, "/accounts/me"), 401, "accessDenied.noCredentialsSupplied")
	secret := b.post(t, "/accounts/me/second-factor", nil).ok(t)["data"].(value)["secret"].(string)
	b.post(t, "/accounts/me/second-factor/confirm", value{"code": totp(t, secret, 0)}).ok(t)
	b.get(t, "/accounts/me").ok(t)
	s.refused(t, s.browser(t).post(t, "/accounts/me/second-factor", nil), 401, "accessDenied.noCredentialsSupplied")
}

func TestSessionsOfAnAccount(t *testing.T) {
	t.Parallel()
	s := start(t)
	first := value{"email": s.AccountEmail, "password": s.AccountPassword}
	b, other, third := s.browser(t), s.browser(t), s.browser(t)
	for _, b := range []*browser{b, other, third} {
		b.post(t, "/accounts/login", first).ok(t)
	}
	var others []string
	for _, item := range items(t, b.get(t, "/accounts/me/sessions").ok(t), false) {
		session := item.(value)
		if session["object"] != "session" || session["address"] != "127.0.0.1" || session["created"] == "" || session["seen"] == "" {
			t.Errorf("session %v", session)
		}
		if session["current"] == false {
			others = append(others, session["_id"].(string))
		}
	}
	if len(others) != 2 {
		t.Fatalf("other sessions %v", others)
	}
	b.send(t, http.MethodDelete, "/accounts/me/sessions/"+others[0], "").ok(t)
	s.refused(t, b.send(t, http.MethodDelete, "/accounts/me/sessions/"+others[0], ""), 404, "notFound.unspecified")
	if n := b.send(t, http.MethodDelete, "/accounts/me/sessions", "").ok(t)["data"]; n != float64(1) {
		t.Errorf("revoked %v others", n)
	}
	for _, b := range []*browser{other, third} {
		s.refused(t, b.get(t, "/accounts/me"), 401, "accessDenied.sessionExpired")
	}
	b.get(t, "/accounts/me").ok(t)
	s.refused(t, s.do(t, call{path: "/accounts/me/sessions"}), 403, "accessDenied.unspecified") // signed, without a session
}

func TestSessionsOfOthers(t *testing.T) {
	t.Parallel()
	s := start(t)
	mia := s.browser(t)
	mia.post(t, "/accounts/login", value{"email": s.AccountEmail, "password": s.AccountPassword}).ok(t)
	sessions := "/admin/accounts/" + s.AccountID + "/sessions"
	list := func() []any { return s.as(t, "", "GET", sessions, "").ok(t)["data"].([]any) }
	open := list()
	if len(open) != 1 || open[0].(value)["current"] != false {
		t.Fatalf("%v", open)
	}
	s.refused(t, s.as(t, "", "DELETE", sessions+"/unknown", ""), 404, "notFound.unspecified")
	s.refused(t, s.as(t, s.AccountID, "GET", sessions, ""), 403, "accessDenied.unspecified")
	s.refused(t, s.as(t, "", "GET", "/admin/accounts/"+s.OtherAccountID+"/sessions", ""), 404, "notFound.unspecified")
	s.as(t, "", "DELETE", sessions+"/"+open[0].(value)["_id"].(string), "").ok(t)
	s.refused(t, mia.get(t, "/accounts/me"), 401, "accessDenied.sessionExpired")
	mia.post(t, "/accounts/login", value{"email": s.AccountEmail, "password": s.AccountPassword}).ok(t)
	if ended := s.as(t, "", "DELETE", sessions, "").ok(t)["data"]; ended != 1.0 || len(list()) != 0 {
		t.Errorf("%v ended", ended)
	}
	s.refused(t, mia.get(t, "/accounts/me"), 401, "accessDenied.sessionExpired")
}

func TestReauthenticate(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := s.browser(t)
	b.post(t, "/accounts/login", value{"email": s.AccountEmail, "password": s.AccountPassword}).ok(t)
	old := *b
	old.jar, _ = cookiejar.New(nil)
	r, _ := http.NewRequest(http.MethodGet, s.BaseURL, nil)
	old.jar.SetCookies(r.URL, b.jar.Cookies(r.URL))

	s.refused(t, b.post(t, "/accounts/me/reauthenticate", value{}), 400, "invalidArgument.body")
	s.refused(t, b.post(t, "/accounts/me/reauthenticate", value{"password": "wrong"}), 401, "accessDenied.invalidCredentials")
	b.post(t, "/accounts/me/reauthenticate", value{"password": s.AccountPassword}).ok(t)
	b.get(t, "/accounts/me").ok(t)
	s.refused(t, old.get(t, "/accounts/me"), 401, "accessDenied.sessionExpired")
}

func TestChangeOfThePassword(t *testing.T) {
	t.Parallel()
	s := start(t)
	first := value{"email": s.AccountEmail, "password": s.AccountPassword}
	b, other := s.browser(t), s.browser(t)
	b.post(t, "/accounts/login", first).ok(t)
	other.post(t, "/accounts/login", first).ok(t)
	const path, next = "/accounts/me/password", "another horse"

	for body, want := range map[string]string{
		`{}`:                                     "newPassword",
		`{"password":"x","newPassword":"short"}`: "newPassword",
		`{"password":"x","newPassword":"ééééééé"}`:                           "newPassword",
		`{"password":"x","newPassword":"` + strings.Repeat("x", 1025) + `"}`: "newPassword",
		`{"newPassword":"long enough"}`:                                      "password",
	} {
		if reasons := children(s.refused(t, b.send(t, "POST", path, body), 400, "invalidArgument.body")); reasons[want] == "" {
			t.Errorf("%s: %v", body, reasons)
		}
	}
	s.refused(t, b.post(t, path, value{"password": "wrong", "newPassword": next}), 401, "accessDenied.invalidCredentials")
	s.refused(t, b.send(t, "POST", path, `{"password":"x","newPassword":"`+next+`"}`, "Origin", "https://evil.example"), 403, "accessDenied.csrfTokenMismatch")
	body := value{"password": s.AccountPassword, "newPassword": next}
	s.refused(t, s.as(t, s.AccountID, "POST", path, `{"password":"`+s.AccountPassword+`","newPassword":"`+next+`"}`), 403, "accessDenied.unspecified")
	s.refused(t, s.bearing(t, s.EphemeralToken, "POST", path, `{"password":"`+s.AccountPassword+`","newPassword":"`+next+`"}`), 403, "accessDenied.unspecified")
	other.get(t, "/accounts/me").ok(t)

	account := b.post(t, path, body).ok(t)
	if account["_id"] != s.AccountID || account["object"] != "account" {
		t.Errorf("%v", account)
	}
	b.get(t, "/accounts/me").ok(t)
	s.refused(t, other.get(t, "/accounts/me"), 401, "accessDenied.sessionExpired")
	s.refused(t, s.browser(t).post(t, "/accounts/login", first), 401, "accessDenied.invalidCredentials")
	s.browser(t).post(t, "/accounts/login", value{"email": s.AccountEmail, "password": next}).ok(t)
	if !s.works(t, s.EphemeralToken) {
		t.Error("its tokens ended, too")
	}
}

// Existing clients send singleUse false at the second step, which asks that the device is remembered.
// The reply says whether it is, and the next login from there then needs no code.
func TestADeviceIsRememberedIfItsOwnerAsks(t *testing.T) {
	t.Parallel()
	for _, single := range []bool{false, true} {
		s := start(t)
		first := value{"email": s.TOTPAccountEmail, "password": s.TOTPPassword}
		b := s.browser(t)
		s.refused(t, b.post(t, "/accounts/login", first), 403, "accessDenied.unverifiedLocation")
		location := value{"verificationToken": totp(t, s.TOTPSecret, 0), "locationName": "desk", "singleUse": single}
		account := b.post(t, "/accounts/login", value{"location": location}).ok(t)
		if remembered, said := account["remembered"]; said == single || said && remembered != true || account["_id"] != s.TOTPAccountID {
			t.Errorf("singleUse %v: %v", single, account)
		}
		if single {
			s.refused(t, b.post(t, "/accounts/login", first), 403, "accessDenied.unverifiedLocation")
		} else {
			first["location"] = value{"singleUse": false}
			if got := b.post(t, "/accounts/login", first).ok(t)["remembered"]; got != true {
				t.Errorf("once more: remembered is %v", got)
			}
			delete(first, "location")
			devices := items(t, b.get(t, "/accounts/me/devices").ok(t), false)
			if len(devices) != 1 {
				t.Fatalf("devices %v", devices)
			}
			device := devices[0].(value)
			created, bad := time.Parse(dateLayout, device["created"].(string))
			expires, wrong := time.Parse(dateLayout, device["expires"].(string))
			if bad != nil || wrong != nil || device["object"] != "device" || device["name"] != "desk" || device["current"] != true || expires.Sub(created) != 30*24*time.Hour {
				t.Errorf("the device is %v", device)
			}
			own := items(t, b.get(t, "/accounts/me/sessions").ok(t), false)[0].(value)["_id"].(string)
			s.refused(t, b.send(t, http.MethodDelete, "/accounts/me/devices/"+own, ""), 404, "notFound.unspecified") // it is a session
			b.send(t, http.MethodDelete, "/accounts/me/devices/"+device["_id"].(string), "").ok(t)
			if got := b.send(t, http.MethodDelete, "/accounts/me/devices", "").ok(t)["data"]; got != 0.0 {
				t.Errorf("forgot %v more", got)
			}
			s.refused(t, b.post(t, "/accounts/login", first), 403, "accessDenied.unverifiedLocation")
		}
		s.refused(t, s.browser(t).post(t, "/accounts/login", first), 403, "accessDenied.unverifiedLocation")
	}
}

func TestRequestsOfOtherOriginsAreRefused(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := s.browser(t)
	login := fmt.Sprintf(`{"email":%q,"password":%q}`, s.AccountEmail, s.AccountPassword)
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}} {
		s.refused(t, b.send(t, http.MethodPost, "/accounts/login", login, header...), 403, "accessDenied.csrfTokenMismatch")
		s.refused(t, b.send(t, http.MethodPost, "/accounts", login, header...), 403, "accessDenied.csrfTokenMismatch")
	}
	b.send(t, http.MethodPost, "/accounts/login", login, "Origin", s.BaseURL).ok(t)
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}} {
		s.refused(t, b.send(t, http.MethodPost, "/c_messages", `{"c_text":"x"}`, header...), 403, "accessDenied.csrfTokenMismatch")
	}
	b.send(t, http.MethodPost, "/c_messages", `{"c_text":"x"}`).ok(t)
}

func TestStatusOfCredentialsThatFail(t *testing.T) {
	t.Parallel()
	s := start(t, "-session-cookie", "brand-{org}")
	b := s.browser(t)
	got := b.send(t, http.MethodGet, "/accounts/status", "", "Cookie", "brand-acme=nonsense").ok(t)
	fault, _ := got["fault"].(value)
	if got["loggedin"] != false || fault["errCode"] != "service.accessDenied.sessionExpired" {
		t.Errorf("status %v", got)
	}
	b.send(t, http.MethodPost, "/accounts/login", fmt.Sprintf(`{"email":%q,"password":%q}`, s.AccountEmail, s.AccountPassword), "Cookie", "brand-acme=nonsense").ok(t)
	got = b.send(t, http.MethodGet, "/accounts/status", "", "Authorization", "Bearer nonsense").ok(t)
	fault, _ = got["fault"].(value)
	if got["loggedin"] != false || fault["errCode"] != "service.accessDenied.invalidJwt" {
		t.Errorf("status %v", got)
	}
}

func TestRegistrationsAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t)
	refused := 0
	for range 60 {
		got := s.browser(t).post(t, "/accounts", value{"email": "x"})
		if got.status == http.StatusTooManyRequests {
			s.refused(t, got, 429, "throttled.unspecified")
			refused++
		}
	}
	if refused == 0 {
		t.Error("none was refused")
	}
}
