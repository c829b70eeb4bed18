package auth_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
)

// A route that makes something states what that may do, and checks whether its caller may make
// it.
func ExamplePrincipal_MayMake() {
	narrow, err := scope.Compile("token", "admin.update", "object.read.c_note")
	if err != nil {
		fmt.Println(err)
		return
	}
	by := auth.Principal{ // auth.From, behind a need
		Org: "acme", Account: "ada", Roles: []string{"administrator"},
		Granted: narrow, Expires: time.Now().Add(time.Minute), Authenticated: time.Now(),
	}
	key := auth.Making{Account: "ada", Scope: narrow, Expires: by.Expires}
	fmt.Println(by.AsAdministrator(by.HasRole("administrator")).MayMake(key))
	err = by.AsAdministrator(by.HasRole("administrator")).MayMake(auth.Everything("ada"))
	if beyond, ok := errors.AsType[*auth.Error](err); ok {
		for _, e := range beyond.Faults {
			fmt.Printf("not yours to give: %s %q\n", e.Path, e.Reason)
		}
	}
	// Output:
	// <nil>
	// not yours to give: expires ""
	// not yours to give: scope "*"
}
