package bearer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/token"
)

// Mint decides whether a principal may mint a token, by Within, and signs it: the
// one call of a route that mints. It decides and signs as of one time of the
// Minter's clock. The returned claims are those that were signed.
//
// The token leaves out the roles that its subject has anyway. Its record in the
// ledger says who made it: the account, the client key of a signature, the token.
//
// Errors are those of Within, and for auth.Fail: auth.DetailOption for claims that
// cannot be signed, auth.DetailInvalidScope, auth.DetailNoKeyPair,
// auth.DetailTooManyTokens, auth.DetailInvalidToken when the maker's token was
// revoked meanwhile, an *auth.BeyondError with the option lineage for the sixth
// maker in a row. Any other wraps auth.ErrUnavailable.
func Mint(ctx context.Context, by auth.Principal, admin bool, t *auth.Tenant, m *token.Minter, w Wish) (token.Token, token.Claims, error) {
	now := time.Now()
	if m.Now != nil {
		now = m.Now()
	}
	claims, err := decide(ctx, by, admin, t, w, now)
	if err != nil {
		return "", token.Claims{}, err
	}
	minter := *m
	minter.Now = func() time.Time { return now }
	minter.Lineage = lineage(by, claims.Subject)
	w.Claims = claims
	signed, claims, err := w.sign(ctx, &minter, now)
	if errors.Is(err, token.ErrTooMany) {
		// The ledger counts what it knows to be live: it does not ask the directory.
		var dropped bool
		if dropped, err = dropWithoutMaker(ctx, t, m.Ledger, w.Claims); dropped {
			signed, claims, err = w.sign(ctx, &minter, now)
		}
	}
	return signed, claims, mintFault(err)
}

// dropWithoutMaker makes room among the tokens of a subject by those whose maker is
// gone. If there are none it returns token.ErrTooMany.
func dropWithoutMaker(ctx context.Context, t *auth.Tenant, ledger token.Ledger, c token.Claims) (dropped bool, err error) {
	records, err := ledger.List(ctx, c.Issuer, c.Subject)
	if err != nil {
		return false, err
	}
	for _, r := range records {
		err := Made(ctx, t, r)
		if err == nil {
			continue
		}
		if auth.IsNotFound(err) {
			err = ledger.Revoke(ctx, r.ClientKey, r.ID)
		}
		if err != nil && !errors.Is(err, token.ErrNotFound) {
			return false, err
		}
		dropped = true
	}
	if !dropped {
		err = token.ErrTooMany
	}
	return dropped, err
}

// lineage is what is recorded of a maker. A token hands down who made it, so that
// what it makes ends with them, too.
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

// hasTwoMakers reports whether two other accounts would have made a token for its
// subject. A record names one.
func hasTwoMakers(by auth.Principal, subject string) bool {
	return by.Maker != "" && by.Account != subject && by.Maker != subject
}

func (w *Wish) sign(ctx context.Context, m *token.Minter, now time.Time) (token.Token, token.Claims, error) {
	c := w.Claims
	switch {
	case w.MaxUses != 0:
		return m.Limited(ctx, c, c.MaxUses)
	case w.Permanent:
		return m.Permanent(ctx, c)
	}
	ttl := cmp.Or(c.Expires.Sub(now), -1) // an end that has come, and not the Minter's default
	c.Expires = time.Time{}               // the Minter's to set
	return m.Ephemeral(ctx, c, ttl)
}

// mintFault gives an error of a token.Minter its place in the table of faults:
// what is wrong with the claims or the scope, no key pair, too many tokens. Any
// other error is a store's.
func mintFault(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, token.ErrScope):
		return auth.ScopeError("scope", err)
	case errors.Is(err, token.ErrClaims):
		reason := strings.TrimPrefix(err.Error(), token.ErrClaims.Error()+": ")
		return &auth.Error{Detail: auth.DetailOption, Reason: reason, Err: err}
	case errors.Is(err, token.ErrNoKeyPair):
		return &auth.Error{Detail: auth.DetailNoKeyPair, Err: err}
	case errors.Is(err, token.ErrTooMany):
		return &auth.Error{Detail: auth.DetailTooManyTokens, Err: err}
	case errors.Is(err, token.ErrTooDeep):
		return beyond("lineage")
	case errors.Is(err, token.ErrRevoked):
		return &auth.Error{Detail: auth.DetailInvalidToken, Err: err}
	}
	return fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
}
