package main

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tenantkit/tenantkit/auth"
)

// directory finds tenants, API clients, users and roles in the tables of the service.
type directory struct {
	db     *sql.DB
	cached *auth.CachedDirectory // of this directory: it knows how old an answer may be
}

// Org implements auth.Directory. Everything is stored under the ID, so that the subdomain can change.
func (d *directory) Org(ctx context.Context, code string) (*auth.Org, error) {
	var o auth.Org
	var former string
	// The tenant that has the subdomain, or else the last that had it.
	row := d.db.QueryRowContext(ctx, `
		SELECT id, subdomain, closed,
			COALESCE((SELECT string_agg(subdomain, ' ') FROM former_subdomains WHERE tenant_id = tenants.id), '')
		FROM tenants
		WHERE subdomain = $1 OR id = (SELECT tenant_id FROM former_subdomains WHERE subdomain = $1)
		ORDER BY subdomain = $1 DESC LIMIT 1`, code)
	err := row.Scan(&o.ID, &o.Code, &o.Disabled, &former)
	o.FormerCodes = strings.Fields(former)
	o.Session.RememberIdle = 30 * 24 * time.Hour // for people who ask at login
	return found(&o, err)
}

// App implements auth.Directory.
func (d *directory) App(ctx context.Context, clientKey string) (*auth.App, error) {
	var a auth.App
	row := d.db.QueryRowContext(ctx, `SELECT client_key, tenant_id, label, disabled FROM api_clients WHERE client_key = $1`, clientKey)
	return found(&a, row.Scan(&a.ClientKey, &a.Org, &a.Name, &a.Disabled))
}

// Account implements auth.Directory.
func (d *directory) Account(ctx context.Context, org auth.OrgKey, id string) (*auth.Account, error) {
	if !isUUID(id) {
		return nil, auth.ErrNotFound // PostgreSQL refuses the query, which would be 503
	}
	var a auth.Account
	var changed int64
	var roles string
	row := d.db.QueryRowContext(ctx, `
		SELECT id, tenant_id, disabled, changed,
			COALESCE((SELECT string_agg(role, ' ') FROM user_roles WHERE user_id = users.id), '')
		FROM users WHERE tenant_id = $1 AND id = $2`, org, id)
	err := row.Scan(&a.ID, &a.Org, &a.Disabled, &changed, &roles)
	a.Changed, a.Roles = time.UnixMilli(changed), strings.Fields(roles)
	a.TokensFrom = d.cached.TokensFrom(time.Time{}, a.Changed) // a token keeps its scope when its person loses a role
	return found(&a, err)
}

// Roles implements auth.Directory.
func (d *directory) Roles(ctx context.Context, org auth.OrgKey, names []string) (roles []auth.Role, err error) {
	rows, err := d.db.QueryContext(ctx, `SELECT name, scope FROM roles WHERE tenant_id = $1`, org)
	all, err := collect(rows, err, func(r *[2]string) []any { return []any{&r[0], &r[1]} })
	for _, r := range all {
		if slices.Contains(names, r[0]) {
			roles = append(roles, auth.Role{Name: r[0], Scope: strings.Fields(r[1])})
		}
	}
	return roles, err
}

// found returns auth.ErrNotFound if there is no row. Any other error refuses the request with 503.
func found[T any](record *T, err error) (*T, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return nil, auth.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return record, nil
}

func isUUID(id string) bool { return len(id) == 36 && uuid.Validate(id) == nil }

// collect scans all rows of a query.
func collect[T any](rows *sql.Rows, err error, fields func(*T) []any) (all []T, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := rows.Scan(fields(&v)...); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}
