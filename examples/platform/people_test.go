package main

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// at returns the same browser at another org.
func (b *browser) at(org string) *browser {
	there := *b.server
	there.Org = org
	return &browser{&there, b.jar}
}

func TestAPersonEntersAnotherOrg(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := s.signedIn(t, s.PersonEmail, s.PersonPassword)
	want := []any{value{"_id": "globex", "object": "org", "name": "globex", "account": s.PersonOtherID}}
	if diff := cmp.Diff(want, items(t, b.get(t, "/accounts/me/orgs").ok(t), false)); diff != "" {
		t.Errorf("orgs (-want +got):\n%s", diff)
	}
	there := b.at("globex")
	s.refused(t, there.get(t, "/accounts/me"), 401, "accessDenied.noCredentialsSupplied")
	if got := there.send(t, http.MethodPost, "/accounts/enter", "", "Sec-Fetch-Site", "cross-site"); got.status != 403 {
		t.Errorf("from a page of another origin: %d", got.status)
	}
	s.refused(t, there.post(t, "/accounts/enter", value{"org": "acme"}), 400, "invalidArgument.body")
	s.refused(t, there.get(t, "/accounts/me"), 401, "accessDenied.noCredentialsSupplied")
	if got := there.post(t, "/accounts/enter", nil).ok(t); got["_id"] != s.PersonOtherID {
		t.Errorf("entered as %v", got)
	}
	if got := there.get(t, "/accounts/me").ok(t); got["_id"] != s.PersonOtherID {
		t.Errorf("globex answers to %v", got)
	}
	if got := b.get(t, "/accounts/me").ok(t); got["_id"] != s.PersonID {
		t.Errorf("acme answers to %v", got)
	}
	s.refused(t, there.get(t, "/admin/accounts"), 403, "accessDenied.unspecified")

	back := s.browser(t).at("globex")
	back.post(t, "/accounts/login", value{"email": s.PersonEmail, "password": s.PersonPassword}).ok(t)
	if got := back.at("acme").post(t, "/accounts/enter", nil).ok(t); got["_id"] != s.PersonID {
		t.Errorf("entered as %v", got)
	}
}

