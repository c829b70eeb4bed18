package main

import (
	"net/http"
	"slices"
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
	b := s.signedIn(t, s.AdminEmail, s.AdminPassword)
	want := []any{
		value{"_id": "acme", "object": "org", "account": s.AdminAccountID, "current": true},
		value{"_id": "globex", "object": "org", "account": adaThere.ID, "current": false},
	}
	if diff := cmp.Diff(want, items(t, b.get(t, "/accounts/me/orgs").ok(t), false)); diff != "" {
		t.Errorf("orgs (-want +got):\n%s", diff)
	}
	there := b.at("globex")
	s.refused(t, there.get(t, "/accounts/me"), 401, "accessDenied.noCredentialsSupplied")
	if got := b.post(t, "/accounts/me/orgs/globex", nil).ok(t); got["_id"] != adaThere.ID {
		t.Errorf("entered as %v", got)
	}
	if got := there.get(t, "/accounts/me").ok(t); got["_id"] != adaThere.ID || slices.Contains(got["roles"].([]any), any(administrator)) {
		t.Errorf("globex answers to %v", got)
	}
	s.refused(t, there.get(t, "/admin/accounts"), 403, "accessDenied.unspecified")
	if got := b.get(t, "/accounts/me").ok(t); got["_id"] != s.AdminAccountID {
		t.Errorf("acme answers to %v", got)
	}
	if got := b.send(t, http.MethodPost, "/accounts/me/orgs/globex", "", "Sec-Fetch-Site", "cross-site"); got.status != 403 {
		t.Errorf("from a page of another origin: %d", got.status)
	}
	s.refused(t, b.post(t, "/accounts/me/orgs/nowhere", nil), 404, "notFound.env")

	mia := s.signedIn(t, s.AccountEmail, s.AccountPassword)
	if got := items(t, mia.get(t, "/accounts/me/orgs").ok(t), false); len(got) != 1 {
		t.Errorf("mia belongs to %v", got)
	}
	s.refused(t, mia.post(t, "/accounts/me/orgs/globex", nil), 404, "notFound.unspecified")
}

func TestTheFactorOfAPersonIsNotResetByOneOrg(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := s.signedIn(t, s.AdminEmail, s.AdminPassword)
	enrolled := b.post(t, "/accounts/me/second-factor", nil).ok(t)["data"].(value)
	b.post(t, "/accounts/me/second-factor/confirm", value{"code": totp(t, enrolled["secret"].(string), 0)}).ok(t)
	one := "/admin/accounts/" + s.AdminAccountID
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
	s.refused(t, b.post(t, "/accounts/me/orgs/globex", nil), 403, "accessDenied.unspecified")

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

	b.post(t, "/accounts/me/logout", nil).ok(t)
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
	}{{`{}`, 30}, {`{"deviceDays":7}`, 7}, {`{"deviceDays":0}`, 0}, {`{"deviceDays":90}`, 90}} {
		if got := set(c.body).ok(t)["deviceDays"]; got != c.days {
			t.Errorf("%s: %v days", c.body, got)
		}
	}
	s.refused(t, set(`{"deviceDays":91}`), 400, "invalidArgument.body")
	set(`{"deviceDays":0}`).ok(t)
	login := value{"email": s.TOTPAccountEmail, "password": s.TOTPPassword,
		"location": value{"verificationToken": totp(t, s.TOTPSecret, 0), "singleUse": false}}
	if got := s.browser(t).post(t, "/accounts/login", login).ok(t)["remembered"]; got != false {
		t.Errorf("remembered is %v", got)
	}
}
