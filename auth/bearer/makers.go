package bearer

import (
	"context"
	"fmt"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/token"
)

// CheckMakers checks that a record which a Ledger lists as live is not dead by the directory, which the
// Ledger does not ask. Its makers must still exist: the app whose signature made it, and the
// account that made it for another account. Its own account must not have ended it by TokensFrom. A
// record of an account that is disabled passes, because its token is accepted again later. The
// Mechanism checks the token of a request itself. For a list, the Directory should be an
// auth.CachedDirectory, because many records have the same makers.
//
// The error wraps auth.ErrNotFound if the token is dead: a maker is gone or disabled, or has since
// ended its tokens, or its account has. It wraps auth.ErrUnavailable if the directory does not
// answer.
func CheckMakers(ctx context.Context, t *auth.Tenant, r token.Record) error {
	if err := checkMakers(ctx, t, r); err != nil {
		return err
	}
	subject, err := t.Account(ctx, r.Subject) // for a request, Authenticate has asked before
	switch {
	case auth.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case r.Issued.Before(subject.TokensFrom):
		return fmt.Errorf("bearer: issued before its account's tokens begin: %w", auth.ErrNotFound)
	}
	return nil
}

func checkMakers(ctx context.Context, t *auth.Tenant, r token.Record) error {
	if r.MakerApp != "" && r.MakerApp != r.ClientKey {
		if _, err := t.App(ctx, r.MakerApp); err != nil {
			return err
		}
	}
	if r.Maker == "" || r.Maker == r.Subject {
		return nil
	}
	maker, err := t.Account(ctx, r.Maker)
	if err != nil {
		return err
	}
	// TokensFrom also ends what an account made for others. The token that made this one may have
	// ended, and only the iat of this one shows it.
	if r.Issued.Before(maker.TokensFrom) {
		return fmt.Errorf("bearer: made before its maker's tokens begin: %w", auth.ErrNotFound)
	}
	return nil
}
