package session

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// Longer ones are refused like wrong ones: hashing takes its input's time.
const (
	maxLogin    = 256
	maxPassword = 1024
)

// password returns the account whose name and password these are, and since
// when they are known to be. Each try costs one hash, whether there is such an
// account or not.
func (m *Manager) password(r *http.Request, t *auth.Tenant, login, password string) (account string, proven time.Time, err error) {
	proven = m.stamp() // before the look-up: see proof
	if m.Passwords == nil {
		return "", proven, errors.New("session: Manager.Passwords is required for this")
	}
	if login == "" || len(login) > maxLogin || password == "" || len(password) > maxPassword {
		return "", proven, errCredentials
	}
	try := m.login(r, t, login)
	// Before anything is counted: who has too many places makes the store no work.
	place, err := m.hashes().enter(try.by)
	if err != nil {
		return "", proven, throttled(err)
	}
	defer place.leave()
	counted, err := try.count(r.Context(), m.now())
	if err != nil {
		return "", proven, err
	}
	account, err = m.compare(r.Context(), t, place, login, password)
	counted.end(r.Context(), err)
	if err != nil {
		return "", proven, err
	}
	return account, proven, nil
}

// compare looks the password up and hashes once.
func (m *Manager) compare(ctx context.Context, t *auth.Tenant, place *place, login, password string) (account string, err error) {
	account, encoded, err := m.lookUp(ctx, t, login)
	switch {
	case isMissing(err):
		encoded = "" // hashed all the same, against a password nobody has
	case err != nil:
		return "", unavailable(err)
	}
	ok, rehash, err := place.verify(ctx, encoded, password)
	switch {
	case err != nil:
		return "", throttled(err)
	case !ok:
		return "", errCredentials
	}
	if rehash {
		m.rehash(ctx, t, place.by, account, encoded, password)
	}
	return account, nil
}

func (m *Manager) lookUp(ctx context.Context, t *auth.Tenant, login string) (account, encoded string, err error) {
	ctx, cancel := t.Bound(ctx)
	defer cancel()
	return m.Passwords.Password(ctx, t.Org.Code, login)
}

// rehash stores a stronger encoding where the application takes one. It is an
// improvement and no condition: the login goes on without it.
func (m *Manager) rehash(ctx context.Context, t *auth.Tenant, by party, account, old, password string) {
	passwords, ok := m.Passwords.(Rehasher)
	if !ok {
		return
	}
	encoded, err := m.hashes().hash(ctx, by, password)
	if err != nil {
		return
	}
	ctx, cancel := t.Bound(ctx)
	defer cancel()
	passwords.Rehash(ctx, t.Org.Code, account, old, encoded)
}

func (m *Manager) hashes() *hashing {
	m.prepare.Do(func() { m.hashing.hasher = m.Hasher })
	return &m.hashing
}

// throttled answers a line that has no place for this one. Other errors stay.
func throttled(err error) error {
	if errors.Is(err, errQueueFull) {
		return &auth.Error{Detail: auth.DetailThrottled, Err: err}
	}
	return err
}

// Hash encodes a password for the application to keep, under the same bounds on
// parallel work as logins: see What waits for a hash in the package's doc. Within a
// request it counts for the org, and for the account that was admitted; who registers
// is nobody yet, and needs a bound of the application's own. Take passwords of 1 to
// 1024 bytes, for logins by names of 1 to 256: Login refuses others as wrong,
// whatever was kept.
//
// The error has the detail auth.DetailThrottled if too many are waiting, and is
// that of ctx if it ends meanwhile, or the Hasher's.
func (m *Manager) Hash(ctx context.Context, password string) (encoded string, err error) {
	var by party
	if t := auth.TenantFrom(ctx); t != nil {
		// No address is known here. One for all of the org is none of those that log in.
		by = party{t.Org.Code, auth.From(ctx).Account, "in " + t.Org.Code}
	}
	encoded, err = m.hashes().hash(ctx, by, password)
	return encoded, throttled(err)
}
