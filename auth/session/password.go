package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/verbs"
)

// Longer ones are refused like wrong ones, because the time of a hash grows with its
// input.
const (
	maxLogin    = 256
	maxPassword = 1024
)

// verifyPassword returns the account that has this name and password, and the proof. Each attempt costs
// one hash, whether the account exists or not. With an error, account is whose name it is, or "".
func (m *Manager) verifyPassword(r *http.Request, t *auth.Tenant, login, password string) (account string, p Proof, err error) {
	account, p, err = m.checkPassword(r, t, login, password)
	switch {
	case errors.Is(err, ErrCredentials):
		auth.Emit(r.Context(), auth.Event{Verb: verbs.LoginWrong, Account: account})
	case errors.Is(err, ErrLocked):
		auth.Emit(r.Context(), auth.Event{Verb: verbs.LoginDelayed, Reason: MethodPassword})
	}
	return account, p, err
}

func (m *Manager) checkPassword(r *http.Request, t *auth.Tenant, login, password string) (account string, p Proof, err error) {
	p = Proof{At: m.stamp(), Methods: []string{MethodPassword}} // before the look-up: see authentication
	if m.PasswordStore == nil {
		return "", p, errors.New("session: Manager.PasswordStore is required for this")
	}
	if err := p.judge(t.Org, p.At); err != nil { // first, so that it says nothing about the account
		return "", p, err
	}
	if login == "" || len(login) > maxLogin || password == "" || len(password) > maxPassword {
		return "", p, errCredentials
	}
	by, attempts, err := m.passwordAttempts(r, t, login)
	if err != nil {
		return "", p, err
	}
	// Before anything is counted, so that a full queue causes no writes.
	place, err := m.hashes().enter(by)
	if err != nil {
		return "", p, throttled(err)
	}
	defer place.leave()
	counted, err := beginAny(r.Context(), m.now(), attempts)
	if err != nil {
		return "", p, err
	}
	account, err = m.verifyOnce(r.Context(), t, place, login, password)
	return account, p, counted.finish(r.Context(), err)
}

// verifyOnce looks the password up and hashes once.
func (m *Manager) verifyOnce(ctx context.Context, t *auth.Tenant, place *place, login, password string) (account string, err error) {
	account, encoded, err := m.lookUp(ctx, t, login)
	switch {
	case auth.IsNotFound(err):
		encoded = "" // hashed all the same, against the dummy
	case err != nil:
		return "", auth.Unavailable(err)
	}
	ok, rehash, err := place.verify(ctx, encoded, password)
	if ok && err == nil {
		// The password may have been replaced while it was hashed, by Passwords.Change or by the rehash of
		// another login: the caller must try again. The time of a change alone does not refuse a login that has
		// read the former password while a callback stored the new one.
		_, now, failed := m.lookUp(ctx, t, login)
		if err = auth.Unavailable(absent(failed, nil)); err == nil && now != encoded {
			err = errReplaced
		}
	}
	switch {
	case err != nil:
		return "", throttled(err)
	case !ok:
		if account != "" {
			t.Claim(auth.Claimed{Mechanism: Name, Account: account})
		}
		return account, errCredentials
	}
	if rehash {
		m.rehash(ctx, t, place.by, account, encoded, password)
	}
	return account, nil
}

var errReplaced = fmt.Errorf("%w: the password was replaced meanwhile", errQueueFull)

func (m *Manager) lookUp(ctx context.Context, t *auth.Tenant, login string) (account, encoded string, err error) {
	ctx, cancel := t.Bound(ctx)
	defer cancel()
	return m.PasswordStore.Password(ctx, t.Org.Key(), login)
}

// rehash stores a stronger encoding if the application implements Rehasher. A login
// succeeds even if this fails.
func (m *Manager) rehash(ctx context.Context, t *auth.Tenant, by party, account, old, password string) {
	passwords, ok := m.PasswordStore.(Rehasher)
	if !ok {
		return
	}
	encoded, err := m.hashes().hash(ctx, by, password)
	if err != nil {
		return
	}
	ctx, cancel := t.Bound(ctx)
	defer cancel()
	passwords.Rehash(ctx, t.Org.Key(), account, old, encoded)
}

func (m *Manager) hashes() *hashing {
	m.prepare.Do(func() { m.hashing = newHashing(m.Hasher) })
	return m.hashing
}

