package bearer

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/admission"
	"github.com/tenantkit/tenantkit/internal/verbs"
	"github.com/tenantkit/tenantkit/token"
)

// Mint decides whether a principal may mint a token, and signs it. The application says by
// auth.Principal.AsAdministrator whether the principal is an administrator. A route that mints needs only this call. Mint reads the Guard's
// clock once, for the decision and the signature. It returns the claims as they were signed.
//
// The token omits the roles that its subject has anyway. Its record in the ledger names its
// maker: the account, the client key of a signature, the token.
//
// The errors are the following. All are ready for auth.Fail. Any other error wraps
// auth.ErrUnavailable.
//
//   - auth.DetailDelegation, with what is beyond the principal: see auth.Principal.MayMake.
//     With the option lineage, the token would be the sixth maker in a row, or have two makers.
//   - auth.DetailNotFound with the Path sub or roles, for an unknown subject or role.
//   - auth.DetailOption: the claims contradict each other, or cannot be signed.
//   - auth.DetailInvalidScope, auth.DetailUnknownApp, auth.DetailNoKeyPair, auth.DetailTooManyTokens.
//   - auth.DetailInvalidToken: the maker's token was revoked meanwhile, or its key was replaced.
func (m *Mechanism) Mint(ctx context.Context, by auth.Principal, t *auth.Tenant, w Wish) (token.Token, token.Claims, error) {
	signed, claims, err := m.MintIn(ctx, m.Ledger, m.Signers, by, t, w)
	if err == nil {
		granted, _ := t.Compile("token", claims.Scope)
		emit(ctx, auth.Event{Verb: verbs.TokenMade, Reason: w.kind(), Scope: granted}, claims)
	}
	return signed, claims, err
}

// MintIn is Mint with the ledger and the pairs of a transaction of the application, such as those of
// sqlstore.In. The token is valid once the transaction has been committed: hand it out then. It is
// never valid after a rollback, unless it is ephemeral and its pair was there before. It emits no event: see
// auth.Emit.
func (m *Mechanism) MintIn(ctx context.Context, ledger token.Issuing, signers token.Signers, by auth.Principal, t *auth.Tenant, w Wish) (token.Token, token.Claims, error) {
	now := t.Now()
	minter, err := m.minter(t.Settings())
	if err != nil {
		return "", token.Claims{}, err
	}
	claims, err := decide(ctx, by, t, w, now)
	if err != nil {
		return "", token.Claims{}, err
	}
	minter.Ledger, minter.Signers, minter.Now = ledger, signers, func() time.Time { return now }
	made := lineage(by, claims.Subject)
	made.Name = w.Name
	minter = minter.MadeBy(made, by.TokenKey)
	w.Claims = claims
	signed, claims, err := w.sign(ctx, minter, now)
	if errors.Is(err, token.ErrTooMany) {
		// The ledger counts the tokens that it believes live. It does not ask the directory.
		if err = dropWithoutMaker(ctx, t, ledger, w.Claims); err == nil {
			signed, claims, err = w.sign(ctx, minter, now)
		}
	}
	return signed, claims, mintFault(err)
}

// Minter returns a Minter with the namespace, the grammar and the clock of a Guard, for tokens
// that are minted outside of requests. It panics if the Guard is not valid, or has other
// mechanisms.
func (m *Mechanism) Minter(g *auth.Guard) *token.Minter {
	minter, err := m.minter(g.Settings())
	if err != nil {
		panic(err)
	}
	return minter
}

func (m *Mechanism) minter(s *auth.Settings) (*token.Minter, error) {
	if _, err := m.boundTo(s); err != nil {
		return nil, err
	}
	return &token.Minter{
		Signers: m.Signers, Ledger: m.Ledger, PerSubject: m.PerSubject, Scopes: s.Scopes, Namespace: s.Brand.Claims, Now: s.Now,
	}, nil
}

// dropWithoutMaker revokes those tokens of a subject that are dead by the directory: see
// CheckMakers. If there are none, it returns token.ErrTooMany.
func dropWithoutMaker(ctx context.Context, t *auth.Tenant, ledger token.Issuing, c token.Claims) error {
	tooMany := token.ErrTooMany
	for r, err := range token.Records(ctx, ledger, token.Holder{Org: t.Org.Key(), ClientKey: c.Issuer, Subject: c.Subject}) {
		if err != nil {
			return err
		}
		err := CheckMakers(ctx, t, r)
		if err == nil {
			continue
		}
		if auth.IsNotFound(err) {
			err = ledger.Revoke(ctx, r.Holder(), r.ID)
		}
		if err != nil && !errors.Is(err, token.ErrNotFound) {
			return err
		}
		tooMany = nil
	}
	return tooMany
}

// lineage returns what a record says of the maker. A token passes on its own makers, so that what
// it makes also ends with them.
func lineage(by auth.Principal, subject string) token.Lineage {
	l := token.Lineage{Maker: cmp.Or(by.Caller, by.Account), MakerApp: by.MakerApp, Parent: by.TokenID}
	if !by.Authenticated.IsZero() {
		l.MakerApp = by.App
	}
	if by.Account == subject && by.Maker != "" {
		l.Maker = by.Maker
	}
	return l
}

// hasTwoMakers reports whether a token for the subject would have two makers that are other
// accounts. A record can name only one.
func hasTwoMakers(by auth.Principal, subject string) bool {
	return by.Maker != "" && by.Account != subject && by.Maker != subject
}

func (w *Wish) sign(ctx context.Context, m *token.Minter, now time.Time) (token.Token, token.Claims, error) {
	c := w.Claims
	switch {
	case w.MaxUses != 0:
		return m.Limited(ctx, c)
	case w.Permanent:
		return m.Permanent(ctx, c)
	}
	ttl := cmp.Or(c.Expires.Sub(now), -1) // an end in the past must not become the Minter's default
	c.Expires = time.Time{}               // the Minter sets it
	return m.Ephemeral(ctx, c, ttl)
}

// mintFault returns the error for auth.Fail of an error of a token.Minter. An error that it does
// not know is a failure of a store.
func mintFault(err error) error {
	switch {
	case err == nil, errors.Is(err, auth.ErrUnavailable):
		return err // first: see auth.IsNotFound
	case errors.Is(err, token.ErrScope):
		return &auth.Error{Detail: auth.DetailInvalidScope, Err: err}
	case errors.Is(err, token.ErrClaims):
		reason := strings.TrimPrefix(err.Error(), token.ErrClaims.Error()+": ")
		return &auth.Error{Detail: auth.DetailOption, Reason: reason, Err: err}
	case errors.Is(err, token.ErrNoKeyPair):
		return &auth.Error{Detail: auth.DetailNoKeyPair, Err: err}
	case errors.Is(err, token.ErrTooMany):
		return &auth.Error{Detail: auth.DetailTooManyTokens, Err: err}
	case errors.Is(err, token.ErrTooDeep):
		return admission.Beyond("lineage")
	case errors.Is(err, token.ErrRevoked), errors.Is(err, token.ErrExhausted):
		return &auth.Error{Detail: auth.DetailInvalidToken, Err: err}
	}
	return auth.Unavailable(err)
}
