package main

import (
	"context"
	"net/http"
	"slices"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/token"
)

// provisioning serves the routes by which administrators handle the accounts of
// others.
type provisioning struct {
	store    *store
	sessions *session.Manager
	factors  session.Factors
	ledger   token.Ledger
}

// managedReply is an account as administrators see it.
type managedReply struct {
	accountReply
	Disabled   bool   `json:"disabled"`
	TokensFrom string `json:"tokensFrom,omitempty"` // tokens signed earlier are refused
}

func managed(a *account) managedReply {
	return managedReply{replyOfAccount(a), a.Disabled, date(a.TokensFrom)}
}

func (h provisioning) list(r *http.Request) (envelope.List[managedReply], error) {
	all, err := h.store.accounts(r.Context(), auth.From(r.Context()).Org)
	if err != nil {
		return envelope.List[managedReply]{}, err
	}
	var replies []managedReply
	for _, a := range all {
		replies = append(replies, managed(a))
	}
	return ownPage(r, "account", replies)
}

func (h provisioning) get(r *http.Request) (managedReply, error) {
	a, err := h.store.account(r.Context(), auth.From(r.Context()).Org, r.PathValue("id"))
	if err != nil {
		return managedReply{}, err
	}
	return managed(a), nil
}

var provisioningForm = append(envelope.Form{{Path: "roles", Kind: envelope.Strings}}, registrationForm...)

// create makes an account, without signing anybody in. One without a password
// cannot sign in: it is for keys and tokens.
func (h provisioning) create(r *http.Request) (managedReply, error) {
	values, err := readValues(r, provisioningForm)
	if err != nil {
		return managedReply{}, err
	}
	a := account{Account: auth.Account{ID: newID(), Org: auth.From(r.Context()).Org, Roles: []string{member}}}
	setIfGiven(&a.Email, values, "email")
	setIfGiven(&a.Name, values, "name")
	setIfGiven(&a.Roles, values, "roles")
	password, hasPassword := values["password"].(string)
	if err := h.valid(r.Context(), &a, password, hasPassword); err != nil {
		return managedReply{}, err
	}
	if err := mayHaveRoles(auth.From(r.Context()), a.ID, a.Roles); err != nil {
		return managedReply{}, err
	}
	encoded := ""
	if hasPassword {
		if encoded, err = h.sessions.Hash(r.Context(), password); err != nil {
			return managedReply{}, err
		}
	}
	return managed(&a), h.store.addAccount(r.Context(), a, encoded)
}

func (h provisioning) valid(ctx context.Context, a *account, password string, hasPassword bool) error {
	wrong := invalid{detail: auth.DetailBody}
	validAccount(&wrong, a)
	if hasPassword {
		validPassword(&wrong, "password", password)
	}
	if err := h.validRoles(ctx, &wrong, a.Org, a.Roles, nil); err != nil {
		return err
	}
	return wrong.orNil()
}

// validRoles looks up the roles that an account does not have: one that it has may
// have been deleted, and can still be kept or taken away.
func (h provisioning) validRoles(ctx context.Context, wrong *invalid, org string, roles, has []string) error {
	added := slices.DeleteFunc(slices.Clone(roles), func(role string) bool { return slices.Contains(has, role) })
	known, err := h.store.Roles(ctx, org, added)
	if err != nil {
		return err
	}
	if once := slices.Compact(slices.Sorted(slices.Values(roles))); len(known) != len(added) || len(once) != len(roles) {
		wrong.add("roles", "must be roles of the org, each once")
	}
	return nil
}

// accounts returns all accounts of an org, in the order of their ids.
func (s *store) accounts(ctx context.Context, org string) ([]*account, error) {
	return findAll[account](ctx, s, "SELECT record FROM platform_accounts WHERE org = $1 ORDER BY id", org)
}
