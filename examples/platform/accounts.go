package main

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/alexedwards/argon2id"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
)

// account is an account: what auth knows of it, and the platform's own properties.
type account struct {
	auth.Account
	Email string // unique within the org; case does not count
	Name  string
}

// The roles that the access rules know. Other roles only have chains, such as the demo's reader.
const (
	administrator = "administrator"
	member        = "member"
)

// accountReply is an account as its owner sees it.
type accountReply struct {
	envelope.Item
	Email string   `json:"email"`
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
}

func (s *store) ownAccount(ctx context.Context, p auth.Principal) (accountReply, error) {
	a, err := s.account(ctx, p.Org, p.Account)
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
		Roles: append([]string{}, a.Roles...), // [], never null
	}
}

func (s *store) account(ctx context.Context, org auth.OrgKey, id string) (*account, error) {
	return find[account](ctx, s.db, accountRow(org, id))
}

// addAccount adds an account with a new id. An e-mail address that another account has is a
// conflict. So a stranger who registers learns whether somebody has an account.
//
// Addresses are not verified either: the first account that names an address gets it. A service
// that sends mail answers every registration alike. It makes the account when somebody follows the
// link in the mail.
func (s *store) addAccount(ctx context.Context, a account, password string) error {
	defer s.found.Invalidate(a.Org) // see exec
	return addAccount(ctx, s.db, a, password)
}

func addAccount(ctx context.Context, db writer, a account, password string) error {
	err := execIn(ctx, db, &auth.Error{Detail: auth.DetailConflict, Path: "email"},
		"INSERT INTO platform_accounts (org, id, email, password, record) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
		a.Org, a.ID, strings.ToLower(a.Email), password, asJSON(a))
	if err != nil || a.Person == "" {
		return err
	}
	return execIn(ctx, db, nil, "INSERT INTO platform_people (person, org, id) VALUES ($1, $2, $3)", a.Person, a.Org, a.ID)
}

// Password implements session.PasswordStore. The login name is the e-mail address.
func (s *store) Password(ctx context.Context, org auth.OrgKey, login string) (id, encoded string, err error) {
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

// changePassword stores another password and alters the account, in one step: with the time
// of the change, a login that has read the former password is older than the change.
func (s *store) changePassword(ctx context.Context, org auth.OrgKey, id, encoded string, change func(*account)) error {
	return s.locked(ctx, org, func(tx *sql.Tx) error {
		_, err := changeAccount(ctx, tx, org, id, func(a *account) error {
			change(a)
			return nil
		})
		if err != nil {
			return err
		}
		return execIn(ctx, tx, auth.ErrNotFound, "UPDATE platform_accounts SET password = $3 WHERE org = $1 AND id = $2", org, id, encoded)
	})
}

func (s *store) Rehash(ctx context.Context, org auth.OrgKey, id, old, encoded string) error {
	return s.exec(ctx, org, auth.ErrNotFound,
		"UPDATE platform_accounts SET password = $4 WHERE org = $1 AND id = $2 AND password = $3", org, id, old, encoded)
}

// argon2 is the platform's session.Hasher. It uses argon2id with the first
// parameters in OWASP's cheat sheet on password storage.
type argon2 struct{}

var argon2Params = argon2id.Params{
	Memory:      19 * 1024, // KiB
	Iterations:  2,
	Parallelism: 1,
	SaltLength:  16,
	KeyLength:   32,
}

func (argon2) Hash(password string) (string, error) {
	return argon2id.CreateHash(password, &argon2Params)
}

func (argon2) Verify(encoded, password string) (ok, rehash bool) {
	// The parameters in encoded are not limited again: this server has written them.
	ok, params, err := argon2id.CheckHash(password, encoded)
	if err != nil || !ok {
		return false, false
	}
	return true, *params != argon2Params
}