// throttled maps the errors of a full queue to an *auth.Error. A name that has all of
// its places must wait, as after too many wrong passwords. Other errors stay.
func throttled(err error) error {
	switch {
	case errors.Is(err, errNameFull):
		return locked(time.Second)
	case errors.Is(err, errQueueFull):
		return &auth.Error{Detail: auth.DetailThrottled, Err: err}
	}
	return err
}

// Hash encodes a password for the application to store. It uses the same queue as
// logins: see Queue for password hashes in the package documentation. Within a request
// it counts for the org and for the account that was admitted. Registrations have no
// account yet. They take no place of signed-in accounts, and need a limit that the
// application sets.
//
// Use login names of 1 to 256 bytes: Login refuses others as wrong, whatever was stored.
//
// The error has the detail auth.DetailOption for a password that is shorter than
// MinPassword or longer than 1024 bytes, auth.DetailThrottled if too many passwords are waiting, or
// auth.DetailLocked if too many of this account are. Otherwise it is the error of ctx
// or of the Hasher.
func (of Passwords) Hash(ctx context.Context, password string) (encoded string, err error) {
	if err := of.manager.checkNext(password); err != nil {
		return "", err
	}
	var by party
	if t := auth.TenantFrom(ctx); t != nil {
		by = accountParty(t, auth.From(ctx).Account)
	}
	encoded, err = of.manager.hashes().hash(ctx, by, password)
	return encoded, throttled(err)
}

// accountParty is for hashes without a known address. One invented address stands for all
// accounts of the org, and another for its registrations, which have none yet. They take
// no places of each other or of logins.
func accountParty(t *auth.Tenant, account string) party {
	if account == "" {
		return party{org: t.Org.Key(), address: "at the door of " + string(t.Org.Key())}
	}
	return party{t.Org.Key(), account, "in " + string(t.Org.Key())}
}

// Reauthenticate lets the account of the request's session authenticate again
// (step-up). The session gets a new token, and needs that require a fresh one admit it.
// login and password are those of Login, and must belong to the same account.
//
// A concurrent request with the old token is refused, and its reply clears the cookie.
// If that reply arrives last, the browser loses the new cookie and the user must log in
// again. Pages should send nothing else until this request is answered.
//
// Reauthenticate returns an error that wraps ErrCredentials, ErrLocked, ErrProof in an org that does not
// accept passwords, auth.ErrUnavailable, or auth.ErrNotFound if the session has ended meanwhile. Its
// detail is auth.DetailForbidden without a session, and auth.DetailThrottled if too
// many passwords are waiting.
func (m *Manager) Reauthenticate(w http.ResponseWriter, r *http.Request, login, password string) (auth.Principal, error) {
	t, p, err := m.admitted(r)
	if err != nil {
		return auth.Principal{}, err
	}
	proof, err := m.ownPassword(r, t, p, login, password)
	if err != nil {
		return auth.Principal{}, err
	}
	p.Authenticated = proof.At
	err = m.renewWithDevice(w, r, t, authentication{account: p.Account, Proof: proof})
	if err == nil {
		auth.Emit(r.Context(), auth.Event{Verb: verbs.SessionRenewed, Account: p.Account, Session: p.SessionID})
	}
	return p, err
}

// ownPassword is verifyPassword for the account of the session.
func (m *Manager) ownPassword(r *http.Request, t *auth.Tenant, p auth.Principal, login, password string) (Proof, error) {
	account, proof, err := m.verifyPassword(r, t, login, password)
	if err == nil && account != p.Account {
		err = errCredentials
	}
	return proof, err
}

// renewWithDevice gives the session of the request a new token, and its device a new
// cookie. The device's old cookie may be older than a change of the account, and so
// invalid.
func (m *Manager) renewWithDevice(w http.ResponseWriter, r *http.Request, t *auth.Tenant, p authentication) error {
	device, _, err := m.nextDevice(r, t, p)
	if err == nil {
		err = m.renew(w, r, t, p.At)
	}
	if err == nil {
		m.sendDevice(w, t, device)
	}
	return err
}

// renew gives the session of the request a new token.
func (m *Manager) renew(w http.ResponseWriter, r *http.Request, t *auth.Tenant, authenticated time.Time) error {
	old, ok := m.sessionCookie().hash(r, t)
	if !ok {
		return errNoSession
	}
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	token := newToken()
	s, err := m.Store.Get(ctx, t.Org.Key(), old) // for the end of its cookie
	if err == nil {
		err = m.Store.Replace(ctx, t.Org.Key(), old, Session{Hash: token.hash(), Authenticated: authenticated, Seen: m.stamp()})
	}
	if err != nil {
		return m.refusal(t, err)
	}
	m.sendSession(w, t, &s, token)
	return nil
}

