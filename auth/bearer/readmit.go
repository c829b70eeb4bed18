package bearer

import (
	"context"
	"errors"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/token"
)

// Readmit implements auth.Readmitter. It finds a token that was revoked, and spends no use. The
// Verifier's Ledger must be a token.Ledger.
func (m *Mechanism) Readmit(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	b, err := m.boundTo(t.Settings())
	if err != nil {
		return auth.Principal{}, err
	}
	again := *b
	again.verifier.Cache = nil // it remembers only what its own Verifier has accepted
	if again.verifier.Ledger != nil {
		ledger, ok := again.verifier.Ledger.(token.Ledger)
		if !ok {
			return auth.Principal{}, errors.New("bearer: Readmit needs a token.Ledger, because a Spender can only spend")
		}
		again.verifier.Ledger = unspent{ledger, t.Org.Key()}
	}
	return m.authenticate(ctx, &again, r, t)
}
