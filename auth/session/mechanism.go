package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
)

// Presented implements auth.Mechanism.
func (m *Manager) Presented(r *http.Request) auth.Presence {
	if m.sessionCookie().isSent(r, auth.TenantFrom(r.Context())) {
		return auth.Cookie
	}
	return auth.Absent
}

// Authenticate implements auth.Mechanism. It records nothing: that the session
// was used is written once the request has met its need.
//
// Details of its errors are auth.DetailAmbiguous, auth.DetailSessionExpired and
// auth.DetailLoggedInElsewhere; after the need, auth.DetailCrossOrigin. Any other
// one wraps auth.ErrUnavailable, and keeps the cookie.
func (m *Manager) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	value, count := m.sessionCookie().read(r, t)
	if count > 1 {
		return auth.Principal{}, &auth.Error{Detail: auth.DetailAmbiguous}
	}
	token, ok := parseSecret(value)
	if !ok {
		return auth.Principal{}, m.ended(t, auth.DetailSessionExpired, errors.New("session: malformed cookie"))
	}
	hash := token.hash()
	s, err := m.Store.Get(ctx, hash)
	now := m.now() // after the look-up, which may have been slow
	if err == nil {
		err = s.open(t.Org, now)
	}
	if err != nil {
		return auth.Principal{}, m.refusal(t, err)
	}
	account, err := t.Account(ctx, s.Account)
	if err == nil && s.isOlderThan(account) {
		err = errChanged
	}
	if err != nil {
		return auth.Principal{}, m.refusal(t, err)
	}
	p, used, crossOrigin := principal(&s, account), seen(t.Org, now), m.SameOrigin(r)
	if crossOrigin == nil && !used.After(s.Seen) {
		return p, nil // as of most requests: nothing is left to do
	}
	return p.OnAdmit(func(ctx context.Context, _ *http.Request) error {
		if crossOrigin != nil {
			return crossOrigin // only now: that the need is not met is said first
		}
		return m.touch(ctx, t, hash, used)
	}), nil
}

// What makes a record no open session. They are found out with the request and
// not by the store, so that a change of the org's settings holds at once.
var (
	errForeign = fmt.Errorf("session: of another org: %w", auth.ErrNotFound)
	errTicket  = fmt.Errorf("session: a ticket is no session: %w", auth.ErrNotFound)
	errIdle    = fmt.Errorf("session: unused for too long: %w", auth.ErrNotFound)
	errMax     = fmt.Errorf("session: past its absolute end: %w", auth.ErrNotFound)
	errChanged = fmt.Errorf("session: older than the account's latest change: %w", auth.ErrNotFound)
)

// open tells whether a record is a session of the org that has not ended.
func (s *Session) open(org *auth.Org, now time.Time) error {
	switch {
	case s.Org != org.Code:
		return errForeign
	case s.Ticket != "":
		return errTicket
	case now.Sub(s.Seen) >= idle(org):
		return errIdle
	case !now.Before(s.Expires), now.Sub(s.Created) >= longest(org):
		return errMax
	}
	return nil
}

// isOlderThan tells whether the account was changed since it proved itself for
// this record.
func (s *Session) isOlderThan(account *auth.Account) bool {
	return wholeMillis(account.Changed).After(s.Authenticated)
}

func principal(s *Session, account *auth.Account) auth.Principal {
	return auth.Principal{
		Org:           s.Org,
		Account:       s.Account,
		Caller:        s.Account,
		Mechanism:     Name,
		Roles:         slices.Clone(account.Roles),
		Scope:         scope.Unscoped(),
		Granted:       scope.Unscoped(),
		SessionID:     s.ID,
		Authenticated: s.Authenticated,
	}
}

// touch notes that the session was used, for a request that has met its need.
func (m *Manager) touch(ctx context.Context, t *auth.Tenant, hash [32]byte, seen time.Time) error {
	if err := m.Store.Touch(ctx, hash, seen); err != nil {
		return m.refusal(t, err) // ended while this request was on its way
	}
	return nil
}

// seen is a time in steps of idle/20. All requests within a step write the same
// time, which a store has to write once; a session ends at most that step early.
func seen(org *auth.Org, at time.Time) time.Time {
	now, step := at.UnixMilli(), max(1, (idle(org)/20).Milliseconds())
	return time.UnixMilli(now - now%step).UTC()
}

// refusal gives an error of the store or the directory its place in the table.
func (m *Manager) refusal(t *auth.Tenant, err error) error {
	switch {
	case errors.Is(err, auth.ErrUnavailable):
		return unavailable(err) // first: see auth.IsNotFound
	case errors.Is(err, ErrReplaced) && t.Org.Session.PerAccount == 1:
		return m.ended(t, auth.DetailLoggedInElsewhere, err)
	case errors.Is(err, ErrReplaced), auth.IsNotFound(err):
		return m.ended(t, auth.DetailSessionExpired, err)
	}
	return unavailable(err)
}

// ended refuses for good, and lets the browser forget the cookie.
func (m *Manager) ended(t *auth.Tenant, detail string, err error) error {
	return &auth.Error{Detail: detail, Cookie: m.sessionCookie().cleared(t), Err: err}
}

// unavailable hides an absence that a store which did not answer wraps: whoever
// asks for one would find it.
func unavailable(err error) error {
	if errors.Is(err, auth.ErrNotFound) {
		err = errors.New(err.Error())
	}
	return fmt.Errorf("%w: session: %w", auth.ErrUnavailable, err)
}

// Challenge implements auth.Mechanism.
func (m *Manager) Challenge(err error) string {
	if e, ok := errors.AsType[*auth.Error](err); ok && e.Detail == auth.DetailScope {
		return ""
	}
	return "Session"
}
