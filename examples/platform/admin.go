package main

import (
	"context"
	"errors"
	"net/http"
	"time"

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
	ledger   token.Ledger
}

// managedReply is an account as administrators see it.
type managedReply struct {
	accountReply
	Disabled bool `json:"disabled"`
}

func managed(a *account) managedReply { return managedReply{replyOfAccount(a), a.Disabled} }

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

var provisioningForm = append(form{{Path: "roles", Type: typeStrings}}, registrationForm...)

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
		validPassword(&wrong, password)
	}
	known, err := h.store.Roles(ctx, a.Org, a.Roles)
	if err != nil {
		return err
	}
	if len(known) != len(a.Roles) {
		wrong.add("roles", "must be roles of the org, each once")
	}
	return wrong.orNil()
}

// deactivate shuts an account out: its sessions and the tokens that are in a
// ledger at once, whatever else names it once no instance remembers it as
// enabled.
func (h provisioning) deactivate(r *http.Request) (managedReply, error) {
	ctx, org := r.Context(), auth.From(r.Context()).Org
	a, err := h.store.changeAccount(ctx, org, r.PathValue("id"), func(a *account) {
		a.Disabled, a.Changed = true, time.Now()
	})
	if err != nil {
		return managedReply{}, err
	}
	_, err = h.sessions.RevokeAll(ctx, org, a.ID, "")
	return managed(a), errors.Join(err, h.revokeTokens(ctx, org, a.ID))
}

// revokeTokens ends what the apps of an org have issued for an account.
func (h provisioning) revokeTokens(ctx context.Context, org, account string) error {
	apps, err := h.store.listApps(ctx, org)
	for _, a := range apps {
		_, failed := h.ledger.RevokeSubject(ctx, a.ClientKey, account)
		err = errors.Join(err, storeFailed(failed))
	}
	return err
}

// accounts returns all accounts of an org, in the order of their ids.
func (s *store) accounts(ctx context.Context, org string) ([]*account, error) {
	return findAll[account](ctx, s, "SELECT record FROM platform_accounts WHERE org = $1 ORDER BY id", org)
}

// changeAccount alters an account and returns it as it is then.
func (s *store) changeAccount(ctx context.Context, org, id string, change func(*account)) (*account, error) {
	for {
		a, err := s.account(ctx, org, id)
		if err != nil {
			return nil, err
		}
		before := record(a)
		change(a)
		err = s.exec(ctx, errMoved, "UPDATE platform_accounts SET record = $4 WHERE org = $1 AND id = $2 AND record = $3",
			org, id, before, record(a))
		if !errors.Is(err, errMoved) {
			return a, err
		}
	}
}
