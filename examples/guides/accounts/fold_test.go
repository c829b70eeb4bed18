package accounts

import (
	"testing"

	"github.com/tenantkit/tenantkit/auth"
)

// Attempts are counted by the name in lower case. A name that found the same account and was
// counted apart would give further attempts.
func TestNamesThatFold(t *testing.T) {
	var table Table
	table.Add("a1", "sam@kelvin.example", "hash")
	for name, found := range map[string]bool{
		"sam@kelvin.example":      true,
		" SAM@Kelvin.Example ":    true,
		"\u017fam@kelvin.example": false, // a long s
		"sam@\u212aelvin.example": true,  // the sign of kelvin, whose lower case is a k
	} {
		t.Run("F35 "+name, func(t *testing.T) {
			account, _, err := table.Password(t.Context(), Org.Key(), name)
			if found && account != "a1" || !found && !auth.IsNotFound(err) {
				t.Errorf("got %q, %v", account, err)
			}
		})
	}
}
