package bearer

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/admission"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

// Inspected is a token that Authenticate would accept now.
type Inspected struct {
	*token.Verified
	Effective scope.Set // what it may do, the chains of its roles included
}

// Inspect decides about a token as Authenticate does, and spends no use of it. It is for
// telling others about a token (RFC 7662), never for admitting a request: a limited-use token
// would have no limit. It finds the record of a token with a jti in the Ledger.
//
// Inspect refuses the tokens of other issuers. The errors are those of Authenticate.
func (m *Mechanism) Inspect(ctx context.Context, raw string, t *auth.Tenant) (Inspected, error) {
	b, err := m.boundTo(t.Settings())
	if err != nil {
		return Inspected{}, err
	}
	a := attempt{tenant: t, also: m.Admit}
	if admission.IsOwned(t.Settings(), t.Org.Key(), raw) {
		return Inspected{}, admission.Fault(fmt.Errorf("%w: another issuer has this iss", admission.ErrRefused))
	}
	verified, err := m.unspending(b, t).verifier.Verify(ctx, raw, token.Expect{Takes: t.Takes, Org: t.Org.Key(), Admit: a.admit, Spent: a.checkMakers})
	if err != nil {
		return Inspected{}, admission.Fault(err)
	}
	return Inspected{verified, a.scope}, nil
}

// Record returns the record that a ledger has of a token of this tenant, to revoke it by. The
// token need not be valid now: see token.Verifier.Record. The errors are those of Authenticate.
func (m *Mechanism) Record(ctx context.Context, raw string, t *auth.Tenant) (token.Record, error) {
	b, err := m.boundTo(t.Settings())
	if err != nil {
		return token.Record{}, err
	}
	r, err := b.verifier.Record(ctx, raw, token.Expect{Takes: t.Takes, Org: t.Org.Key()})
	if err != nil {
		return token.Record{}, admission.Fault(err)
	}
	return r, nil
}

// unspending returns a copy of b that spends no use.
func (m *Mechanism) unspending(b *bound, t *auth.Tenant) *bound {
	again := *b
	again.verifier.Cache = nil // it remembers only what its own Verifier has accepted
	if m.Ledger != nil {
		again.verifier.Ledger = unspent{m.Ledger, t.Org.Key()}
	}
	return &again
}

// unspent is a Spender that only looks whether a record is live.
type unspent struct {
	ledger token.Ledger
	org    auth.OrgKey
}

func (u unspent) Spend(ctx context.Context, r token.Record) (token.Lineage, error) {
	record, err := u.ledger.Get(ctx, token.Holder{Org: u.org, ClientKey: r.ClientKey, Subject: r.Subject}, r.ID)
	if errors.Is(err, token.ErrNotFound) || err == nil && (record.KeyID != r.KeyID || record.MaxUses != r.MaxUses) {
		return token.Lineage{}, token.ErrRevoked
	}
	return record.Lineage, err
}
