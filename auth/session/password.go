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
	case auth.IsNotFound(err):
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

// throttled answers a line that has no place for this one: a name that has all of
// its own waits, as one with too many wrong tries does. Other errors stay.
func throttled(err error) error {
	switch {
	case errors.Is(err, errNameFull):
		return locked(time.Second)
	case errors.Is(err, errQueueFull):
		return &auth.Error{Detail: auth.DetailThrottled, Err: err}
	}
	return err
}

// Hash encodes a password for the application to keep, under the same bounds on
// parallel work as logins: see What waits for a hash in the package's doc. Within a
// request it counts for the org, and for the account that was admitted; who registers
// is nobody yet, takes no place of those who are, and needs a bound of the application's
// own. Take passwords of 1 to
// 1024 bytes, for logins by names of 1 to 256: Login refuses others as wrong,
// whatever was kept.
//
// The error has the detail auth.DetailThrottled if too many are waiting, or
// auth.DetailLocked if too many of the account are; it is that of ctx if it ends
// meanwhile, or the Hasher's.
func (m *Manager) Hash(ctx context.Context, password string) (encoded string, err error) {
	var by party
	if t := auth.TenantFrom(ctx); t != nil {
		// No address is known here. One for all of the org is none of those that log in,
		// and those who register, whoever they are, do not take the places of the others.
		by = party{t.Org.Code, auth.From(ctx).Account, "in " + t.Org.Code}
		if by.name == "" {
			by.address = "at the door of " + t.Org.Code
		}
	}
	encoded, err = m.hashes().hash(ctx, by, password)
	return encoded, throttled(err)
}

// ChangePassword lets the account of the session that the request was admitted with
// choose another password, by the one it has. It ends the account's other sessions and
// the logins that are not complete, and gives this session a new token; that session
// has proven itself as of now. login and password are those of Reauthenticate, and
// wrong ones are counted as there.
//
// set keeps next, as the Hasher has encoded it. Only after that it sets
// auth.Account.Changed to the present time, rounded up to a millisecond: a login that
// is looking at the former password meanwhile is older, and so over. What set returns
// is returned, and leaves the sessions as they are. next has 1 to 1024 bytes; its
// quality is the application's.
//
// It returns an error that wraps ErrCredentials, ErrLocked or auth.ErrUnavailable, or
// auth.ErrNotFound if this session has ended meanwhile. One that follows set leaves the
// password changed: RevokeAll does the rest. Its detail is auth.DetailForbidden without
// a session, auth.DetailOption for a password that no login takes, and
// auth.DetailThrottled if too many passwords are waiting.
func (m *Manager) ChangePassword(w http.ResponseWriter, r *http.Request, login, password, next string,
	set func(ctx context.Context, encoded string) error) error {
	t, err := tenant(r.Context())
	if err != nil {
		return err
	}
	p := auth.From(r.Context())
	if p.SessionID == "" {
		return errNoSession
	}
	if next == "" || len(next) > maxPassword {
		return &auth.Error{Detail: auth.DetailOption, Reason: "a password has 1 to 1024 bytes"}
	}
	account, _, err := m.password(r, t, login, password)
	switch {
	case err != nil:
		return err
	case account != p.Account:
		return errCredentials
	}
	encoded, err := m.Hash(r.Context(), next)
	if err != nil {
		return err
	}
	if err := set(r.Context(), encoded); err != nil {
		return err
	}
	if _, err := m.RevokeAll(r.Context(), t.Org.Code, account, p.SessionID); err != nil {
		return err
	}
	// Not before Changed, which may be rounded up: it would end this session, too.
	proven := m.stamp().Add(time.Millisecond)
	if err := m.renew(w, r, t, proven); err != nil {
		return err
	}
	m.giveDevice(w, t, proof{account, proven})
	return nil
}
