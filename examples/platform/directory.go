package main

import (
	"context"

	"github.com/tenantkit/tenantkit/auth"
)

// The store is the Guard's auth.Directory: it finds orgs, apps, accounts and
// roles among the platform's own records. In front of it stands store.found, which
// answers from memory what was looked up less than directoryStale ago.
var _ auth.Directory = (*store)(nil)

// inOrg names what is unique within an org.
type inOrg struct{ org, name string }

func (s *store) Org(ctx context.Context, code string) (*auth.Org, error) {
	return find[auth.Org](ctx, s, "SELECT record FROM platform_orgs WHERE code = $1", code)
}

func (s *store) App(ctx context.Context, clientKey string) (*auth.App, error) {
	a, err := find[app](ctx, s, "SELECT record FROM platform_apps WHERE client_key = $1", clientKey)
	if err != nil {
		return nil, err
	}
	return &a.App, nil
}

func (s *store) Account(ctx context.Context, org, id string) (*auth.Account, error) {
	a, err := s.account(ctx, org, id)
	if err != nil {
		return nil, err
	}
	return &a.Account, nil
}

func (s *store) Roles(ctx context.Context, org string, names []string) ([]auth.Role, error) {
	var roles []auth.Role
	for _, name := range names {
		role, err := find[auth.Role](ctx, s, "SELECT record FROM platform_roles WHERE org = $1 AND name = $2", org, name)
		switch {
		case err == nil:
			roles = append(roles, *role)
		case !auth.IsNotFound(err):
			return nil, err
		}
	}
	return roles, nil
}

func (s *store) putOrg(ctx context.Context, o auth.Org) error {
	return s.exec(ctx, o.Code, nil, `INSERT INTO platform_orgs (code, record) VALUES ($1, $2)
		ON CONFLICT (code) DO UPDATE SET record = excluded.record`, o.Code, record(o))
}

func (s *store) putRole(ctx context.Context, org string, r auth.Role) error {
	return s.exec(ctx, org, nil, `INSERT INTO platform_roles (org, name, record) VALUES ($1, $2, $3)
		ON CONFLICT (org, name) DO UPDATE SET record = excluded.record`, org, r.Name, record(r))
}
