package bearer

import (
	"context"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

// Within is the decision of Mint.
func Within(ctx context.Context, by auth.Principal, admin bool, t *auth.Tenant, w Wish) error {
	_, err := decide(ctx, by.AsAdministrator(admin), t, w, t.Now())
	return err
}

// Effective returns what a token may do.
func Effective(ctx context.Context, t *auth.Tenant, c token.Claims) (scope.Set, error) {
	account, err := t.Account(ctx, c.Subject)
	if err != nil {
		return scope.Set{}, err
	}
	return effective(ctx, t, account, c)
}
