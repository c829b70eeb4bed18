package bearer

import (
	"context"
	"errors"
	"fmt"
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

	token *token.Verified // nil: none with a right signature for this org
}

// admit decides whether a genuine token is valid in this org, and sets its roles and scope. It
// runs before a use is spent, so that a failure of the directory costs no use.
func (a *attempt) admit(ctx context.Context, v *token.Verified) (err error) {
	if _, err := a.tenant.App(ctx, v.Issuer()); err != nil {
		return admission.Refuse(err)
	}
	a.token = v
	if a.roles, err = admission.Enter(ctx, a.tenant, v.Subject(), v.IssuedAt(), v.Roles()); err != nil {
		return err
	}
	claim, claimed := v.Scope()
	a.scope, err = admission.WithRoles(ctx, a.tenant, claim, claimed, a.roles)
	return err
}

// use returns what the ledger records of the use of a token, about once an hour.
func (a *attempt) use(v *token.Verified) (at time.Time, from netip.Addr) {
	if a.seen != nil {
		now := a.tenant.Now()
		if due, daily := a.seen.Due(v.ID(), now); due {
			a.daily = daily
			return now, a.tenant.ClientAddr(a.request)
		}
	}
	return at, from
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

// emit reports a use after the last one, and a former token of a family.
func (a *attempt) emit(ctx context.Context, err error) {
	switch {
	case a.token == nil:
	case errors.Is(err, token.ErrReused):
		emit(ctx, auth.Event{Verb: verbs.TokenReused}, a.token.Claims())
	case errors.Is(err, token.ErrExhausted):
		emit(ctx, auth.Event{Verb: verbs.TokenSpent}, a.token.Claims())
	}
}

// emit reports a verb about a token.
func emit(ctx context.Context, e auth.Event, c token.Claims) {
	e.App, e.Account, e.Token = c.Issuer, c.Subject, c.RecordID()
	auth.Emit(ctx, e)
}

func (a *attempt) principal(v *token.Verified) auth.Principal {
	p := a.tenant.Principal(Name, v.Issuer(), v.Subject(), a.roles, a.scope)
	p.Access = auth.Access{Grant: v.Grant(), SkipACL: v.SkipACL(), SkipCreateACL: v.SkipCreateACL()}
	p.TokenID, p.TokenKey, p.Maker, p.MakerApp = v.ID(), v.KeyID(), a.maker, a.makerApp
	p.Expires, p.Limited = v.Expires(), v.MaxUses() > 0
	return p
}

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
