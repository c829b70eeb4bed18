package main

import (
	"context"
	"errors"

	"github.com/tenantkit/tenantkit/auth"
)

// The store is the Guard's auth.Directory: it finds orgs, apps, accounts and
// roles among the platform's own records.
var _ auth.Directory = (*memory)(nil)

// inOrg names what is unique within an org.
type inOrg struct{ org, name string }

func (m *memory) Org(ctx context.Context, code string) (*auth.Org, error) {
	return find(ctx, m, m.orgs, code)
}

func (m *memory) App(ctx context.Context, clientKey string) (*auth.App, error) {
	a, err := find(ctx, m, m.apps, clientKey)
	if err != nil {
		return nil, err
	}
	return &a.App, nil
}

func (m *memory) Account(ctx context.Context, org, id string) (*auth.Account, error) {
	a, err := m.account(ctx, org, id)
	if err != nil {
		return nil, err
	}
	return &a.Account, nil
}

func (m *memory) Roles(ctx context.Context, org string, names []string) ([]auth.Role, error) {
	var roles []auth.Role
	for _, name := range names {
		role, err := find(ctx, m, m.roles, inOrg{org, name})
		switch {
		case err == nil:
			roles = append(roles, *role)
		case !errors.Is(err, auth.ErrNotFound):
			return nil, err
		}
	}
	return roles, nil
}

func (m *memory) putOrg(ctx context.Context, o auth.Org) error {
	return put(ctx, m, m.orgs, o.Code, o)
}

func (m *memory) putRole(ctx context.Context, org string, r auth.Role) error {
	return put(ctx, m, m.roles, inOrg{org, r.Name}, r)
}
