package main

import (
	"net/http"
	"strings"
	"testing"
)

// TestNothingIsTold is K08: neither the log nor a fault ever holds a secret or a
// token that could be used again.
func TestNothingIsTold(t *testing.T) {
	t.Parallel()
	folder := t.TempDir() // of mails, which are else in the log of the demo
	s := start(t, "-log", "json", "-mail-dir", folder)
	var faults strings.Builder
	secrets := map[string]string{
		"client secret":       s.ClientSecret,
		"other client secret": s.OtherClientSecret,
		"password":            s.AccountPassword,
		"other password":      s.TOTPPassword,
		"factor":              s.TOTPSecret,
		"admin token":         s.AdminToken,
		"token":               s.EphemeralToken,
	}
	note := func(got answer) answer {
		if got.status != http.StatusOK {
			faults.WriteString(got.text)
		}
		return got
	}
	bearer := func(token string) answer {
		return note(s.browser(t).send(t, "GET", "/accounts/me", "", "Authorization", "Bearer "+token))
	}

	// A request, its replay, and one with the signature of another.
	r, err := http.NewRequest("GET", s.BaseURL+"/acme/v2/accounts/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.sign(r, "/accounts/me", s.ClientKey, s.ClientSecret)
	secrets["signature"], secrets["nonce"] = r.Header.Get("Service-Client-Signature"), r.Header.Get("Service-Client-Nonce")
	for _, path := range []string{"/acme/v2/accounts/me", "/acme/v2/accounts/me", "/acme/v2/schemas", "/globex/v2/accounts/me"} {
		r.URL.Path = path
		note(send(t, r))
	}
	// Tokens: a valid one, a cut one, one of a wrong org, and a new one.
	for _, token := range []string{s.EphemeralToken, s.EphemeralToken[:len(s.EphemeralToken)-4], s.NarrowToken, "x" + s.AdminToken} {
		bearer(token)
	}
	minted := note(s.do(t, call{method: "POST", path: "/apps/" + s.ClientKey + "/tokens", body: `{"sub":"` + s.AccountID + `","scope":[""],"permanent":true}`}))
	secrets["minted token"] = minted.ok(t)["data"].(value)["token"].(string)
	bearer(secrets["minted token"])
	// API keys: a valid one, a cut one, one with another secret, and one in the query.
	key, id := s.readerKey(t)
	secrets["API key"], secrets["secret of the API key"] = key, key[len("service_live_")+len(id):]
	for _, key := range []string{key, key[:len(key)-4], "x" + key, strings.ToUpper(key)} {
		bearer(key)
	}
	note(s.do(t, call{path: "/c_messages?limit=1&apiKey=" + key}))
	note(s.do(t, call{method: "DELETE", path: "/apps/" + s.ClientKey + "/keys/" + key}))
	// T23 A token and a secret in place of an id.
	for _, secret := range []string{s.EphemeralToken, s.ClientSecret} {
		note(s.do(t, call{method: "DELETE", path: "/apps/" + s.ClientKey + "/tokens/" + secret}))
	}
	// Invitations: a valid ticket, a cut one, and one in place of an id.
	note(s.do(t, call{method: "POST", path: "/admin/invitations", body: `{"email":"new@acme.example"}`})).ok(t)
	ticket := mailed(t, folder, 1)
	secrets["invitation"] = ticket
	for _, ticket := range []string{ticket[1:], ticket, ticket} {
		note(s.do(t, call{method: "POST", path: "/accounts/accept", unsigned: true, body: `{"ticket":"` + ticket + `","password":"correct horse"}`}))
	}
	note(s.do(t, call{method: "DELETE", path: "/admin/invitations/" + ticket}))
	// Forgotten passwords: a valid ticket, a cut one, and a used one.
	note(s.do(t, call{method: "POST", path: "/accounts/forgot", unsigned: true, body: `{"email":"new@acme.example"}`})).ok(t)
	reset := mailed(t, folder, 2)
	secrets["reset"] = reset
	for _, ticket := range []string{reset[1:], reset, reset} {
		note(s.do(t, call{method: "POST", path: "/accounts/reset", unsigned: true, body: `{"ticket":"` + ticket + `","password":"correct horse 2"}`}))
	}
	// Logins with correct and wrong passwords and codes.
	b := s.browser(t)
	note(b.post(t, "/accounts/login", value{"email": s.TOTPAccountEmail, "password": "a wrong password"}))
	note(b.post(t, "/accounts/login", value{"email": s.TOTPAccountEmail, "password": s.TOTPPassword}))
	code := totp(t, s.TOTPSecret, 0)
	note(b.post(t, "/accounts/login", value{"location": value{"verificationToken": code}})).ok(t)
	note(b.post(t, "/accounts/login", value{"location": value{"verificationToken": code}}))
	enrolled := note(b.post(t, "/accounts/me/second-factor", nil)).ok(t)["data"].(value)
	secrets["new factor"] = enrolled["secret"].(string)
	// Its picture, and texts that are none.
	note(s.draw(t, enrolled["otpauth"].(string))).ok(t)
	for _, text := range []string{enrolled["secret"].(string), enrolled["otpauth"].(string) + " ", otpauthOf(maxOTPAuth) + enrolled["secret"].(string)} {
		s.refused(t, note(s.draw(t, text)), 400, "invalidArgument.body")
	}
	note(b.send(t, "DELETE", "/accounts/me/second-factor", `{"code":"`+code+`"}`))
	secrets["wrong password"] = "a wrong password"
	secrets["code"] = `"` + code // with quotes, because six digits alone may be part of a duration
	for _, c := range b.jar.Cookies(r.URL) {
		secrets["cookie "+c.Name] = c.Value
	}
	note(b.send(t, "GET", "/accounts/me", "", "Cookie", "session-acme="+strings.Repeat("A", 43)))
	note(b.post(t, "/accounts/me/logout", nil)).ok(t)
	// A body that is refused.
	note(b.send(t, "POST", "/accounts", `{"email":"x","password":"`+s.AccountPassword+`","password":""}`))

	s.logged(t)
	log := s.log.String()
	if strings.Count(log, "\n") < 15 || strings.Count(faults.String(), "fault") < 8 {
		t.Fatalf("too little was said:\n%s%s", log, &faults)
	}
	for name, secret := range secrets {
		if len(secret) < 6 {
			t.Fatalf("no %s", name)
		}
		if strings.Contains(log, secret) {
			t.Errorf("K08 the log has the %s", name)
		}
		if strings.Contains(faults.String(), secret) {
			t.Errorf("K08 a fault has the %s", name)
		}
	}
}
