package auth_test

import (
	"fmt"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
)

// The application's own rule for an object, and what a credential lifts of it.
func ExampleAccess() {
	mayRead := func(p auth.Principal, owner string) bool {
		return p.Account == owner || p.SkipACL || p.AtLeast(scope.LevelRead)
	}
	bob := auth.Principal{Account: "bob"}
	fmt.Println(mayRead(bob, "ann"))
	bob.Access = auth.Access{Grant: scope.LevelRead} // as a token with that level has it
	fmt.Println(mayRead(bob, "ann"))
	// Output:
	// false
	// true
}
