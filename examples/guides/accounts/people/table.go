package main

import (
	"context"
	"strings"
	"sync"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

// Table stands for the application's tables. As auth.People, it knows the accounts of a person.
type Table struct {
	auth.Memory
	mu   sync.Mutex
	rows map[login]row
}

type login struct {
	org     auth.OrgKey
	address string // in lower case, without outer spaces
}

type row struct{ account, password string }

var (
	_ auth.People           = (*Table)(nil)
	_ session.PasswordStore = (*Table)(nil)
)

func loginOf(org auth.OrgKey, address string) login {
	return login{org, strings.ToLower(strings.TrimSpace(address))}
}

// Add adds an account whose address is proved. The error is auth.ErrConflict if the org has the
// address already. In SQL a unique index sees to that.
func (t *Table) Add(a auth.Account, address, encoded string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := loginOf(a.Org, address)
	if _, ok := t.rows[key]; ok {
		return auth.ErrConflict
	}
	if t.rows == nil {
		t.rows = map[login]row{}
	}
	t.rows[key] = row{a.ID, encoded}
	t.PutAccount(a)
	return nil
}

// Password implements session.PasswordStore.
func (t *Table) Password(_ context.Context, org auth.OrgKey, address string) (account, encoded string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r, ok := t.rows[loginOf(org, address)]; ok {
		return r.account, r.password, nil
	}
	return "", "", auth.ErrNotFound
}
