package auth

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// Memory is a Directory with People in memory, for tests, examples and small fixed setups. It stores
// copies. The zero Memory is empty and ready to use. Its methods are safe for concurrent use.
type Memory struct {
	mu       sync.RWMutex
	orgs     map[string]*Org
	apps     map[string]*App
	accounts map[inOrg]*Account
	roles    map[inOrg]Role
}

// inOrg is a key that is unique within an org.
type inOrg struct {
	org  OrgKey
	name string
}

// PutOrg adds or replaces an org, by its code.
func (m *Memory) PutOrg(o Org) { put(m, &m.orgs, o.Code, &o) }

// PutApp adds or replaces an app, by its client key.
func (m *Memory) PutApp(a App) { put(m, &m.apps, a.ClientKey, &a) }

// DeleteApp removes an app.
func (m *Memory) DeleteApp(clientKey string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.apps, clientKey)
}

// PutAccount adds or replaces an account, by its org and id.
func (m *Memory) PutAccount(a Account) {
	a.Roles = slices.Clone(a.Roles)
	put(m, &m.accounts, inOrg{a.Org, a.ID}, &a)
}

// PutRole adds or replaces a role of an org, by its name.
func (m *Memory) PutRole(org OrgKey, r Role) {
	r.Scope = slices.Clone(r.Scope)
	put(m, &m.roles, inOrg{org, r.Name}, r)
}

func put[K comparable, V any](m *Memory, in *map[K]V, key K, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if *in == nil {
		*in = make(map[K]V)
	}
	(*in)[key] = value
}

// Org returns an org by its code.
func (m *Memory) Org(ctx context.Context, code string) (*Org, error) {
	return get(ctx, m, &m.orgs, code)
}

// App returns an app by its client key.
func (m *Memory) App(ctx context.Context, clientKey string) (*App, error) {
	return get(ctx, m, &m.apps, clientKey)
}

// Account returns an account of an org by its id.
func (m *Memory) Account(ctx context.Context, org OrgKey, id string) (*Account, error) {
	return get(ctx, m, &m.accounts, inOrg{org, id})
}

// AccountOf implements People.
func (m *Memory) AccountOf(ctx context.Context, org OrgKey, person string) (*Account, error) {
	all, err := m.Accounts(ctx, person)
	for i := range all {
		if all[i].Org == org {
			return &all[i], nil
		}
	}
	return nil, cmp.Or(err, ErrNotFound)
}

// Accounts implements People. It reads all accounts.
func (m *Memory) Accounts(ctx context.Context, person string) (found []Account, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, a := range m.accounts {
		if person != "" && a.Person == person {
			found = append(found, *a)
		}
	}
	return found, ctx.Err()
}

// Roles returns the roles of an org with these names.
func (m *Memory) Roles(ctx context.Context, org OrgKey, names []string) ([]Role, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var roles []Role
	for _, name := range names {
		if role, ok := m.roles[inOrg{org, name}]; ok {
			roles = append(roles, role)
		}
	}
	return roles, nil
}

// get takes a pointer to the map, because the map may be made while get waits for the lock.
func get[K comparable, V any](ctx context.Context, m *Memory, from *map[K]*V, key K) (*V, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if value, ok := (*from)[key]; ok {
		return value, nil
	}
	return nil, ErrNotFound
}
