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
	fmt.Println(by.AsAdministrator(by.HasRole("administrator")).MayMake(auth.Everything("ada")))
	// Output:
	// <nil>
	// auth: it would exceed its maker: expires, scope *
}

// A client can be told each excess that MayMake found.
func ExampleBeyondError() {
	tell := func(err error) {
		if beyond, ok := errors.AsType[*auth.BeyondError](err); ok {
			for _, e := range beyond.Excess {
				fmt.Println("not yours to give:", e.Option, e.Value)
			}
		}
	}
	tell(&auth.BeyondError{Excess: []auth.Excess{{Option: "scope", Value: "object.delete"}, {Option: "roles", Value: "editor"}}})
	// Output:
	// not yours to give: scope object.delete
	// not yours to give: roles editor
}
