package bearer

import (
	"context"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
)

// Readmit implements auth.Readmitter. It finds a token that was revoked, and spends no use. It also
// refuses a limited-use token that has no use left, so the request of its last use is not kept open.
func (m *Mechanism) Readmit(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	b, err := m.boundTo(t.Settings())
	if err != nil {
		return auth.Principal{}, err
	}
	return m.authenticate(ctx, m.unspending(b, t), r, t)
}
