package bearer_test

import (
	"errors"
	"fmt"

	"github.com/tenantkit/tenantkit/auth/bearer"
)

// What Within refuses can be told to whoever asked, thing by thing.
func ExampleBeyondError() {
	tell := func(err error) {
		if beyond, ok := errors.AsType[*bearer.BeyondError](err); ok {
			for _, e := range beyond.Excess {
				fmt.Println("not yours to give:", e.Option, e.Value)
			}
		}
	}
	tell(&bearer.BeyondError{Excess: []bearer.Excess{{Option: "scope", Value: "object.delete"}, {Option: "roles", Value: "editor"}}})
	// Output:
	// not yours to give: scope object.delete
	// not yours to give: roles editor
}
