package session

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/verbs"
)

// Logout ends the session of the request and clears its cookies. It returns nil if
// there is no session. After nil, no request that starts is admitted with that session,
// and no request in progress can restore it.
//
// Logout returns an error that wraps auth.ErrUnavailable. Its detail is
// auth.DetailCrossOrigin for a page of another origin, and auth.DetailAmbiguous for
// more cookies of one name than a browser sends.
func (m *Manager) Logout(w http.ResponseWriter, r *http.Request) error {
	t, err := m.sameOriginTenant(r)
	if err != nil {
		return err
	}
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	acting, err := m.carried(ctx, r, t)
	if from := parseOrigin(acting.Origin); err == nil && from.Acting {
		if err = m.Sessions().end(ctx, from.Org, from.Account, from.ID); err == nil {
			m.Sessions().emitEnded(ctx, 1, auth.Event{Org: from.Org, Account: from.Account, Session: from.ID, Reason: "logout"})
		}
	}
	if err != nil && !auth.IsNotFound(err) {
		return auth.Unavailable(err)
	}
	if err := m.endPresented(ctx, r, t, "logout"); err != nil {
		return err // the cookies stay, because the session may still exist
	}
	m.clear(w, r, t, m.sessionCookie())
	m.clear(w, r, t, m.ticketCookie())
	return nil
}

// maxCookies limits how many cookies of one name are ended. A browser sends one.
const maxCookies = 16

// endPresented ends the sessions and tickets whose cookies the request carries. If an
// attacker has planted a second cookie, it ends both.
func (m *Manager) endPresented(ctx context.Context, r *http.Request, t *auth.Tenant, why string) error {
	for _, name := range []cookieName{m.sessionCookie(), m.ticketCookie()} {
		// More are refused altogether: each cookie costs a write, and the caller is unknown.
		if _, count := name.read(r, t); count > maxCookies {
			return &auth.Error{Detail: auth.DetailAmbiguous}
		}
		for value := range name.values(r, t) {
			s, ok := parseToken(value)
			if !ok {
				continue
			}
			open, unknown := m.Store.Get(ctx, t.Org.Key(), s.hash()) // for the event
			if unknown != nil && !auth.IsNotFound(unknown) && !errors.Is(unknown, ErrEvicted) {
				return auth.Unavailable(unknown)
			}
			if err := m.Store.Delete(ctx, t.Org.Key(), s.hash()); err != nil {
				return auth.Unavailable(err)
			}
			if unknown == nil && open.Ticket == "" {
				m.Sessions().emitEnded(ctx, 1, auth.Event{Org: open.Org, Account: open.Account, Session: open.ID, Reason: why})
			}
		}
	}
	return nil
}

// clear makes the browser forget a cookie that it sent.
func (m *Manager) clear(w http.ResponseWriter, r *http.Request, t *auth.Tenant, name cookieName) {
	if name.isSent(r, t) {
		http.SetCookie(w, name.cleared(t))
	}
}

// In returns the same verbs over what ends sessions in a transaction of the application: see
// sqlstore.In. What they end is ended when the transaction has been committed. They emit no event: see
// auth.Emit.
func (of Sessions) In(store Ending) Sessions { return Sessions{of.manager, store, true} }

// List returns the account's sessions that have not ended by the org's settings, the
// oldest first. It includes sessions that only auth.Account.Changed has ended. An empty
// account has none. The error wraps auth.ErrUnavailable.
func (of Sessions) List(ctx context.Context, org *auth.Org, account string) ([]SessionInfo, error) {
	return of.list(ctx, org, account, func(s *Session) bool { return s.check(org, of.manager.now()) == nil })
}

func (of Sessions) list(ctx context.Context, org *auth.Org, account string, live func(*Session) bool) ([]SessionInfo, error) {
	list := []SessionInfo{}
	if account == "" {
		return list, nil // without the store, which might take it for every account
	}
	records, err := of.records(ctx, org.Key(), account, live)
	for _, s := range records {
		list = append(list, s.info())
	}
	return list, err
}

