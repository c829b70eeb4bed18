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

// Inspect decides about a token as Authenticate does, and spends no use of it. It also returns what
// the token may do, the chains of its roles included. It is for
// telling others about a token (RFC 7662), never for admitting a request: a limited-use token
// would have no limit. It finds the record of a token with a jti in the Ledger.
//
// Inspect refuses the tokens of other issuers, API keys, and tokens that were renewed, also within their
// grace. The errors are those of Authenticate.
func (m *Mechanism) Inspect(ctx context.Context, raw string, t *auth.Tenant) (*token.Verified, scope.Set, error) {
	verified, a, err := m.inspect(ctx, raw, t, &peek{ledger: m.Ledger})
	return verified, a.scope, err
}

// inspect verifies a token whose use look does not spend.
func (m *Mechanism) inspect(ctx context.Context, raw string, t *auth.Tenant, look *peek) (*token.Verified, attempt, error) {
	b, err := m.boundTo(t.Settings())
	if err != nil {
		return nil, attempt{}, err
	}
	a := attempt{tenant: t}
	if admission.OwnerOf(t.Settings(), t.Org.Key(), raw) != "" {
		return nil, attempt{}, admission.Fault(fmt.Errorf("%w: another mechanism owns it", admission.ErrRefused))
	}
	verified, err := b.unspending(look).verifier.Verify(ctx, raw, token.Expect{Takes: t.Takes, Org: t.Org.Key(), Admit: a.admit, Spent: a.checkMakers})
	if err != nil {
		return nil, attempt{}, admission.Fault(err)
	}
	return verified, a, nil
}

// Record returns the record that a ledger has of a token of this tenant, to revoke it by. The
// token need not be valid now: see token.Verifier.Record. The errors are those of Authenticate.
func (m *Mechanism) Record(ctx context.Context, raw string, t *auth.Tenant) (token.Record, error) {
	b, err := m.boundTo(t.Settings())
	if err != nil {
		return token.Record{}, err
	}
	r, err := b.verifier.Record(ctx, raw, token.Expect{Takes: t.Takes, Org: t.Org.Key()})
	return r, admission.Fault(err)
}

// unspending returns a copy of b that spends no use.
func (b *bound) unspending(look *peek) *bound {
	again := *b
	again.verifier.Cache = nil // it remembers only what its own Verifier has accepted
	if look.ledger != nil {
		again.verifier.Ledger = look
	}
	return &again
}

// peek is a Spender that only looks whether a record is live.
type peek struct {
	ledger  token.Issuing
	renewed bool // whether the token may have been renewed, which Renew decides

	record token.Record // of the token
}

func (p *peek) Spend(ctx context.Context, r token.Record) (token.Lineage, error) {
	p.record = r
	found, err := p.ledger.Get(ctx, r.Holder(), r.ID)
	same := found.KeyID == r.KeyID && found.Generation == r.Generation || p.renewed && found.Generation > r.Generation
	if errors.Is(err, token.ErrNotFound) || err == nil && !(same && found.MaxUses == r.MaxUses) {
		return token.Lineage{}, token.ErrRevoked
	}
	return found.Lineage, err
}
