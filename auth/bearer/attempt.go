package bearer

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/admission"
	"github.com/tenantkit/tenantkit/internal/face"
	"github.com/tenantkit/tenantkit/internal/verbs"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

// attempt is the state of one request with a token whose signature is right.
type attempt struct {
	tenant  *auth.Tenant
	request *http.Request
	seen    *face.Memory // nil: the use is not recorded
	roles   []string
	scope   scope.Set

	daily bool // its use is the first of a day

	maker, makerApp string // set if they differ from its subject and its issuer
}

// admit decides whether a genuine token is valid in this org, and sets its roles and scope. It
// runs before a use is spent, so that a failure of the directory costs no use.
func (a *attempt) admit(ctx context.Context, v *token.Verified) (err error) {
	if _, err := a.tenant.App(ctx, v.Issuer()); err != nil {
		return admission.Refuse(err)
	}
	if a.roles, err = admission.Enter(ctx, a.tenant, v.Subject(), v.IssuedAt(), v.Roles()); err != nil {
		return err
	}
	claim, claimed := v.Scope()
	a.scope, err = admission.WithRoles(ctx, a.tenant, claim, claimed, a.roles)
	return err
}

// use returns what the ledger records of the use of a token, about once an hour.
func (a *attempt) use(v *token.Verified) (at time.Time, from netip.Addr) {
	if a.seen == nil {
		return at, from
	}
	now := a.tenant.Now()
	due, daily := a.seen.Due(v.ID(), now)
	if !due {
		return at, from
	}
	a.daily = daily
	return now, a.tenant.ClientAddr(a.request)
}

// checkMakers refuses a token if one of its makers is gone. The ledger checks the token that made
// it.
func (a *attempt) checkMakers(ctx context.Context, v *token.Verified, by token.Lineage) error {
	r := token.Record{ClientKey: v.Issuer(), Subject: v.Subject(), Issued: v.IssuedAt(), Lineage: by}
	if err := checkMakers(ctx, a.tenant, r); err != nil {
		return admission.Refuse(err)
	}
	if by.MakerApp != r.ClientKey {
		a.makerApp = by.MakerApp
	}
	if by.Maker != r.Subject {
		a.maker = by.Maker
	}
	if a.daily && verbs.Soon(a.tenant.Now(), v.Expires()) {
		auth.Emit(ctx, auth.Event{Verb: verbs.EndsSoon, App: r.ClientKey, Account: r.Subject, Token: v.ID(), Reason: v.Expires().Format(time.DateOnly)})
	}
	return nil
}

func (a *attempt) principal(v *token.Verified) auth.Principal {
	return auth.Principal{
		Org:       a.tenant.Org.Key(),
		App:       v.Issuer(),
		Account:   v.Subject(),
		Caller:    v.Subject(),
		Mechanism: Name,
		Roles:     a.roles,
		Scope:     a.scope,
		Granted:   a.scope,
		Access: auth.Access{
			Grant:         v.Grant(),
			SkipACL:       v.SkipACL(),
			SkipCreateACL: v.SkipCreateACL(),
		},
		TokenID:  v.ID(),
		TokenKey: v.KeyID(),
		Maker:    a.maker,
		MakerApp: a.makerApp,
		Expires:  v.Expires(),
		Limited:  v.MaxUses() > 0,
	}
}
