package bearer

import (
	"context"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/admission"
	"github.com/tenantkit/tenantkit/internal/verbs"
	"github.com/tenantkit/tenantkit/token"
)

// Less is what a successor may do less than the token before. The zero Less is the same grant.
type Less struct {
	Scope   []string  // instead of the token's own chains, which must cover them; nil: the same
	Expires time.Time // an earlier end; zero: the same
}

// Renew exchanges the permanent or limited-use token in the Authorization header for its successor,
// and spends no use. Call it in the handler of a Public route: Renew authenticates the token itself,
// and tells the observer by auth.Identify. A phone calls it now and then, so that a stolen copy is of
// use for that long, and is found out.
//
// The successor has the claims and the end of the token, or less, and what remains of its uses. The
// token, its successors and what they make are one record in the ledger: one place in PerSubject, one
// Principal.TokenID, and one Revoke ends them all. What the token has made lives on.
//
// The token is still accepted for token.Grace. Within it, Renew returns a token of the same jti again:
// the answer may have been lost. A token that was exchanged for less is refused at once. Whoever uses
// a token after that, or after its successor was renewed, ends its whole family, because two hold it
// (RFC 9700, section 4.14.2). The error wraps token.ErrReused, and so does Event.Err: tell the owner of
// the account, which Event.Claimed names.
//
// If a former key has signed the token, the successor ends with that key.
//
// The errors are those of Authenticate. One with auth.DetailDelegation names what a Less has more. An ephemeral
// token has auth.DetailOption; so have claims that cannot be signed.
func (m *Mechanism) Renew(r *http.Request, less Less) (token.Token, token.Claims, error) {
	t := auth.TenantFrom(r.Context())
	if t == nil || !admission.Presented(r.Header["Authorization"]) {
		return "", token.Claims{}, &auth.Error{Detail: auth.DetailNoCredentials}
	}
	raw, _, err := admission.Credential(r.Header["Authorization"], nil)
	if err != nil {
		return "", token.Claims{}, err
	}
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	return m.renew(ctx, t, raw, less, func(by auth.Principal) { auth.Identify(r, by) })
}

// RenewToken is Renew for a token that came in another way than in the header. No verb renews in a
// transaction of the application: a rollback would undo the end of a family.
func (m *Mechanism) RenewToken(ctx context.Context, t *auth.Tenant, raw string, less Less) (token.Token, token.Claims, error) {
	return m.renew(ctx, t, raw, less, func(auth.Principal) {})
}

// renew calls identify before it reports the renewal, so that the event names who has renewed.
func (m *Mechanism) renew(ctx context.Context, t *auth.Tenant, raw string, less Less, identify func(auth.Principal)) (token.Token, token.Claims, error) {
	var a attempt
	fail := func(err error) (token.Token, token.Claims, error) {
		claim(t, raw)
		a.emit(ctx, err)
		return "", token.Claims{}, err
	}
	minter, err := m.minter(t.Settings())
	if err != nil {
		return fail(err)
	}
	now := t.Now() // before the account is asked: TokensFrom of later ends the successor, too
	minter.Now = func() time.Time { return now }
	look := &peek{ledger: m.Ledger, renewed: true}
	var v *token.Verified
	if v, a, err = m.inspect(ctx, raw, t, look); err != nil {
		return fail(err)
	}
	if v.ID() == "" {
		return fail(&auth.Error{Detail: auth.DetailOption, Reason: "an ephemeral token is not renewed"})
	}
	claims, grace, err := less.of(t, v)
	if err != nil {
		return fail(err)
	}
	signed, claims, err := minter.MadeBy(token.Lineage{}, v.KeyID()).Renew(ctx, m.Ledger, look.record, claims, grace)
	if err != nil {
		return fail(mintFault(err))
	}
	identify(a.principal(v))
	emit(ctx, auth.Event{Verb: verbs.TokenRenewed}, claims)
	return signed, claims, nil
}

// of returns the claims of a successor, and for how long the token stays.
func (l Less) of(t *auth.Tenant, v *token.Verified) (c token.Claims, grace time.Duration, err error) {
	c, grace = v.Claims(), token.Grace
	c.Expires = v.Expires() // the iat stays where it is ahead, because TokensFrom may be there
	if !l.Expires.IsZero() {
		if !c.Expires.IsZero() && l.Expires.After(c.Expires) {
			return c, 0, admission.Beyond("expires")
		}
		c.Expires, grace = l.Expires, 0
	}
	if l.Scope == nil {
		return c, grace, nil
	}
	if err := t.Vet("scope", l.Scope); err != nil {
		return c, 0, err
	}
	wanted, err := t.Compile("token", l.Scope)
	if err != nil {
		return c, 0, err
	}
	own, _ := v.Scope() // not what its roles permit now: it would keep that when they do not any more
	if missing := own.Missing(wanted); missing != nil {
		return c, 0, admission.Beyond("scope", missing...)
	}
	c.Scope = l.Scope
	return c, 0, nil
}
