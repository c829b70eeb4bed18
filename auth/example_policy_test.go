package auth_test

import (
	"fmt"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// What an org has not set.
func ExampleSessionPolicy_Effective() {
	policy := auth.SessionPolicy{Idle: time.Hour}.Effective()
	fmt.Println(policy.Idle, policy.Max, policy.PerAccount)
	// Output: 1h0m0s 12h0m0s 100
}
