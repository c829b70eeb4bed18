package main

import (
	"context"

	"github.com/tenantkit/tenantkit/auth"
)

// The store is the Guard's auth.Directory: it finds orgs, apps, accounts and roles
// in the platform's own records. The Guard asks store.found, which remembers a
// result for directoryStale.
var _ auth.Directory = (*store)(nil)

func (s *store) Org(ctx context.Context, code string) (*auth.Org, error) {
	return find[auth.Org](ctx, s.db, orgRow(code))
}

func (s *store) App(ctx context.Context, clientKey string) (*auth.App, error) {
	a, err := find[app](ctx, s.db, row{table: "platform_apps", where: "client_key = $1", args: []any{clientKey}})
	if err != nil {
		return nil, err
	}
	return &a.App, nil
}

func (s *store) Account(ctx context.Context, org auth.OrgKey, id string) (*auth.Account, error) {
	a, err := s.account(ctx, org, id)
	if err != nil {
		return nil, err
	}
	return &a.Account, nil
}

func (s *store) Roles(ctx context.Context, org auth.OrgKey, names []string) ([]auth.Role, error) {
	var roles []auth.Role
	for _, name := range names {
		role, err := find[auth.Role](ctx, s.db, roleRow(org, name))
		switch {
		case err == nil:
			roles = append(roles, *role)
		case !auth.IsNotFound(err):
			return nil, err
		}
	}
	return roles, nil
}
