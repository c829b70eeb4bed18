package auth_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/scope"
)

// A route that stores a role refuses chains that would be dropped later.
func ExampleTenant_Vet() {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{Account: "ann", Scope: scope.Unscoped()})},
	}
	mux := guard.Mux()
	mux.HandleFunc("PUT /roles/{name}", auth.Allow("admin.update"), func(w http.ResponseWriter, r *http.Request) {
		chains := []string{"object.read", "object.raed.c_note"} // from the body
		if err := auth.TenantFrom(r.Context()).Vet("scope", chains); err != nil {
			auth.Fail(w, r, err)
			return
		}
		directory.PutRole("acme", auth.Role{Name: r.PathValue("name"), Scope: chains})
	})
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("PUT", "/acme/v2/roles/reader", nil))
	fmt.Println(w.Code)
	// Output: 400
}

// An org whose name in URLs can change has an ID that stays.
func ExampleOrg_Key() {
	before := auth.Org{Code: "acme", ID: "7f3b"}
	after := auth.Org{Code: "acme-labs", ID: "7f3b", FormerCodes: []string{"acme"}}
	fmt.Println(before.Key() == after.Key())
	// Output: true
}

// A mechanism of the application finds the Guard's settings in the tenant.
func ExampleSettings() {
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Brand:      auth.Brand{Header: "Acme-"},
		Directory:  new(auth.Memory),
		Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{Account: "ann"})},
	}
	var settings *auth.Settings = guard.Settings() // as auth.TenantFrom(ctx).Settings()
	fmt.Println(settings.Brand.Header+"Key", settings.Brand.Claims)
	// Output: Acme-Key service/
}

// The device of an account was stolen: end its tokens, also those that no ledger has.
func ExampleCachedDirectory_TokensFrom() {
	directory := auth.Cached(new(auth.Memory), 2*time.Second)    // that of the Guard
	now := time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC) // time.Now()
	account := auth.Account{ID: "ann", Org: "acme"}
	account.TokensFrom = directory.TokensFrom(account.TokensFrom, now) // and store it
	fmt.Println(account.TokensFrom.Format(time.RFC3339))
	// Output: 2026-01-02T03:04:09Z
}

// A new password can act as the account without any limit, so a token that ends cannot set
// one.
func ExampleEverything() {
	by := auth.Principal{Org: "acme", Account: "ann", Granted: scope.Unscoped(), Expires: time.Now().Add(time.Hour)}
	fmt.Println(by.MayMake(auth.Everything("ann")))

	by = auth.Principal{Org: "acme", Account: "ann", Granted: scope.Unscoped(), Authenticated: time.Now()}
	fmt.Println(by.MayMake(auth.Everything("ann")))
	// Output:
	// auth: accessDenied.delegation; "expires" ""
	// <nil>
}
