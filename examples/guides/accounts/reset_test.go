package accounts

import (
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
)

func TestMayReset(t *testing.T) {
	users, err := scope.Compile("role", "admin.update")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		roles   []string
		granted scope.Set
		may     bool
	}{
		{"an administrator", []string{"administrator"}, scope.Unscoped(), true},
		{"an administrator whose roles limit the session", []string{"administrator"}, users, false},
		{"somebody else", nil, scope.Unscoped(), false},
	} {
		by := auth.Principal{Account: "a2", Roles: c.roles, Granted: c.granted, Authenticated: time.Now()}
		if err := mayReset(by, "a1"); (err == nil) != c.may {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
