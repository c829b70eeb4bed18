package main

import (
	"context"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/token"
)

// minted is a token and what was signed.
type minted struct {
	token.Token
	id      string
	expires time.Time
}

// mintFor mints a token of an app if the principal may pass on as much, and has
// not minted too much of late. It is the one way by which clients, scripts and
// views come to a token.
func (h *tokens) mintFor(ctx context.Context, p auth.Principal, clientKey string, w tokenWish) (minted, error) {
	tenant := auth.TenantFrom(ctx)
	app, err := tenant.App(ctx, clientKey)
	if err != nil {
		return minted{}, unknownApp(err)
	}
	w.claims.Issuer, w.claims.Audience = app.ClientKey, tenant.URL()
	now := time.Now()
	if err := h.quota.take(inOrg{p.Org, p.Account}); err != nil {
		return minted{}, err // before the rest: a refusal costs work, too
	}
	if err := h.mayMint(ctx, p, tenant, w, now); err != nil {
		return minted{}, err
	}
	m, err := h.mint(ctx, w, now)
	return m, bearer.MintFault(err)
}

// mayMint decides who may mint what. Administrators are those of the access
// rules: a wide scope makes nobody one.
func (h *tokens) mayMint(ctx context.Context, p auth.Principal, t *auth.Tenant, w tokenWish, now time.Time) error {
	claims := w.claims
	claims.Expires = w.expires(now)
	return bearer.Within(ctx, p, p.HasRole(administrator), t, claims)
}

// mint signs a token as of a time, so that it ends when it was decided that it
// may.
func (h *tokens) mint(ctx context.Context, w tokenWish, now time.Time) (minted, error) {
	minter := h.minter
	minter.Now = func() time.Time { return now }
	claims := w.claims
	if w.ephemeral() {
		t, err := minter.Ephemeral(ctx, claims, w.lasts)
		return minted{Token: t, expires: w.expires(now)}, err
	}
	claims.Expires, claims.MaxUses = w.expires(now), 0
	issue := func() (token.Token, token.Claims, error) { return minter.Permanent(ctx, claims) }
	if w.limited {
		issue = func() (token.Token, token.Claims, error) { return minter.Limited(ctx, claims, w.claims.MaxUses) }
	}
	t, signed, err := issue()
	return minted{t, signed.ID, signed.Expires}, err
}
