package coming

import (
	"context"
	"sync"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

// Users stands for the service's table of users. The e-mail address is the account.
type Users struct {
	mu        sync.Mutex
	passwords map[string]string // encoded, by e-mail address
}

var (
	_ session.PasswordStore = (*Users)(nil)
	_ session.Rehasher      = (*Users)(nil)
)

// Put adds a user, or replaces the encoded password.
func (u *Users) Put(email, encoded string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.passwords == nil {
		u.passwords = map[string]string{}
	}
	u.passwords[email] = encoded
}

// Password implements session.PasswordStore.
func (u *Users) Password(_ context.Context, _ auth.OrgKey, email string) (account, encoded string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	encoded, ok := u.passwords[email]
	if !ok {
		return "", "", auth.ErrNotFound
	}
	return email, encoded, nil
}

// Rehash implements session.Rehasher. In SQL it is one statement:
//
//	UPDATE users SET password = $3 WHERE email = $1 AND password = $2
func (u *Users) Rehash(_ context.Context, _ auth.OrgKey, account, old, encoded string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.passwords[account] == old {
		u.passwords[account] = encoded
	}
	return nil
}
