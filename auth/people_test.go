package auth_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
)

func TestMemoryKnowsPeople(t *testing.T) {
	d := new(auth.Memory)
	for _, a := range []auth.Account{{ID: "1", Org: "acme", Person: "ann"}, {ID: "2", Org: "globex", Person: "ann", Disabled: true}, {ID: "3", Org: "acme"}} {
		d.PutAccount(a)
	}
	for _, c := range []struct {
		org          auth.OrgKey
		person, want string
	}{{"acme", "ann", "1"}, {"globex", "ann", "2"}, {"third", "ann", ""}, {"acme", "bob", ""}, {"acme", "", ""}} {
		a, err := d.AccountOf(t.Context(), c.org, c.person)
		if c.want == "" && !auth.IsNotFound(err) || c.want != "" && (err != nil || a.ID != c.want) {
			t.Errorf("%+v: %v, %v", c, a, err)
		}
	}
	for person, want := range map[string]int{"ann": 2, "bob": 0, "": 0} {
		if all, err := d.Accounts(t.Context(), person); len(all) != want || err != nil {
			t.Errorf("%q: %v, %v", person, all, err)
		}
	}
}

// inTenant calls f with the tenant of a request.
func inTenant(t *testing.T, g *auth.Guard, f func(*auth.Tenant)) {
	t.Helper()
	g.Mount(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { f(auth.TenantFrom(r.Context())) })).
		ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/acme/v2/x", nil))
}

func TestTenantAtAnotherOrg(t *testing.T) {
	d := new(auth.Memory)
	d.PutOrg(auth.Org{Code: "acme"})
	d.PutOrg(auth.Org{Code: "globex", Session: auth.SessionPolicy{PerAccount: 7}})
	d.PutOrg(auth.Org{Code: "off", Disabled: true})
	guard := func(directory auth.Directory) *auth.Guard {
		return &auth.Guard{BaseURL: "https://api.example.test", Directory: directory, Roles: auth.RolesLimit,
			Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{Account: "ann"})}}
	}
	inTenant(t, guard(d), func(tenant *auth.Tenant) {
		to, err := tenant.At(t.Context(), "globex")
		if err != nil || to.Org.Session.PerAccount != 7 || to.URL() != "https://api.example.test/globex/v2" || tenant.Org.Code != "acme" {
			t.Errorf("%+v, %v", to, err)
		}
		for _, code := range []string{"", "off", "unknown", "Globex", "@person"} {
			if _, err := tenant.At(t.Context(), code); err == nil {
				t.Errorf("%q is found", code)
			}
		}
		if tenant.People() != auth.People(d) {
			t.Error("no people")
		}
	})
	inTenant(t, guard(auth.Cached(d, 0)), func(tenant *auth.Tenant) {
		if tenant.People() != auth.People(d) {
			t.Error("no people behind a cache")
		}
	})
	inTenant(t, guard(struct{ auth.Directory }{d}), func(tenant *auth.Tenant) {
		if tenant.People() != nil {
			t.Error("people of a directory that has none")
		}
	})
	byHost := guard(d)
	byHost.Resolve = func(_ context.Context, r *http.Request) (auth.Address, error) {
		return auth.Address{Org: "acme", Version: "v2", Rest: "/"}, nil
	}
	inTenant(t, byHost, func(tenant *auth.Tenant) {
		if _, err := tenant.At(t.Context(), "globex"); err == nil || errors.Is(err, auth.ErrNotFound) {
			t.Errorf("orgs of other hosts: %v", err)
		}
	})
}
