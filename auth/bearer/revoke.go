package bearer

import (
	"context"
	"errors"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/verbs"
	"github.com/tenantkit/tenantkit/token"
)

// Revoke ends a token by its jti, its successors, and the permanent and limited-use tokens that it has made,
// as token.Issuing.Revoke does. It checks no permission. The error wraps auth.ErrNotFound if the holder has no
// live token of this jti, or auth.ErrUnavailable.
func (m *Mechanism) Revoke(ctx context.Context, of token.Holder, jti string) error {
	id := token.Claims{ID: jti}.RecordID()
	if m.Ledger == nil {
		return auth.ErrNotFound
	}
	r, err := m.Ledger.Get(ctx, of, id) // whose it is
	if err == nil {
		err = m.Ledger.Revoke(ctx, of, id)
	}
	switch {
	case errors.Is(err, token.ErrNotFound):
		return auth.ErrNotFound
	case err != nil:
		return auth.Unavailable(err)
	}
	auth.Emit(ctx, auth.Event{Verb: verbs.TokenRevoked, Org: r.Org, App: r.ClientKey, Account: r.Subject, Token: r.ID})
	return nil
}

// RevokeSubject ends all permanent and limited-use tokens of a holder, as token.Issuing.RevokeSubject does, and
// returns how many were live. It checks no permission. The error wraps auth.ErrUnavailable, unless the Subject
// is empty.
func (m *Mechanism) RevokeSubject(ctx context.Context, of token.Holder) (int, error) {
	if of.Subject == "" {
		return 0, errors.New("bearer: RevokeSubject without a subject")
	}
	if m.Ledger == nil {
		return 0, nil
	}
	n, err := m.Ledger.RevokeSubject(ctx, of)
	if n > 0 {
		e := auth.Event{Verb: verbs.TokenRevoked, Org: of.Org, App: of.ClientKey, Account: of.Subject, Count: int64(n)}
		if of.ClientKey == token.Any {
			e.App = ""
		}
		auth.Emit(ctx, e)
	}
	return n, auth.Unavailable(err)
}
