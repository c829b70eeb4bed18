// Package sqltenants protects a server whose companies, users and API clients are
// in existing tables.
//
// The library looks them up through auth.Directory: four look-ups, in the tables as
// they are. Its own data is in tables of auth/sqlstore, which can share the
// database: secrets, key pairs, and what has been accepted and issued.
package sqltenants

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tenantkit/tenantkit/auth"
)

// Tables are the existing tables.
const Tables = `
CREATE TABLE companies (slug TEXT PRIMARY KEY, closed INTEGER NOT NULL DEFAULT 0);
CREATE TABLE users (id TEXT PRIMARY KEY, company TEXT NOT NULL REFERENCES companies,
	name TEXT NOT NULL, email TEXT, role TEXT NOT NULL, active INTEGER NOT NULL DEFAULT 1) STRICT;
CREATE TABLE api_clients (client_key TEXT PRIMARY KEY, company TEXT NOT NULL REFERENCES companies,
	label TEXT NOT NULL, revoked INTEGER NOT NULL DEFAULT 0);`

// chains has what each value of users.role permits a token to do. It is fixed here.
// If companies define their own roles, these need a fourth table.
var chains = map[string][]string{
	"staff":   {"object.read.user.*.name"},
	"manager": {"object.read.user"},
}

// Directory finds orgs, apps, accounts and roles in these tables. It returns the
// names that it has read, not those that it was asked for. Otherwise ACME would be
// a second name of acme, if a column compares without case.
type Directory struct{ DB *sql.DB }

var _ auth.Directory = Directory{}

// Org implements auth.Directory.
func (d Directory) Org(ctx context.Context, code string) (*auth.Org, error) {
	var o auth.Org
	row := d.DB.QueryRowContext(ctx, "SELECT slug, closed FROM companies WHERE slug = $1", code)
	return found(&o, row.Scan(&o.Code, &o.Disabled))
}

// App implements auth.Directory.
func (d Directory) App(ctx context.Context, clientKey string) (*auth.App, error) {
	var a auth.App
	row := d.DB.QueryRowContext(ctx, "SELECT client_key, company, label, revoked FROM api_clients WHERE client_key = $1", clientKey)
	return found(&a, row.Scan(&a.ClientKey, &a.Org, &a.Name, &a.Disabled))
}

// Account implements auth.Directory. A server with sessions must also set Changed,
// the time of the latest password change.
func (d Directory) Account(ctx context.Context, org auth.OrgKey, id string) (*auth.Account, error) {
	var (
		a      auth.Account
		role   string
		active bool
	)
	row := d.DB.QueryRowContext(ctx, "SELECT id, company, role, active FROM users WHERE company = $1 AND id = $2", org, id)
	err := row.Scan(&a.ID, &a.Org, &role, &active)
	a.Roles, a.Disabled = []string{role}, !active
	return found(&a, err)
}

// Roles implements auth.Directory.
func (d Directory) Roles(_ context.Context, _ auth.OrgKey, names []string) (roles []auth.Role, err error) {
	for _, name := range names {
		if scope, ok := chains[name]; ok {
			roles = append(roles, auth.Role{Name: name, Scope: scope})
		}
	}
	return roles, nil
}

// found returns auth.ErrNotFound if there is no row, and every other error as it
// is. The Guard refuses a request with 503 after another error, which must not read
// as "there is none".
func found[T any](record *T, err error) (*T, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return nil, auth.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return record, nil
}
