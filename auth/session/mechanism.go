package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/listing"
	"github.com/tenantkit/tenantkit/scope"
)

// Name implements auth.Mechanism.
func (m *Manager) Name() string { return Name }

// Presented implements auth.Mechanism. The name of the cookie has the org, so outside a Guard
// there is none.
func (m *Manager) Presented(r *http.Request) auth.Presence {
	if t := auth.TenantFrom(r.Context()); t != nil && m.sessionCookie().isSent(r, t) {
		return auth.InCookie
	}
	return auth.Absent
}

// Authenticate implements auth.Mechanism. It writes nothing itself: the use of the
// session is written after the request has met its need.
//
// The details of its errors are auth.DetailAmbiguous, auth.DetailSessionExpired and
// auth.DetailLoggedInElsewhere, and after the need auth.DetailCrossOrigin. With any
// other error the cookie stays. It wraps auth.ErrUnavailable, except if the Manager was
// given to Guards of different settings.
func (m *Manager) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	if err := m.Bind(t.Settings()); err != nil {
		return auth.Principal{}, err
	}
	value, count := m.sessionCookie().read(r, t)
	if count > 1 {
		return auth.Principal{}, &auth.Error{Detail: auth.DetailAmbiguous}
	}
	token, ok := parseToken(value)
	if !ok {
		return auth.Principal{}, m.refusal(t, errMalformed)
	}
	hash := token.hash()
	s, account, now, err := m.current(ctx, t, hash)
	if err == nil {
		err = m.checkOrigin(ctx, t, &s, account)
	}
	if err != nil {
		return auth.Principal{}, m.refusal(t, err)
	}
	p, err := m.principal(ctx, t, &s, account)
	if err != nil {
		return auth.Principal{}, err
	}
	used, crossOrigin := seen(t.Org, now), m.SameOrigin(r)
	if crossOrigin == nil && !used.After(s.Seen) {
		return p, nil // most requests: there is nothing to write
	}
	return p.OnAdmit(func(ctx context.Context, _ *http.Request) error {
		if crossOrigin != nil {
			return crossOrigin // only now, so that an unmet need is reported first
		}
		return m.refusal(t, m.Store.Touch(ctx, t.Org.Key(), hash, used)) // the session may have ended meanwhile
	}), nil
}

// Readmit implements auth.Readmitter. A request that stays open does not count as a use of its
// session.
func (m *Manager) Readmit(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	return m.Authenticate(ctx, r, t) // which writes nothing
}

// Why a record is not a current session. Each request checks this, and not the store, so
// that a change of the org's settings takes effect at once.
var (
	errMalformed = fmt.Errorf("session: malformed cookie: %w", auth.ErrNotFound)
	errForeign   = fmt.Errorf("session: of another org: %w", auth.ErrNotFound)
	errTicket    = fmt.Errorf("session: a ticket is no session: %w", auth.ErrNotFound)
	errIdle      = fmt.Errorf("session: unused for too long: %w", auth.ErrNotFound)
	errMax       = fmt.Errorf("session: past its absolute end: %w", auth.ErrNotFound)
	errOrigin    = fmt.Errorf("session: entered from a session that is over: %w", auth.ErrNotFound)
	errChanged   = fmt.Errorf("session: older than the account's latest change: %w", auth.ErrNotFound)
)

// check returns an error unless the record is a session of the org that has not ended.
func (s *Session) check(org *auth.Org, now time.Time) error {
	idle, most := s.limits(org)
	switch {
	case s.Org != org.Key():
		return errForeign
	case s.Ticket != "":
		return errTicket
	case now.Sub(s.Seen) >= idle:
		return errIdle
	case !now.Before(s.Created.Add(most)), !now.Before(s.Expires):
		return errMax
	}
	return nil
}

// current returns the session of the hash, and its account, if neither the org's settings nor a change of
// the account have ended it now.
func (m *Manager) current(ctx context.Context, t *auth.Tenant, hash [32]byte) (s Session, account *auth.Account, now time.Time, err error) {
	s, err = m.Store.Get(ctx, t.Org.Key(), hash)
	now = m.now() // after the look-up, which may be slow
	if err == nil {
		err = s.check(t.Org, now)
	}
	if err == nil {
		account, err = s.unchanged(ctx, t)
	}
	return s, account, now, err
}

// unchanged returns the account of the record, or errChanged if it was changed after it
// authenticated for the record.
func (s *Session) unchanged(ctx context.Context, t *auth.Tenant) (*auth.Account, error) {
	account, err := t.Account(ctx, s.Account)
	if err == nil && changedSince(account, s.Authenticated) {
		err = errChanged
	}
	return account, err
}

func changedSince(account *auth.Account, at time.Time) bool {
	return wholeMillis(account.Changed).After(at)
}

func (m *Manager) principal(ctx context.Context, t *auth.Tenant, s *Session, account *auth.Account) (auth.Principal, error) {
	set, err := scopeOf(ctx, t, account.Roles)
	p := t.Principal(Name, "", s.Account, slices.Clone(account.Roles), set)
	p.SessionID, p.Authenticated = s.ID, s.Authenticated
	if s.Origin != "" {
		if from := parseOrigin(s.Origin); from.Acting {
			p.Caller, p.Authenticated = from.Account, time.Time{} // never fresh
		}
	}
	return p, err
}

// scopeOf returns what roles permit a session.
func scopeOf(ctx context.Context, t *auth.Tenant, roles []string) (scope.Set, error) {
	if t.Settings().Roles != auth.RolesLimit {
		return scope.Unscoped(), nil
	}
	return t.RoleScope(ctx, roles)
}

// seen rounds at down to a step of idle/20. All requests within a step write the same
// time, so that a store writes once. A session ends at most one step early. The step is
// the same for remembered sessions: they become ordinary ones if the org's settings say
// so, and must then not end while they are in use.
func seen(org *auth.Org, at time.Time) time.Time {
	now, step := at.UnixMilli(), max(1, (org.Session.Effective().Idle/20).Milliseconds())
	return time.UnixMilli(now - now%step).UTC()
}

// refusal maps an error of the store or the directory to the auth.Error of the reply.
// It returns nil for nil.
func (m *Manager) refusal(t *auth.Tenant, err error) error {
	if !meansEnded(err) {
		return auth.Unavailable(err)
	}
	detail := auth.DetailSessionExpired
	if errors.Is(err, ErrEvicted) && t.Org.Session.PerAccount == 1 {
		detail = auth.DetailLoggedInElsewhere
	}
	return &auth.Error{Detail: detail, Cookie: m.sessionCookie().cleared(t), Err: err}
}

// meansEnded reports whether an error of the store or the directory means that the record
// has ended. An error that wraps auth.ErrUnavailable does not: see auth.IsNotFound.
func meansEnded(err error) bool {
	return auth.IsNotFound(err) || errors.Is(err, ErrEvicted) && !errors.Is(err, auth.ErrUnavailable)
}

// Challenge implements auth.Mechanism.
func (m *Manager) Challenge(_ *auth.Tenant, err error) string {
	if e, ok := errors.AsType[*auth.Error](err); ok && e.Detail == auth.DetailScope {
		return ""
	}
	return "Session"
}

// Schemes implements openapi.Describer.
func (m *Manager) Schemes(*auth.Settings) []listing.Scheme {
	return []listing.Scheme{{
		Cookie: hostPrefix + string(m.sessionCookie()),
		Description: "The cookie that a login sets. `{org}` stands for the org. On http at a loopback host the name has no " +
			"`" + hostPrefix + "`. Requests that change something must not come from pages of another origin.",
	}}
}
