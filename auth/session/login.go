package session

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/redacted"
)

type hidden = redacted.Value // embedded by an unexported name, so that no exported field appears

// LoginForm is what a person enters to log in. It prints REDACTED.
type LoginForm struct {
	hidden

	Login, Password string

	// Code is empty or a code of the second factor. With a code, one request does both
	// steps.
	Code string

	// Remember asks for the longer life of auth.SessionPolicy.RememberIdle. It has no
	// effect in an org that does not offer it.
	Remember bool
}

// Login authenticates an account by its password, creates a session and sends its
// cookie.
//
// A cross-origin request is refused before any check. If the request carries a session,
// the login ends it, also if the login still waits for the second factor.
//
// Login returns an error that wraps ErrCredentials, ErrLocked, ErrCode, ErrSecondFactor
// or auth.ErrUnavailable. It is ErrSecondFactor after the right password if the account
// has a second factor, or if it has none and the org requires one.
//
// The error's detail is auth.DetailThrottled if too many passwords wait to be hashed.
// It is auth.DetailCrossOrigin for a page of another origin, and auth.DetailAmbiguous
// for more cookies of one name than a browser sends.
func (m *Manager) Login(w http.ResponseWriter, r *http.Request, f LoginForm) (auth.Principal, error) {
	t, err := m.sameOriginTenant(r)
	if err != nil {
		return auth.Principal{}, err
	}
	account, proven, err := m.verifyPassword(r, t, f.Login, f.Password)
	if err != nil {
		return auth.Principal{}, err
	}
	return m.proceed(w, r, t, authentication{account: account, at: proven, remember: f.Remember}, f.Code)
}

// Start creates a session for an account that was authenticated elsewhere, no fresher than
// one of the account that the request carries. It ends the session that the request
// carries, also if the new one still waits for a second factor. It is for registration,
// single sign-on and passkeys. It does what Login does after the right password, and
// returns the same errors from there on. ErrCredentials means that the account is
// unknown, disabled or empty. Some single sign-on ends with a POST from another origin.
// CrossOrigin must allow that one. The session is not remembered: see
// auth.SessionPolicy.RememberIdle.
//
// The new session is no fresher than what is known (auth.Need.Fresh), and does not live longer. If the request was
// admitted with a session, also one of another org whose handler has passed the request
// on, or carries a live session of the account, the new one has its time of
// authentication if that is earlier. In the same org it also ends no later than that one. A handler on a public route that has new proof, such
// as a sign-in at the provider just now, calls Logout before: otherwise a person whose
// session is no longer fresh signs in again and still has none that is. ErrCredentials
// also means that the account was changed after that time, as by a new password.
//
// Start creates no session for a request that was admitted with another credential than
// a session, such as a token. The session could do more than that credential, and for
// longer. A session that its roles limit (auth.RolesLimit) starts one of its own account
// only. The error then has auth.DetailDelegation. Otherwise the application decides which
// session may start one of another account: Start checks no permission.
func (m *Manager) Start(w http.ResponseWriter, r *http.Request, account string) (auth.Principal, error) {
	t, err := m.sameOriginTenant(r)
	if err != nil {
		return auth.Principal{}, err
	}
	if err := mayStartAs(r, account); err != nil {
		return auth.Principal{}, err
	}
	p, err := m.inherited(r, t, account)
	if err != nil {
		return auth.Principal{}, err
	}
	return m.proceed(w, r, t, p, "")
}