func TestNobodyElseEntersAnotherOrg(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.refused(t, s.browser(t).at("globex").post(t, "/accounts/enter", nil), 401, "accessDenied.noCredentialsSupplied")
	mia := s.signedIn(t, s.AccountEmail, s.AccountPassword)
	s.refused(t, mia.at("globex").post(t, "/accounts/enter", nil), 404, "notFound.unspecified")
	s.refused(t, mia.post(t, "/accounts/enter", nil), 401, "accessDenied.noCredentialsSupplied") // it is no other org
	if got := items(t, mia.get(t, "/accounts/me/orgs").ok(t), false); len(got) != 0 {
		t.Errorf("mia belongs to %v", got)
	}
	pat := s.signedIn(t, s.PersonEmail, s.PersonPassword)
	ended := s.browser(t)
	where, err := url.Parse(s.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	ended.jar.SetCookies(where, []*http.Cookie{{Name: "session-nowhere", Value: "x"}, {Name: "session-acme", Value: strings.Repeat("A", 43)}})
	s.refused(t, ended.at("globex").post(t, "/accounts/enter", nil), 401, "accessDenied.sessionExpired")
	pat.post(t, "/accounts/me/logout", nil).ok(t)
	s.refused(t, pat.at("globex").post(t, "/accounts/enter", nil), 401, "accessDenied.noCredentialsSupplied")
}

// What the other org wants beyond the login is asked with its ticket, and done there.
func TestTheOtherOrgAsksForASecondFactor(t *testing.T) {
	t.Parallel()
	s := start(t)
	olga := s.browser(t).at("globex")
	olga.post(t, "/accounts/login", value{"email": s.OtherAdminEmail, "password": s.OtherAdminPassword}).ok(t)
	olga.send(t, http.MethodPatch, "/admin/settings", `{"requireSecondFactor":true}`).ok(t)
	b := s.signedIn(t, s.PersonEmail, s.PersonPassword)
	there := b.at("globex")
	s.refused(t, there.post(t, "/accounts/enter", nil), 403, "accessDenied.unverifiedLocation")
	s.refused(t, there.get(t, "/accounts/me"), 401, "accessDenied.noCredentialsSupplied")
	enrolled := there.post(t, "/accounts/me/second-factor", nil).ok(t)["data"].(value)
	there.post(t, "/accounts/me/second-factor/confirm", value{"code": totp(t, enrolled["secret"].(string), 0)}).ok(t)
	if got := there.get(t, "/accounts/me").ok(t); got["_id"] != s.PersonOtherID {
		t.Errorf("globex answers to %v", got)
	}
}

func TestTheFactorOfAPersonIsNotResetByOneOrg(t *testing.T) {
	t.Parallel()
	s := start(t)
	pat := s.signedIn(t, s.PersonEmail, s.PersonPassword)
	enrolled := pat.post(t, "/accounts/me/second-factor", nil).ok(t)["data"].(value)
	pat.post(t, "/accounts/me/second-factor/confirm", value{"code": totp(t, enrolled["secret"].(string), 0)}).ok(t)
	b, one := s.signedIn(t, s.AdminEmail, s.AdminPassword), "/admin/accounts/"+s.PersonID
	s.refused(t, b.send(t, http.MethodPatch, one, `{"resetSecondFactor":true}`), 403, "accessDenied.unspecified")
	if got := b.get(t, one).ok(t)["secondFactor"].(value)["active"]; got != true {
		t.Errorf("active is %v", got)
	}
	b.send(t, http.MethodPatch, "/admin/accounts/"+s.TOTPAccountID, `{"resetSecondFactor":true}`).ok(t)
}

func TestActingForAnAccount(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := s.signedIn(t, s.AdminEmail, s.AdminPassword)
	act := "/admin/accounts/" + s.AccountID + "/act"
	s.refused(t, b.post(t, act, value{"reason": " "}), 400, "invalidArgument.body")
	if got := b.post(t, act, value{"reason": "ticket 4711"}).ok(t); got["_id"] != s.AccountID {
		t.Errorf("acts for %v", got)
	}
	for _, path := range []string{"/accounts/me", "/accounts/status"} {
		got := b.get(t, path).ok(t)
		if within, ok := got["account"].(value); ok {
			got = within
		}
		if got["_id"] != s.AccountID || got["actor"] != s.AdminAccountID {
			t.Errorf("%s answers %v", path, got)
		}
	}
	s.refused(t, b.get(t, "/admin/accounts"), 403, "accessDenied.unspecified")
	s.refused(t, b.post(t, "/accounts/me/second-factor", nil), 403, "accessDenied.reauthenticationRequired")
	s.refused(t, b.at("globex").post(t, "/accounts/enter", nil), 403, "accessDenied.unspecified")
	s.refused(t, s.signedIn(t, s.AccountEmail, s.AccountPassword).send(t, http.MethodDelete, "/accounts/me/act", ""), 404, "notFound.unspecified")

	mia := s.signedIn(t, s.AccountEmail, s.AccountPassword)
	reasons := 0
	for _, open := range items(t, mia.get(t, "/accounts/me/sessions").ok(t), false) {
		if open.(value)["reason"] == "ticket 4711" {
			reasons++
		}
	}
	if reasons != 1 {
		t.Errorf("mia sees %d sessions in which somebody acts for her", reasons)
	}
	s.refused(t, mia.post(t, "/admin/accounts/"+s.AdminAccountID+"/act", value{"reason": "curious"}), 403, "accessDenied.unspecified")

	b.send(t, http.MethodDelete, "/accounts/me/act", "").ok(t)
	s.refused(t, b.get(t, "/accounts/me"), 401, "accessDenied.noCredentialsSupplied")
	s.logged(t)
	if log := s.log.String(); !strings.Contains(log, "actor="+s.AdminAccountID) {
		t.Error("the log does not name the actor")
	}
}

func TestTheOrgSaysForHowLongDevicesAreRemembered(t *testing.T) {
	t.Parallel()
	s := start(t)
	set := func(body string) answer {
		return s.do(t, call{method: "PATCH", path: "/admin/settings", account: s.AdminAccountID, body: body})
	}
	for _, c := range []struct {
		body string
		days float64
	}{{`{}`, 30}, {`{"rememberDevices":7}`, 7}, {`{"rememberDevices":0}`, 0}, {`{"rememberDevices":90}`, 90}} {
		if got := set(c.body).ok(t)["rememberDevices"]; got != c.days {
			t.Errorf("%s: %v days", c.body, got)
		}
	}
	s.refused(t, set(`{"rememberDevices":91}`), 400, "invalidArgument.body")
	set(`{"rememberDevices":0}`).ok(t)
	login := value{"email": s.TOTPAccountEmail, "password": s.TOTPPassword,
		"location": value{"verificationToken": totp(t, s.TOTPSecret, 0), "singleUse": false}}
	if got := s.browser(t).post(t, "/accounts/login", login).ok(t)["remembered"]; got != false {
		t.Errorf("remembered is %v", got)
	}
}