// records returns those of an account's records that live accepts.
func (of Sessions) records(ctx context.Context, org auth.OrgKey, account string, live func(*Session) bool) ([]Session, error) {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	all, err := of.store.List(ctx, org, account)
	all = slices.Clone(all) // a Store may keep what it has returned
	return slices.DeleteFunc(all, func(s Session) bool { return !live(&s) }), auth.Unavailable(err)
}

// Revoke ends one session of the account, from the next request on. org is the org's Key. It
// returns an error that wraps auth.ErrNotFound if the account has no session with this ID, or
// auth.ErrUnavailable. An empty account or ID is not found.
func (of Sessions) Revoke(ctx context.Context, org auth.OrgKey, account, id string) error {
	if account == "" || id == "" {
		return auth.ErrNotFound // without the store, which might take it for any account
	}
	device, err := of.records(ctx, org, account, func(s *Session) bool { return s.ID == id && s.Ticket == ticketDevice })
	if err == nil {
		err = of.end(ctx, org, account, id)
	}
	if err != nil {
		return err
	}
	e := auth.Event{Org: org, Account: account, Session: id, Reason: "revoked"}
	if len(device) > 0 {
		e.Verb, e.Session, e.Credential = verbs.DeviceForgotten, "", id
	}
	of.emitEnded(ctx, 1, e)
	return nil
}

// end ends one record of an account.
func (of Sessions) end(ctx context.Context, org auth.OrgKey, account, id string) error {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	err := of.store.DeleteID(ctx, org, account, id)
	if auth.IsNotFound(err) {
		return err
	}
	return auth.Unavailable(err)
}

// emitEnded reports that n sessions have ended.
func (of Sessions) emitEnded(ctx context.Context, n int, e auth.Event) {
	if n != 0 && !of.later {
		e.Verb = cmp.Or(e.Verb, verbs.SessionEnded)
		auth.Emit(ctx, e)
	}
}

// Sessions.RevokeAll ends the account's sessions, its incomplete logins and its mailed tickets,
// from the next request on. org is the org's Key. The session with the ID except stays.
// Sessions.RevokeAll returns how many sessions it ended.
//
// With auth.PersonKey in place of the org and the person in place of the account, it ends those of all
// accounts of the person, in a request whose Directory has auth.People. After an error some may be left:
// call it again.
//
// An empty account is an error, and nothing is ended: it comes from a handler that
// mistakenly uses the zero auth.Principal. Any other error wraps auth.ErrUnavailable.
func (of Sessions) RevokeAll(ctx context.Context, org auth.OrgKey, account, except string) (int, error) {
	return of.revokeAll(ctx, org, account, except, "revoked")
}

func (of Sessions) revokeAll(ctx context.Context, org auth.OrgKey, account, except, why string) (int, error) {
	if account == "" {
		return 0, errors.New("session: RevokeAll without an account")
	}
	if org == auth.PersonKey {
		return of.revokePerson(ctx, account, except, why)
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	n, err := of.store.DeleteAll(ctx, org, account, except)
	of.emitEnded(ctx, n, auth.Event{Org: org, Account: account, Count: int64(n), Reason: why})
	return n, auth.Unavailable(err)
}

// Sessions.RevokeOrg ends the sessions, the incomplete logins and the mailed tickets of all
// accounts of the org, which it takes by its Key, from the next request on. That includes
// the session of the request that calls it.
// Sessions.RevokeOrg returns how many sessions it ended.
//
// An empty org is an error, and nothing is ended. Any other error wraps
// auth.ErrUnavailable. Within a request the Guard's Timeout applies. It may be too
// short if the store holds very many sessions of the org.
func (of Sessions) RevokeOrg(ctx context.Context, org auth.OrgKey) (int, error) {
	if org == "" {
		return 0, errors.New("session: RevokeOrg without an org")
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	n, err := of.store.DeleteOrg(ctx, org)
	of.emitEnded(ctx, n, auth.Event{Org: org, Count: int64(n), Reason: "revoked"})
	return n, auth.Unavailable(err)
}

// withTimeout is Tenant.Bound for verbs that may be called outside a request. There the
// caller's ctx is the only limit.
func withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if t := auth.TenantFrom(ctx); t != nil {
		return t.Bound(ctx)
	}
	return ctx, func() {}
}
