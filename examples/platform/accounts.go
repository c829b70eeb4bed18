package main

import (
	"context"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
)

// account is what auth knows of an account, and what only the platform does.
type account struct {
	auth.Account
	Email string
	Name  string
}

// The roles this platform knows.
const (
	administrator = "administrator"
	member        = "member"
)

// accounts serves the routes of accounts.
type accounts struct{ store *memory }

// accountReply is an account as its owner sees it.
type accountReply struct {
	envelope.Item
	Email string   `json:"email"`
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
}

// me answers with the account that the request acts as.
func (h accounts) me(r *http.Request) (accountReply, error) {
	p := auth.From(r.Context())
	a, err := h.store.account(r.Context(), p.Org, p.Account)
	if err != nil {
		return accountReply{}, err
	}
	return accountReply{
		Item:  envelope.Item{ID: a.ID, Object: "account"},
		Email: a.Email,
		Name:  a.Name,
		Roles: append([]string{}, a.Roles...), // [] and never null
	}, nil
}

func (m *memory) account(ctx context.Context, org, id string) (*account, error) {
	return find(ctx, m, m.accounts, inOrg{org, id})
}

func (m *memory) putAccount(ctx context.Context, a account) error {
	return put(ctx, m, m.accounts, inOrg{a.Org, a.ID}, a)
}