// inherited returns the authentication of a session that Start creates. It is no fresher and ends
// no later than the open session that it comes from.
func (m *Manager) inherited(r *http.Request, t *auth.Tenant, account string) (authentication, error) {
	now, by := m.stamp(), auth.From(r.Context())
	p := authentication{account: account, at: now, since: now}
	for _, from := range []auth.Principal{by, auth.Enclosing(r.Context())} {
		if from.SessionID != "" {
			p.at = earlier(p.at, from.Authenticated)
		}
	}
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	s, err := m.carried(ctx, r, t)
	if err != nil {
		return p, err
	}
	if s.ID != "" && (s.Account == account || s.ID == by.SessionID) {
		p.at = earlier(p.at, s.Authenticated)
		p.since = earlier(now, s.end(t.Org).Add(-t.Org.Session.Effective().Max))
	}
	found, err := t.Account(ctx, account)
	if auth.IsNotFound(err) || err == nil && changedSince(found, p.at) {
		err = errCredentials // a session that is older than the change would be refused at once
	}
	return p, err
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// mayStartAs refuses a request whose credential may not do everything that the account
// may. Another session of one account has the same limits, so a session may start it.
func mayStartAs(r *http.Request, account string) error {
	p := auth.From(r.Context())
	if outer := auth.Enclosing(r.Context()); p.Account == "" && outer.SessionID == "" {
		p = outer // of another org, so only a session could be a person's
	}
	bySession := p.SessionID != ""
	if p.Account == "" || bySession && p.Account == account {
		return nil
	}
	return p.AsAdministrator(bySession).MayMake(auth.Everything(account)) // who administers is the application's
}

// VerifyCode completes a login with a code of the second factor or a recovery code. The
// request carries the ticket that Login has sent. A ticket is valid for five minutes,
// five attempts and one session. VerifyCode returns an error that wraps ErrCode, ErrLocked
// or auth.ErrUnavailable, or an error of SameOrigin.
func (m *Manager) VerifyCode(w http.ResponseWriter, r *http.Request, code string) (auth.Principal, error) {
	t, err := m.tenant(r.Context())
	if err != nil {
		return auth.Principal{}, err
	}
	ticket, err := m.ticket(r, t, ticketCode)
	if err != nil {
		return auth.Principal{}, err
	}
	return m.complete(w, r, t, ticket, func() error {
		return m.checkCode(r.Context(), t, ticket.Account, code)
	})
}

// complete creates the session of a ticket if step succeeds. Each call counts as one of
// the ticket's attempts.
func (m *Manager) complete(w http.ResponseWriter, r *http.Request, t *auth.Tenant, ticket Session, step func() error) (auth.Principal, error) {
	o, err := m.opening(r, t, ticket.authentication())
	if err != nil {
		return auth.Principal{}, err
	}
	counted := m.ticketAttempt(t, ticket)
	if err := counted.spend(r.Context(), m.now()); err != nil {
		return auth.Principal{}, err
	}
	if err := counted.finish(r.Context(), step()); err != nil {
		return auth.Principal{}, err
	}
	if err := m.redeem(r, t, ticket); err != nil {
		return auth.Principal{}, err
	}
	return m.createSession(w, r, t, o)
}

// proceed continues a login after its first factor.
func (m *Manager) proceed(w http.ResponseWriter, r *http.Request, t *auth.Tenant, p authentication, code string) (auth.Principal, error) {
	if p.account == "" {
		// The zero principal has this account. A directory that finds one must not matter.
		return auth.Principal{}, errCredentials
	}
	factor, err := m.factor(r.Context(), t, p.account)
	switch {
	case err != nil:
		return auth.Principal{}, err
	case factor.Secret.isNone() && t.Org.Session.SecondFactor:
		return auth.Principal{}, m.sendTicket(w, r, t, p, ticketEnrol)
	case !factor.Secret.isNone() && code == "":
		return auth.Principal{}, m.sendTicket(w, r, t, p, ticketCode)
	}
	o, err := m.opening(r, t, p)
	if err != nil {
		return auth.Principal{}, err
	}
	if !factor.Secret.isNone() {
		if err := m.checkCode(r.Context(), t, p.account, code); err != nil {
			return auth.Principal{}, err
		}
	}
	return m.createSession(w, r, t, o)
}

// factor returns the account's second factor.
func (m *Manager) factor(ctx context.Context, t *auth.Tenant, account string) (Factor, error) {
	if m.FactorStore == nil {
		if t.Org.Session.SecondFactor {
			return Factor{}, errors.New("session: the org requires a second factor, and Manager.FactorStore is nil")
		}
		return Factor{}, nil
	}
	ctx, cancel := t.Bound(ctx)
	defer cancel()
	f, err := m.FactorStore.Factor(ctx, t.Org.Key(), account)
	return f, auth.Unavailable(err)
}

// opening is a session that is not created yet.
type opening struct {
	proof     authentication
	session   Session
	token     token
	principal auth.Principal
}

// opening looks up what a session needs. It comes before a code or a ticket is used, so
// that a look-up that fails costs neither.
func (m *Manager) opening(r *http.Request, t *auth.Tenant, p authentication) (o opening, err error) {
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	o.proof = p
	account, err := enabledAccount(ctx, t, p.account)
	if err != nil {
		return o, err
	}
	o.session, o.token = m.newSession(r, t.Org, p, "", 0)
	_, most := o.session.limits(t.Org)
	o.session.Expires = o.session.Created.Add(most)
	o.principal, err = m.principal(ctx, t, &o.session, account)
	return o, err
}

// createSession creates the session and sends its cookie. It ends the session and the
// ticket that the browser had: a token that an attacker planted must never become the
// session of an account.
func (m *Manager) createSession(w http.ResponseWriter, r *http.Request, t *auth.Tenant, o opening) (auth.Principal, error) {
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	if err := m.endPresented(ctx, r, t); err != nil {
		return auth.Principal{}, err
	}
	if err := m.Store.Create(ctx, o.session, t.Org.Session.Effective().PerAccount); err != nil {
		return auth.Principal{}, auth.Unavailable(err)
	}
	m.clear(w, r, t, m.ticketCookie())
	m.sendSession(w, t, &o.session, o.token)
	m.sendDevice(w, t, o.proof)
	auth.Identify(r, o.principal)
	return o.principal, nil
}

// enabledAccount returns the account if it exists and is enabled.
func enabledAccount(ctx context.Context, t *auth.Tenant, id string) (*auth.Account, error) {
	account, err := t.Account(ctx, id)
	if auth.IsNotFound(err) {
		return nil, errCredentials // the reply to a disabled account is that to a wrong password
	}
	if err == nil {
		t.Claim(auth.Claimed{Mechanism: Name, Account: id})
	}
	return account, err
}

// ticketLife is the time limit of the second step.
const ticketLife = 5 * time.Minute

// maxTickets is how many tickets one account may have at once.
const maxTickets = 5

// sendTicket sends the cookie of a ticket and returns ErrSecondFactor. Like
// createSession it ends the session and the ticket that the browser had. With a session
// of another account beside the ticket, it would be unclear whose factor is enrolled.
func (m *Manager) sendTicket(w http.ResponseWriter, r *http.Request, t *auth.Tenant, p authentication, step string) error {
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	if _, err := enabledAccount(ctx, t, p.account); err != nil {
		return err
	}
	s, token := m.newSession(r, t.Org, p, step, ticketLife)
	if err := m.endPresented(ctx, r, t); err != nil {
		return err
	}
	if err := m.Store.Create(ctx, s, maxTickets); err != nil {
		return auth.Unavailable(err)
	}
	m.clear(w, r, t, m.sessionCookie())
	send(w, m.ticketCookie().cookie(t, token.text()))
	return &auth.Error{Detail: auth.DetailSecondFactor, Reason: step, Err: ErrSecondFactor}
}

// ticket returns the ticket that the request carries, if it permits this step.
func (m *Manager) ticket(r *http.Request, t *auth.Tenant, step string) (Session, error) {
	if err := m.SameOrigin(r); err != nil {
		return Session{}, err
	}
	hash, ok := m.ticketCookie().hash(r, t)
	if !ok {
		return Session{}, errCode
	}
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	s, err := m.liveTicket(ctx, t, hash)
	if err == nil && s.Ticket != step {
		err = errOtherStep
	}
	if err != nil {
		return Session{}, err
	}
	return s, m.checkUnchanged(ctx, t, s)
}

// liveTicket returns the record of the hash, or errCode if it has ended.
func (m *Manager) liveTicket(ctx context.Context, t *auth.Tenant, hash [32]byte) (Session, error) {
	s, err := m.Store.Get(ctx, t.Org.Key(), hash)
	switch {
	case err != nil && !meansEnded(err):
		return s, auth.Unavailable(err)
	case err != nil, s.Org != t.Org.Key(), !m.now().Before(s.Expires):
		return s, errCode
	}
	return s, nil
}

// checkUnchanged refuses the ticket of an account that was disabled or changed since
// the first step.
func (m *Manager) checkUnchanged(ctx context.Context, t *auth.Tenant, s Session) error {
	ctx, cancel := t.Bound(ctx)
	defer cancel()
	_, err := s.unchanged(ctx, t)
	if auth.IsNotFound(err) {
		return errCode
	}
	return err
}

// authentication returns that of the ticket's first step. The new session keeps its
// time, so that a change of the account since the first step ends the session.
func (s *Session) authentication() authentication {
	return authentication{s.Account, s.Authenticated, s.Remember, s.Created}
}

// redeem ends the ticket. If two requests complete its step, only one of them creates a
// session.
func (m *Manager) redeem(r *http.Request, t *auth.Tenant, s Session) error {
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	err := m.Store.DeleteID(ctx, s.Org, s.Account, s.ID)
	if auth.IsNotFound(err) {
		return errCode
	}
	return auth.Unavailable(err)
}
