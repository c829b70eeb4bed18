package main

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
)

// TestAccess sends signed requests, so that the principals come from signatures.
func TestAccess(t *testing.T) {
	t.Parallel()
	s := start(t)
	create := func(t *testing.T, account string) string {
		t.Helper()
		got := s.do(t, call{method: "POST", path: "/c_messages", account: account, body: `{"c_text":"mine"}`}).ok(t)
		return "/c_messages/" + got["_id"].(string)
	}
	change := call{method: "PATCH", body: `{"c_text":"changed"}`}
	remove := call{method: "DELETE"}
	as := func(c call, path, account string) call {
		c.path, c.account = path, account
		return c
	}

	t.Run("the author may update and delete", func(t *testing.T) {
		one := create(t, s.AccountID)
		s.do(t, as(change, one, s.AccountID)).ok(t)
		s.do(t, as(remove, one, s.AccountID)).ok(t)
	})
	t.Run("an administrator may, too", func(t *testing.T) {
		one := create(t, s.AccountID)
		s.do(t, as(change, one, "")).ok(t)
		s.do(t, as(remove, one, "")).ok(t)
	})
	t.Run("another member may read, and no more", func(t *testing.T) {
		one := create(t, s.AccountID)
		s.refused(t, s.do(t, as(change, one, s.TOTPAccountID)), 403, "accessDenied.unspecified")
		s.refused(t, s.do(t, as(remove, one, s.TOTPAccountID)), 403, "accessDenied.unspecified")
		got := s.do(t, call{path: one, account: s.TOTPAccountID}).ok(t)
		if got["c_text"] != "mine" {
			t.Errorf("c_text is %v", got["c_text"])
		}
	})
	t.Run("an object of another org is not found, whatever is asked of it", func(t *testing.T) {
		for _, name := range []string{"c_message", "c_conversation", "connection"} {
			one := "/" + name + "s/" + demoID(globex, name, 1)
			s.do(t, call{path: one, other: true}).ok(t)
			for _, c := range []call{{}, change, remove} {
				s.refused(t, s.do(t, as(c, one, "")), 404, "notFound.unspecified")
			}
			own := "/" + name + "s/" + demoID(acme, name, 1)
			got := s.do(t, call{path: own, other: true})
			s.refused(t, got, 404, "notFound.unspecified")
		}
	})
	t.Run("a list has nothing of another org", func(t *testing.T) {
		items(t, s.do(t, call{path: "/c_messages?limit=20", other: true}).ok(t), false)
	})
	t.Run("nobody but an administrator writes in another's name", func(t *testing.T) {
		forged := `{"c_author":"` + s.TOTPAccountID + `"}`
		got := s.do(t, call{method: "POST", path: "/c_messages", account: s.AccountID, body: forged})
		s.refused(t, got, 403, "accessDenied.unspecified")
		got = s.do(t, call{method: "PATCH", path: create(t, s.AccountID), account: s.AccountID, body: forged})
		s.refused(t, got, 403, "accessDenied.unspecified")
		own := `{"c_author":"` + s.AccountID + `"}`
		s.do(t, call{method: "POST", path: "/c_messages", account: s.AccountID, body: own}).ok(t)
		if got := s.do(t, call{method: "POST", path: "/c_messages", body: forged}).ok(t); got["c_author"] != s.TOTPAccountID {
			t.Errorf("c_author is %v", got["c_author"])
		}
	})
	t.Run("a grant makes nobody the author", func(t *testing.T) {
		one := create(t, s.TOTPAccountID)
		own := `{"c_author":"` + s.AccountID + `"}`
		for _, lifted := range []string{`,"grant":"update"`, `,"skipAcl":true`} {
			token := s.mint(t, "", wish(s.AccountID, lifted))["token"].(string)
			s.bearing(t, token, "PATCH", one, `{"c_text":"changed"}`).ok(t)
			s.refused(t, s.bearing(t, token, "PATCH", one, own), 403, "accessDenied.unspecified")
		}
		if got := s.do(t, call{path: one}).ok(t); got["c_author"] != s.TOTPAccountID {
			t.Errorf("c_author is %v", got["c_author"])
		}
		// The body names the author that the object has already.
		s.do(t, call{method: "PATCH", path: create(t, s.AccountID), account: s.AccountID, body: own}).ok(t)
	})
	t.Run("S15 the account header names nobody of another org", func(t *testing.T) {
		got := s.do(t, call{path: "/accounts/me", account: s.OtherAccountID})
		s.refused(t, got, 403, "accessDenied.principal")
	})
}

// TestAccessRules tests the rules for grants and skips, which no signature carries.
func TestAccessRules(t *testing.T) {
	t.Parallel()
	mine := &object{Owner: "ann"}
	written := &object{Owner: "ada", Values: map[string]any{authorPath: "ann"}}
	foreign := &object{Owner: "bob", Values: map[string]any{authorPath: "bob"}}
	ann := auth.Principal{Account: "ann"}
	with := func(a auth.Access) auth.Principal { return auth.Principal{Account: "ann", Access: a} }

	for _, test := range []struct {
		name           string
		principal      auth.Principal
		object         *object
		update, delete bool
	}{
		{"the owner", ann, mine, true, true},
		{"the author", ann, written, true, true},
		{"somebody else", ann, foreign, false, false},
		{"an administrator", auth.Principal{Account: "ann", Roles: []string{administrator}}, foreign, true, true},
		{"a grant of share", with(auth.Access{Grant: scope.LevelShare}), foreign, false, false},
		{"a grant of update", with(auth.Access{Grant: scope.LevelUpdate}), foreign, true, false},
		{"a grant of delete", with(auth.Access{Grant: scope.LevelDelete}), foreign, true, true},
		{"a low grant lowers nothing", with(auth.Access{Grant: scope.LevelRead}), mine, true, true},
		{"skipAcl", with(auth.Access{SkipACL: true}), foreign, true, true},
		{"bypassCreateAcl is for creating", with(auth.Access{SkipCreateACL: true}), foreign, false, false},
		{"nobody", auth.Principal{}, &object{}, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := mayChange(test.principal, test.object, scope.LevelUpdate); (got == nil) != test.update {
				t.Errorf("update: %v", got)
			}
			if got := mayChange(test.principal, test.object, scope.LevelDelete); (got == nil) != test.delete {
				t.Errorf("delete: %v", got)
			}
		})
	}
	for _, test := range []struct {
		name      string
		principal auth.Principal
		allowed   bool
	}{
		{"a member creates", auth.Principal{Roles: []string{member}}, true},
		{"bypassCreateAcl creates", with(auth.Access{SkipCreateACL: true}), true},
		{"skipAcl does not", with(auth.Access{SkipACL: true}), false},
		{"an account without a role does not", ann, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := mayCreate(test.principal)
			if (err == nil) != test.allowed || err != nil && !errors.Is(err, auth.ErrForbidden) {
				t.Error(err)
			}
		})
	}
	t.Run("the handlers ask", func(t *testing.T) {
		h := objects{schema: messages, store: newStore(t)}
		stranger := auth.Principal{Org: acme, Account: "ann"}
		r := httptest.NewRequestWithContext(auth.With(t.Context(), stranger), "POST", "/c_messages", strings.NewReader(`{}`))
		if _, err := h.create(r); !errors.Is(err, auth.ErrForbidden) {
			t.Error(err)
		}
	})
}
