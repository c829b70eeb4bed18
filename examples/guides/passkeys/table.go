package passkeys

import (
	"bytes"
	"context"
	"crypto/rand"
	"slices"
	"sync"

	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

// Owner is an account with its passkeys, as webauthn needs it.
type Owner struct {
	Org      auth.OrgKey
	Account  string
	Name     string // shown by authenticators
	Password string // encoded; empty: none
	Handle   []byte // random: an authenticator shows it to whoever holds it
	Passkeys []webauthn.Credential
}

// WebAuthnID implements webauthn.User, as the next ones do.
func (o Owner) WebAuthnID() []byte                         { return o.Handle }
func (o Owner) WebAuthnName() string                       { return o.Name }
func (o Owner) WebAuthnDisplayName() string                { return o.Name }
func (o Owner) WebAuthnCredentials() []webauthn.Credential { return o.Passkeys }

// Table stands for the application's tables of accounts and passkeys.
type Table struct {
	auth.Memory
	mu   sync.Mutex
	rows []Owner
}

var _ session.PasswordStore = (*Table)(nil)

// Add adds an account. encoded is its password, or empty.
func (t *Table) Add(org auth.OrgKey, account, name, encoded string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	handle := make([]byte, 64)
	rand.Read(handle) // never fails
	t.rows = append(t.rows, Owner{org, account, name, encoded, handle, nil})
	t.PutAccount(auth.Account{ID: account, Org: org})
}

// find returns a copy of the first row that is the one.
func (t *Table) find(is func(Owner) bool) (Owner, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.rows, is)
	if i < 0 {
		return Owner{}, auth.ErrNotFound
	}
	o := t.rows[i]
	o.Passkeys = slices.Clone(o.Passkeys)
	return o, nil
}

// Owner returns the owner with this account.
func (t *Table) Owner(org auth.OrgKey, account string) (Owner, error) {
	return t.find(func(o Owner) bool { return o.Org == org && o.Account == account })
}

// ByHandle returns the owner of a handle in this org. The passkeys of other orgs are unknown here.
func (t *Table) ByHandle(org auth.OrgKey, handle []byte) (Owner, error) {
	return t.find(func(o Owner) bool { return o.Org == org && bytes.Equal(o.Handle, handle) })
}

// maxPasskeys is how many passkeys an account has at most.
const maxPasskeys = 20

// Save adds a passkey, or replaces the one with its ID. In SQL the update has WHERE sign_count <= the
// new one, so that of two clones one is noticed.
func (t *Table) Save(org auth.OrgKey, account string, c webauthn.Credential) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.rows, func(o Owner) bool { return o.Org == org && o.Account == account })
	if i < 0 {
		return auth.ErrNotFound
	}
	all := slices.Clone(t.rows[i].Passkeys)
	if n := slices.IndexFunc(all, func(other webauthn.Credential) bool { return bytes.Equal(other.ID, c.ID) }); n >= 0 {
		all[n] = c
	} else if len(all) < maxPasskeys {
		all = append(all, c)
	} else {
		return auth.ErrConflict
	}
	t.rows[i].Passkeys = all
	return nil
}

// Password implements session.PasswordStore.
func (t *Table) Password(_ context.Context, org auth.OrgKey, login string) (account, encoded string, err error) {
	o, err := t.find(func(o Owner) bool { return o.Org == org && o.Account == login && o.Password != "" })
	return o.Account, o.Password, err
}
