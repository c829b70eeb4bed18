package main

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAccountsOfOthers(t *testing.T) {
	t.Parallel()
	s := start(t)
	narrow := func(chain string) string {
		return s.mint(t, "", fmt.Sprintf(`{"sub":%q,"scope":[%q]}`, s.AdminAccountID, chain))["token"].(string)
	}
	reader, other := narrow("admin.read"), narrow("object.read")
	const body = `{"email":"new@acme.example","name":"New","password":"correct horse","roles":["member"]}`

	t.Run("need the scope", func(t *testing.T) {
		s.scopeRefused(t, s.bearing(t, other, "GET", "/admin/accounts", ""), "admin.read")
		s.scopeRefused(t, s.bearing(t, reader, "POST", "/admin/accounts", body), "admin.update")
		s.scopeRefused(t, s.bearing(t, reader, "POST", "/admin/accounts/"+s.AccountID+"/deactivate", ""), "admin.update")
		s.bearing(t, reader, "GET", "/admin/accounts", "").ok(t)
	})
	t.Run("need the role, beside the scope", func(t *testing.T) {
		for _, c := range [][3]string{
			{"GET", "/admin/accounts", ""},
			{"POST", "/admin/accounts", body},
			{"POST", "/admin/accounts/" + s.AccountID + "/deactivate", ""},
		} {
			s.refused(t, s.as(t, s.AccountID, c[0], c[1], c[2]), 403, "accessDenied.unspecified")
		}
	})
	t.Run("are listed, those of the org alone", func(t *testing.T) {
		var emails []string
		for _, item := range items(t, s.as(t, "", "GET", "/admin/accounts", "").ok(t), false) {
			emails = append(emails, item.(value)["email"].(string))
		}
		want := []string{"ada@acme.example", "mia@acme.example", "theo@acme.example", "rita@acme.example", "pat@people.example"}
		if diff := cmp.Diff(want, emails); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		first := items(t, s.as(t, "", "GET", "/admin/accounts?limit=1", "").ok(t), true)[0].(value)
		want2 := value{
			"_id": s.AdminAccountID, "object": "account", "email": "ada@acme.example", "name": "Ada Admin",
			"roles": []any{administrator, member}, "disabled": false,
		}
		if diff := cmp.Diff(want2, first); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("are made", func(t *testing.T) {
		made := s.as(t, "", "POST", "/admin/accounts", body).ok(t)
		if made["email"] != "new@acme.example" || made["disabled"] != false {
			t.Errorf("made %v", made)
		}
		s.refused(t, s.as(t, "", "POST", "/admin/accounts", body), 409, "conflict.unspecified")
		s.browser(t).post(t, "/accounts/login", value{"email": "new@acme.example", "password": "correct horse"}).ok(t)

		s.as(t, "", "POST", "/admin/accounts", `{"email":"machine@acme.example"}`).ok(t)
		s.refused(t, s.browser(t).post(t, "/accounts/login", value{"email": "machine@acme.example", "password": "x"}), 401, "accessDenied.invalidCredentials")
	})
	t.Run("are refused, with all that is wrong", func(t *testing.T) {
		for body, want := range map[string][]string{
			`{"email":"x","password":"short","name":"\u0000","roles":["member","king"]}`: {"email", "name", "password"},
			`{"email":"x@acme.example","roles":["member","king"]}`:                       {"roles"}, // looked up last
		} {
			wrong := s.refused(t, s.as(t, "", "POST", "/admin/accounts", body), 400, "invalidArgument.body")
			if got := slices.Sorted(maps.Keys(children(wrong))); !slices.Equal(got, want) {
				t.Errorf("reasons for %v, want %v", got, want)
			}
		}
	})
	t.Run("are unknown in another org", func(t *testing.T) {
		s.refused(t, s.as(t, "", "POST", "/admin/accounts/"+s.OtherAccountID+"/deactivate", ""), 404, "notFound.unspecified")
	})
}

func TestDeactivate(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := s.browser(t)
	b.post(t, "/accounts/login", value{"email": s.AccountEmail, "password": s.AccountPassword}).ok(t)
	permanent := s.mint(t, "", wish(s.AccountID, `,"permanent":true`))["token"].(string)
	ephemeral := s.mint(t, "", wish(s.AccountID, ""))["token"].(string)
	for _, token := range []string{permanent, ephemeral} {
		s.bearing(t, token, "GET", "/accounts/me", "").ok(t)
	}

	if got := s.as(t, "", "POST", "/admin/accounts/"+s.AccountID+"/deactivate", "").ok(t); got["disabled"] != true || got["_id"] != s.AccountID {
		t.Errorf("answered %v", got)
	}
	s.refused(t, b.get(t, "/accounts/me"), 401, "accessDenied.sessionExpired")
	for _, token := range []string{permanent, ephemeral} {
		s.refused(t, s.bearing(t, token, "GET", "/accounts/me", ""), 401, "accessDenied.invalidJwt")
	}
	s.refused(t, s.browser(t).post(t, "/accounts/login", value{"email": s.AccountEmail, "password": s.AccountPassword}), 401, "accessDenied.invalidCredentials")
	s.refused(t, s.as(t, s.AccountID, "GET", "/accounts/me", ""), 403, "accessDenied.principal")
}

func TestDeployments(t *testing.T) {
	t.Parallel()
	s := start(t)
	one := s.mint(t, "", fmt.Sprintf(`{"sub":%q,"scope":["deployment.execute.count_apps"]}`, s.AccountID))["token"].(string)
	other := s.mint(t, "", fmt.Sprintf(`{"sub":%q,"scope":["deployment.execute.another"]}`, s.AccountID))["token"].(string)
	want := value{"object": "result", "data": value{"apps": float64(3)}}
	if diff := cmp.Diff(want, s.bearing(t, one, "POST", "/deployments/count_apps/execute", "").ok(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.scopeRefused(t, s.bearing(t, other, "POST", "/deployments/count_apps/execute", ""), "deployment.execute.count_apps")
	s.refused(t, s.bearing(t, other, "POST", "/deployments/another/execute", ""), 404, "notFound.unspecified")
	s.scopeRefused(t, s.bearing(t, s.NarrowToken, "POST", "/deployments/count_apps/execute", ""), "deployment.execute.count_apps")
}