// Change lets the account of the request's session replace its password by
// next. It verifies the present password first: login and password are those of
// Reauthenticate, and wrong ones count in the same way. That is the proof of now which other
// verbs ask a session for. It ends the account's other
// sessions and its incomplete logins. This session gets a new token, and counts as
// authenticated now.
//
// store must store the encoded next, and set auth.Account.Changed to changed, in one step: one
// statement, or one transaction. It is called again with a later time if it takes long. A concurrent
// login that has read the former password is then older than the change, and so invalid. If store
// fails, Passwords.Change returns its error and changes no session. next has MinPassword
// characters at least and 1024 bytes at most. The application checks its quality.
//
// Passwords.Change returns an error that wraps ErrCredentials, ErrLocked, ErrProof,
// auth.ErrUnavailable, or auth.ErrNotFound if this session has ended meanwhile. After
// an error that follows store, the password has changed: call Sessions.RevokeAll to end the
// sessions. The error's detail is auth.DetailForbidden without a session,
// auth.DetailOption for a password that no login accepts, and auth.DetailThrottled if
// too many passwords are waiting.
func (of Passwords) Change(w http.ResponseWriter, r *http.Request, login, password, next string,
	store func(ctx context.Context, encoded string, changed time.Time) error) error {
	m := of.manager
	t, p, err := m.admitted(r)
	if err = cmp.Or(err, m.checkNext(next)); err != nil {
		return err
	}
	if _, err := m.ownPassword(r, t, p, login, password); err != nil {
		return err
	}
	encoded, err := m.Passwords().Hash(r.Context(), next)
	if err != nil {
		return err
	}
	changed, err := m.storing(func(changed time.Time) error { return store(r.Context(), encoded, changed) })
	if err != nil {
		return err
	}
	auth.Emit(r.Context(), auth.Event{Verb: verbs.PasswordChanged, Account: p.Account})
	if err := m.endOwn(r.Context(), t, p.Account, p.SessionID, verbs.PasswordChanged); err != nil {
		return err
	}
	at := m.stamp()
	if at.Before(changed) {
		at = changed
	}
	return m.renewWithDevice(w, r, t, authentication{account: p.Account, Proof: Proof{At: at}})
}

// storing calls store, and again with a later time unless it took less than a millisecond: a login may
// have begun after the first time, and have read the former password.
func (m *Manager) storing(store func(changed time.Time) error) (changed time.Time, err error) {
	for range 2 {
		changed = wholeMillis(m.now().Add(time.Millisecond)) // rounded up
		if err = store(changed); err != nil || m.stamp().Before(changed) {
			break
		}
	}
	return changed, err
}

// minPassword is that of NIST SP 800-63B, section 5.1.1.1.
const minPassword = 8

// checkNext rejects a new password that is too short, or that no login would accept.
func (m *Manager) checkNext(next string) error {
	least := cmp.Or(max(m.MinPassword, 0), minPassword)
	if utf8.RuneCountInString(next) < least || len(next) > maxPassword {
		return &auth.Error{Detail: auth.DetailOption, Reason: fmt.Sprintf("a password has at least %d characters and at most %d bytes", least, maxPassword)}
	}
	return nil
}

// PasswordStore is the application's storage of the passwords of its accounts, as the
// Hasher has encoded them.
type PasswordStore interface {
	// Password returns the account that logs in under a name, and its encoded password.
	// It returns auth.ErrNotFound for an unknown name, and for an account without a
	// password. Any other error means that the outcome is unknown.
	//
	// It is called again after a right password was hashed. With Manager.DeviceKey or with auth.People
	// it is called before the attempt is counted, too.
	//
	// Attempts are counted by the login name, in which case and surrounding blanks do
	// not matter. Login names that differ only in these must belong to one account. org is
	// the org's Key.
	Password(ctx context.Context, org auth.OrgKey, login string) (account, encoded string, err error)
}

// Rehasher is an optional interface of a PasswordStore. It stores a stronger encoding after
// a login whose encoding is weaker than those the Hasher makes now.
type Rehasher interface {
	// Rehash replaces the account's encoded password by encoded if it is still old. An
	// error does not fail the login.
	Rehash(ctx context.Context, org auth.OrgKey, account, old, encoded string) error
}
