package signin

import (
	"context"
	"sync"

	"github.com/tenantkit/tenantkit/auth"
)

// Table stands for the application's tables: accounts, and identities with a unique index over all
// of their columns.
type Table struct {
	auth.Memory
	mu         sync.Mutex
	identities map[Identity]string
	joins      map[Identity][]string // by org and issuer
	addresses  map[string]string     // by account
}

var _ People = (*Table)(nil)

// Bind implements People.
func (t *Table) Bind(_ context.Context, id Identity, account string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if other, ok := t.identities[id]; ok && other != account {
		return auth.ErrConflict
	}
	if t.identities == nil {
		t.identities = map[Identity]string{}
	}
	t.identities[id] = account
	return nil
}

// LetJoin lets everybody whom the issuer vouches for join the org.
func (t *Table) LetJoin(org auth.OrgKey, issuer string, roles ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.joins == nil {
		t.joins = map[Identity][]string{}
	}
	t.joins[Identity{Org: org, Issuer: issuer}] = roles
}

// ByIdentity implements People.
func (t *Table) ByIdentity(_ context.Context, id Identity) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if account, ok := t.identities[id]; ok {
		return account, nil
	}
	return "", auth.ErrNotFound
}

// Joins implements People.
func (t *Table) Joins(_ context.Context, org auth.OrgKey, issuer string) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if roles, ok := t.joins[Identity{Org: org, Issuer: issuer}]; ok {
		return roles, nil
	}
	return nil, auth.ErrNotFound
}

// Add implements People.
func (t *Table) Add(_ context.Context, a auth.Account, id Identity, address string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if account, ok := t.identities[id]; ok {
		return account, nil
	}
	if t.identities == nil {
		t.identities = map[Identity]string{}
	}
	if t.addresses == nil {
		t.addresses = map[string]string{}
	}
	t.PutAccount(a)
	t.identities[id], t.addresses[a.ID] = a.ID, address
	return a.ID, nil
}

// Address returns the address that is shown for the account.
func (t *Table) Address(account string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.addresses[account]
}
