package signature_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/scope"
)

// A route that changes a signing key compares the result with what the caller has. Within never
// refuses to remove something from the key.
func ExampleWithin() {
	reader, err := scope.Compile("token", "admin.update", "object.read")
	if err != nil {
		fmt.Println(err)
		return
	}
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	guard := &auth.Guard{
		Roles:     auth.RolesLimit,
		BaseURL:   "https://api.example.com",
		Directory: directory,
		Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{
			Account: "ann", Roles: []string{"administrator"}, Scope: reader, Granted: reader, Authenticated: time.Now(),
		})},
	}
	before := &signature.Credential{Account: "ann", Scope: []string{"object.read", "object.update.c_note"}}
	mux := guard.Mux()
	mux.HandleFunc("PATCH /apps/{key}/credential", auth.Allow("admin.update"), func(w http.ResponseWriter, r *http.Request) {
		by, tenant, key := auth.From(r.Context()), auth.TenantFrom(r.Context()), r.PathValue("key")
		for _, chains := range [][]string{{"object.update.c_note"}, {"object.read.c_note", "view"}} {
			after := *before
			after.Scope = chains
			fmt.Println(chains, signature.Within(by.AsAdministrator(by.HasRole("administrator")), tenant, key, before, after))
		}
	})
	mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("PATCH", "/acme/v2/apps/acmeKey000000000000001/credential", nil))
	// Output:
	// [object.update.c_note] <nil>
	// [object.read.c_note view] auth: accessDenied.delegation; "scope" "view"
}
