package main

import (
	"context"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/token"
)

// minted is a token, with its id and its expiry.
type minted struct {
	token.Token
	id      string
	expires time.Time
}

// mintFor mints a token of an app if the principal may pass on what it holds, and
// has not minted too often lately. All tokens for clients, scripts and views are
// minted here. Administrators are those of the access rules: a wide scope makes
// nobody an administrator.
func (h *tokens) mintFor(ctx context.Context, p auth.Principal, clientKey string, w tokenWish) (minted, error) {
	tenant := auth.TenantFrom(ctx)
	app, err := tenant.App(ctx, clientKey)
	if err != nil {
		return minted{}, unknownApp(err)
	}
	if err := h.quota.take(callerOf(p)); err != nil {
		return minted{}, err // first, because a refusal costs work, too
	}
	if w.outlivesSession() {
		if err := mustBeFresh(p); err != nil {
			return minted{}, err
		}
	}
	t, claims, err := h.mechanism.Mint(ctx, p.AsAdministrator(p.HasRole(administrator)), tenant, w.of(app.ClientKey, time.Now()))
	return minted{t, claims.ID, claims.Expires}, inFields(err, tokenFields)
}

// withinQuota counts a token for an OAuth client.
func (h *tokens) withinQuota(_ context.Context, client auth.Principal) error {
	return h.quota.take(callerOf(client))
}

// tokenFields maps the library's names to the fields of a request for a token.
var tokenFields = map[string]string{"expires": "expiresIn"}
