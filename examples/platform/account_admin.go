package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
)

// provisioning serves the routes by which administrators manage the accounts of others.
type provisioning struct{ *platform }

type managedReply struct {
	accountReply
	Disabled   bool   `json:"disabled"`
	TokensFrom string `json:"tokensFrom,omitempty"` // tokens signed earlier are refused
}

// wholeReply is an account as administrators see it by itself.
type wholeReply struct {
	managedReply
	SecondFactor factorReply `json:"secondFactor"`
}

func managed(a *account) managedReply {
	return managedReply{replyOfAccount(a), a.Disabled, date(a.TokensFrom)}
}

func (h provisioning) list(r *http.Request) (envelope.List[managedReply], error) {
	return recordPage(r, h.store, "account", "SELECT record FROM platform_accounts WHERE org = $1 ORDER BY id", managed)
}

func (h provisioning) get(r *http.Request) (wholeReply, error) {
	a, err := h.store.account(r.Context(), auth.From(r.Context()).Org, r.PathValue("id"))
	if err != nil {
		return wholeReply{}, err
	}
	return h.whole(r.Context(), a)
}

func (h provisioning) whole(ctx context.Context, a *account) (wholeReply, error) {
	factor, err := factorOf(ctx, h.sessions, a.Org, a.ID)
	return wholeReply{managed(a), factor}, err
}

var provisioningForm = body.Form{
	{Path: "email", Kind: checked(notEmail), Required: true},
	{Path: "password", Kind: checked(notPassword)},
	{Path: "name", Kind: checked(notName)},
	{Path: "roles", Kind: body.Strings},
}

// create makes an account, and signs nobody in. An account without a password
// cannot sign in: it is for keys and tokens.
func (h provisioning) create(r *http.Request, values map[string]any) (wholeReply, error) {
	p := auth.From(r.Context())
	a := newAccount(p.Org, values)
	encoded, err := "", cmp.Or(h.validRoles(r.Context(), a.Org, a.Roles, nil), mayHaveRoles(p, a.ID, a.Roles))
	if password, given := values["password"].(string); given && err == nil {
		encoded, err = h.sessions.Passwords().Hash(r.Context(), password)
	}
	if err == nil {
		err = h.store.addAccount(r.Context(), *a, encoded)
	}
	if err != nil {
		return wholeReply{}, err
	}
	auth.Emit(r.Context(), auth.Event{Verb: "account.made", Account: a.ID})
	return wholeReply{managedReply: managed(a)}, nil // nobody has a factor yet
}

// validRoles looks up only the roles that are new to the account. A role that it
// has may have been deleted, and the account may still keep or lose it.
func (h provisioning) validRoles(ctx context.Context, org auth.OrgKey, roles, has []string) error {
	if len(roles) > max(maxAccountRoles, len(has)) {
		return wrongBody("roles", fmt.Sprintf("must be at most %d", maxAccountRoles))
	}
	added := without(roles, has)
	known, err := h.store.Roles(ctx, org, added)
	if err != nil {
		return err
	}
	if once := slices.Compact(slices.Sorted(slices.Values(roles))); len(known) != len(added) || len(once) != len(roles) {
		return wrongBody("roles", "must be roles of the org, each once")
	}
	return nil
}
