package session

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/verbs"
)

// actLife is how long somebody may act for an account.
const actLife = time.Hour

// methodActing is the method of a session in which somebody acts for the account.
const methodActing = "acting"

// Act lets the account of the request's session act for another account of the org, for an hour at most:
// a session of that account, whose principals have the Actor. reason is kept as the Text of its Proof, and
// the account's owner sees it among their sessions.
//
// The session is what the other account may do, so auth.Principal.MayMake judges the actor, and
// Manager.Administrator says who administers the org. The actor must have authenticated within the last
// ten minutes. The session ends with the actor's, and when the actor may no longer open it. It is never
// fresh, makes nothing (auth.Principal.MayMake), enters no other org, and changes neither password nor
// second factor. Its cookie takes the place of the actor's, and Logout ends both.
//
// Act returns an error that wraps auth.ErrNotFound for an account that is unknown or
// disabled, or auth.ErrUnavailable. Its detail is auth.DetailDelegation, auth.DetailForbidden without a session or within one
// of Act, auth.DetailReauthenticate, auth.DetailOption for a reason that is not 1 to 256 bytes and for the
// actor's own account, auth.DetailThrottled if twenty sessions act for the account already, or
// auth.DetailCrossOrigin.
func (m *Manager) Act(w http.ResponseWriter, r *http.Request, account, reason string) (auth.Principal, error) {
	t, p, err := m.admitted(r)
	err = cmp.Or(err, m.SameOrigin(r), m.checkFresh(p))
	if err == nil && (reason == "" || len(reason) > 256 || account == p.Account) {
		err = &auth.Error{Detail: auth.DetailOption, Reason: "a reason has 1 to 256 bytes, and the account is another one"}
	}
	if err != nil {
		return auth.Principal{}, err
	}
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	target, err := t.Account(ctx, account)
	if err == nil {
		err = m.mayMake(ctx, t, p, m.acting(target))
	}
	if err != nil {
		return auth.Principal{}, err
	}
	proof := Proof{At: m.stamp(), Methods: []string{methodActing}, Text: reason}
	from := origin{Org: t.Org.Key(), Account: p.Account, ID: p.SessionID, Acting: true}
	s, token := m.newSession(r, t.Org, authentication{account: account, Proof: proof, origin: textOf(from)}, "", actLife)
	acting, err := m.principal(ctx, t, &s, target)
	if err == nil {
		err = m.hasRoom(ctx, t, account)
	}
	if err == nil {
		err = auth.Unavailable(m.Store.Create(ctx, s, 0)) // it ends no session of the owner
	}
	if err != nil {
		return auth.Principal{}, err
	}
	m.sendSession(w, t, &s, token)
	auth.Emit(r.Context(), auth.Event{Verb: verbs.ActingBegan, Account: account, Session: s.ID, Reason: reason})
	return acting, nil
}

// maxActing is how many sessions may act for one account.
const maxActing = 20

func (m *Manager) hasRoom(ctx context.Context, t *auth.Tenant, account string) error {
	open, err := m.Sessions().list(ctx, t.Org, account, func(s *Session) bool { return parseOrigin(s.Origin).Acting })
	if len(open) >= maxActing {
		err = &auth.Error{Detail: auth.DetailThrottled, Err: errors.New("session: too many sessions act for the account")}
	}
	return err
}

// acting is what can be done with an account for an hour.
func (m *Manager) acting(account *auth.Account) auth.Making {
	return auth.Making{Account: account.ID, Roles: account.Roles, Expires: m.now().Add(actLife), EndsWithMaker: true}
}

// mayMake judges a principal by a making that can do all that its roles permit.
func (m *Manager) mayMake(ctx context.Context, t *auth.Tenant, p auth.Principal, making auth.Making) (err error) {
	if making.Scope, err = scopeOf(ctx, t, making.Roles); err != nil {
		return err
	}
	return p.AsAdministrator(m.Administrator != nil && m.Administrator(p)).MayMake(making)
}

// stillMayMake judges the account of a session by a making, as the account is now. no is the error if it may not.
func (m *Manager) stillMayMake(ctx context.Context, t *auth.Tenant, s *Session, account *auth.Account, making auth.Making, no error) error {
	p, err := m.principal(ctx, t, s, account)
	if err == nil {
		err = m.mayMake(ctx, t, p, making)
	}
	if e, ok := errors.AsType[*auth.Error](err); ok && e.Detail == auth.DetailDelegation {
		return no
	}
	return err
}

// checkActor returns an error if the actor's session is over, or if the actor may no longer act.
func (m *Manager) checkActor(ctx context.Context, t *auth.Tenant, from origin, account *auth.Account) error {
	open, err := m.openSession(ctx, from)
	if err != nil {
		return err
	}
	actor, err := open.unchanged(ctx, t)
	if err == nil && !m.now().Before(open.end(t.Org)) { // idle it is not: the actor acts
		err = errMax
	}
	if err == nil {
		err = m.checkOrigin(ctx, t, &open, actor)
	}
	if err != nil {
		return err
	}
	return m.stillMayMake(ctx, t, &open, actor, m.acting(account), errOrigin)
}
