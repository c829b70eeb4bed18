package main

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
)

// account is what auth knows of an account, and what only the platform does.
type account struct {
	auth.Account
	Email string // unique within the org, whatever its case
	Name  string
}

// The roles that the access rules know. Others have chains alone, such as the demo's
// reader.
const (
	administrator = "administrator"
	member        = "member"
)

// accounts serves the routes of accounts.
type accounts struct{ store *store }

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
	return replyOfAccount(a), nil
}

func replyOfAccount(a *account) accountReply {
	return accountReply{
		Item:  envelope.Item{ID: a.ID, Object: "account"},
		Email: a.Email,
		Name:  a.Name,
		Roles: append([]string{}, a.Roles...), // [] and never null
	}
}

func (s *store) account(ctx context.Context, org, id string) (*account, error) {
	return find[account](ctx, s, "SELECT record FROM platform_accounts WHERE org = $1 AND id = $2", org, id)
}

// addAccount adds an account whose id is new. Another one's e-mail address is a
// conflict, which tells strangers who register whether somebody has an account.
// Addresses are not verified either: whoever comes first has them. A service that
// sends mail answers every registration alike, and makes the account when the link
// in the mail is followed.
func (s *store) addAccount(ctx context.Context, a account, password string) error {
	return s.exec(ctx, a.Org, &auth.Error{Detail: auth.DetailConflict, Path: "email"},
		"INSERT INTO platform_accounts (org, id, email, password, record) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
		a.Org, a.ID, strings.ToLower(a.Email), password, record(a))
}

// Password implements session.Passwords: people sign in by their e-mail address.
func (s *store) Password(ctx context.Context, org, login string) (id, encoded string, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT id, password FROM platform_accounts WHERE org = $1 AND email = $2 AND password <> ''",
		org, strings.ToLower(strings.TrimSpace(login))).Scan(&id, &encoded)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", "", auth.ErrNotFound
	case err != nil:
		return "", "", storeFailed(err)
	}
	return id, encoded, nil
}

func (s *store) setPassword(ctx context.Context, org, id, encoded string) error {
	return s.exec(ctx, org, auth.ErrNotFound,
		"UPDATE platform_accounts SET password = $3 WHERE org = $1 AND id = $2", org, id, encoded)
}

// changePassword keeps another password, and ends the sessions that began before.
// Changed is set on both sides of it. Before: should the rest fail, they are over all
// the same. Behind: so is a login that read the former password meanwhile.
func (s *store) changePassword(ctx context.Context, org, id, encoded string) error {
	changed := func(a *account) error {
		a.Changed = time.Now().Add(time.Millisecond).Truncate(time.Millisecond)
		return nil
	}
	if _, err := s.changeAccount(ctx, org, id, changed); err != nil {
		return err
	}
	if err := s.setPassword(ctx, org, id, encoded); err != nil {
		return err
	}
	_, err := s.changeAccount(ctx, org, id, changed)
	return err
}

// Rehash implements session.Rehasher.
func (s *store) Rehash(ctx context.Context, org, id, old, encoded string) error {
	return s.exec(ctx, org, auth.ErrNotFound,
		"UPDATE platform_accounts SET password = $4 WHERE org = $1 AND id = $2 AND password = $3", org, id, old, encoded)
}
