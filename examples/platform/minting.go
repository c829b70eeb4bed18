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
// views come to a token. Administrators are those of the access rules: a wide scope
// makes nobody one.
func (h *tokens) mintFor(ctx context.Context, p auth.Principal, clientKey string, w tokenWish) (minted, error) {
	tenant := auth.TenantFrom(ctx)
	app, err := tenant.App(ctx, clientKey)
	if err != nil {
		return minted{}, unknownApp(err)
	}
	if err := h.quota.take(inOrg{p.Org, p.Account}); err != nil {
		return minted{}, err // before the rest: a refusal costs work, too
	}
	if w.outlivesSession() {
		if err := mustBeFresh(p); err != nil {
			return minted{}, err
		}
	}
	t, claims, err := bearer.Mint(ctx, p, p.HasRole(administrator), tenant, &h.minter, w.of(app.ClientKey, time.Now()))
	return minted{t, claims.ID, claims.Expires}, inFields(err, tokenFields)
}

// tokenFields are the fields of a request for a token that the library has another
// name for.
var tokenFields = map[string]string{"expires": "expiresIn"}
