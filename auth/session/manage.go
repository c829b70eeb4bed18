package session

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// Reauthenticate lets the account of the session that the request was admitted
// with prove itself again (step-up). The session gets a new token, and is fresh
// for needs that ask for it. login and password are those of Login, and must be
// the account's own.
//
// A request that is still on its way with the old token is refused, and its
// reply clears the cookie: should that reply come last, the browser has lost the
// new one, and has to log in. Pages send nothing else until this is answered.
//
// It returns an error that wraps ErrCredentials, ErrLocked, auth.ErrNotFound if
// the session has ended meanwhile, or auth.ErrUnavailable. Its detail is
// auth.DetailForbidden without a session, and auth.DetailThrottled if too many
// passwords are waiting.
func (m *Manager) Reauthenticate(w http.ResponseWriter, r *http.Request, login, password string) (auth.Principal, error) {
	t, err := tenant(r.Context())
	if err != nil {
		return auth.Principal{}, err
	}
	p := auth.From(r.Context())
	if p.SessionID == "" {
		return auth.Principal{}, errNoSession
	}
	account, proven, err := m.password(r, t, login, password)
	switch {
	case err != nil:
		return auth.Principal{}, err
	case account != p.Account:
		return auth.Principal{}, errCredentials
	}
	p.Authenticated = proven
	if err := m.renew(w, r, t, proven); err != nil {
		return p, err
	}
	m.giveDevice(w, t, proof{account, proven}) // the one it has may be older than a change of the account
	return p, nil
}

// errNoSession answers other mechanisms, where the route does not.
var errNoSession = &auth.Error{Detail: auth.DetailForbidden, Reason: "a session is required",
	Err: errors.New("session: the request was not admitted with a session")}

// renew gives the session of the request a new token.
func (m *Manager) renew(w http.ResponseWriter, r *http.Request, t *auth.Tenant, authenticated time.Time) error {
	old, ok := m.sessionCookie().hash(r, t)
	if !ok {
		return errNoSession
	}
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	token := newSecret()
	if err := m.Store.Replace(ctx, old, Session{Hash: token.hash(), Authenticated: authenticated, Seen: m.stamp()}); err != nil {
		return m.refusal(t, err)
	}
	m.sessionCookie().set(w, t, token)
	return nil
}

// Logout ends the session of the request and clears its cookies. It succeeds
// when there is none. Once it has returned nil, no request that starts gets in
// with that session, and none that is on its way brings it back.
//
// It returns an error that wraps auth.ErrUnavailable. Its detail is
// auth.DetailCrossOrigin for a page of another origin, and auth.DetailAmbiguous
// for more cookies of one name than a browser sends.
func (m *Manager) Logout(w http.ResponseWriter, r *http.Request) error {
	t, err := tenant(r.Context())
	if err != nil {
		return err
	}
	if err := m.SameOrigin(r); err != nil {
		return err
	}
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	if err := m.end(ctx, r, t); err != nil {
		return err // the cookies stay: there may be a session yet
	}
	m.clear(w, r, t, m.sessionCookie())
	m.clear(w, r, t, m.ticketCookie())
	return nil
}

// mostCookies is how many of one name are ended. Browsers have one.
const mostCookies = 16

// end ends what the cookies of a request open: where somebody has planted a
// second one, both.
func (m *Manager) end(ctx context.Context, r *http.Request, t *auth.Tenant) error {
	for _, name := range []cookieName{m.sessionCookie(), m.ticketCookie()} {
		// Refused whole: each one is a write, asked for by nobody who is known.
		if _, count := name.read(r, t); count > mostCookies {
			return &auth.Error{Detail: auth.DetailAmbiguous}
		}
		for value := range name.values(r, t) {
			s, ok := parseSecret(value)
			if !ok {
				continue
			}
			if err := m.Store.Delete(ctx, s.hash()); err != nil {
				return unavailable(err)
			}
		}
	}
	return nil
}

// clear lets the browser forget a cookie that it sent.
func (m *Manager) clear(w http.ResponseWriter, r *http.Request, t *auth.Tenant, name cookieName) {
	if name.isSent(r, t) {
		http.SetCookie(w, name.cleared(t))
	}
}

// List returns the account's open sessions, the oldest first. An empty account has
// none. The error wraps auth.ErrUnavailable.
func (m *Manager) List(ctx context.Context, org *auth.Org, account string) ([]Session, error) {
	if account == "" {
		return []Session{}, nil // not asked for: a store might take it for everybody's
	}
	ctx, cancel := bound(ctx)
	defer cancel()
	records, err := m.Store.List(ctx, org.Code, account)
	if err != nil {
		return nil, unavailable(err)
	}
	now := m.now()
	return slices.DeleteFunc(records, func(s Session) bool { return s.open(org, now) != nil }), nil
}

// Revoke ends one session of the account, from the next request on. It returns
// an error that wraps auth.ErrNotFound if the account has none of this id, or
// auth.ErrUnavailable. An empty account has none, and none has an empty id.
func (m *Manager) Revoke(ctx context.Context, org, account, id string) error {
	if account == "" || id == "" {
		return auth.ErrNotFound // not asked for: a store might take it for any
	}
	ctx, cancel := bound(ctx)
	defer cancel()
	err := m.Store.DeleteID(ctx, org, account, id)
	if err == nil || auth.IsNotFound(err) {
		return err
	}
	return unavailable(err)
}

// RevokeAll ends the account's sessions, from the next request on, and its
// logins that are not complete; but not the session whose id is except. It returns
// how many sessions it ended.
//
// An empty account is an error, and nothing is ended: a handler that takes it from
// the zero auth.Principal has a mistake. Any other error wraps auth.ErrUnavailable.
func (m *Manager) RevokeAll(ctx context.Context, org, account, except string) (int, error) {
	if account == "" {
		return 0, errors.New("session: RevokeAll without an account")
	}
	ctx, cancel := bound(ctx)
	defer cancel()
	n, err := m.Store.DeleteAll(ctx, org, account, except)
	if err != nil {
		return n, unavailable(err)
	}
	return n, nil
}

// RevokeOrg ends the sessions of all accounts of the org, from the next request
// on, and their logins that are not complete. The session of the request that asks
// for it ends, too. It returns how many sessions it ended.
//
// An empty org is an error, and nothing is ended. Any other error wraps
// auth.ErrUnavailable. Within a request the Guard's Timeout applies, which may be
// too short for a store that holds very many sessions of one org.
func (m *Manager) RevokeOrg(ctx context.Context, org string) (int, error) {
	if org == "" {
		return 0, errors.New("session: RevokeOrg without an org")
	}
	ctx, cancel := bound(ctx)
	defer cancel()
	n, err := m.Store.DeleteOrg(ctx, org)
	if err != nil {
		return n, unavailable(err)
	}
	return n, nil
}

// bound is Tenant.Bound for the verbs that may be called outside a request, where
// the caller's context is all there is.
func bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if t := auth.TenantFrom(ctx); t != nil {
		return t.Bound(ctx)
	}
	return ctx, func() {}
}
