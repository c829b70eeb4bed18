package session

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/redacted"
	"github.com/tenantkit/tenantkit/internal/verbs"
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

	// RememberDevice asks that later logins of the account on this device need no code. It counts
	// beside a right code, and where auth.SessionPolicy.RememberDevice and Manager.DeviceKey permit
	// it.
	RememberDevice bool

	// DeviceName is what the person calls that device. Sessions.Devices shows its first 256 bytes as the
	// Agent, in place of the User-Agent.
	DeviceName string
}

// Login authenticates an account by its password, creates a session and sends its
// cookie.
//
// A cross-origin request is refused before any check. If the request carries a session,
// the login ends it, also if the login still waits for the second factor.
//
// Login returns an error that wraps ErrCredentials, ErrLocked, ErrCode, ErrSecondFactor
// or auth.ErrUnavailable. It is ErrSecondFactor after the right password if the account
// has a second factor, or if it has none and the org requires one. It is ErrProof in an org that
// does not accept passwords.
//
// The error's detail is auth.DetailThrottled if too many passwords wait to be hashed.
// It is auth.DetailCrossOrigin for a page of another origin, and auth.DetailAmbiguous
// for more cookies of one name than a browser sends.
func (m *Manager) Login(w http.ResponseWriter, r *http.Request, f LoginForm) (auth.Principal, error) {
	t, err := m.sameOriginTenant(r)
	if err != nil {
		return auth.Principal{}, err
	}
	account, p, err := m.verifyPassword(r, t, f.Login, f.Password)
	if err != nil {
		return auth.Principal{}, err
	}
	by := authentication{Proof: p, account: account, remember: f.Remember, rememberDevice: f.RememberDevice, deviceName: f.DeviceName}
	return m.proceed(w, r, t, by, f.Code)
}

// mayStartAs refuses a request whose credential may not do everything that the account
// may. Another session of one account has the same limits, so a session may start it.
func mayStartAs(r *http.Request, account string) error {
	p := auth.From(r.Context())
	if outer := auth.Enclosing(r.Context()); p.Account == "" && (outer.SessionID == "" || outer.Actor() != "") {
		p = outer // of another org, so only a session could be a person's, and no actor's
	}
	bySession := p.SessionID != ""
	if p.Account == "" || bySession && p.Account == account && p.Actor() == "" {
		return nil
	}
	return p.AsAdministrator(bySession).MayMake(auth.Everything(account)) // who administers is the application's
}

// VerifyCode completes a login with a code of the second factor or a recovery code. The
// request carries the ticket that Login has sent. A ticket is valid for five minutes,
// five attempts and one session. f has the Code, and may have RememberDevice and DeviceName. VerifyCode returns
// an error that wraps ErrCode, ErrLocked or auth.ErrUnavailable, or an error of SameOrigin.
func (m *Manager) VerifyCode(w http.ResponseWriter, r *http.Request, f LoginForm) (auth.Principal, error) {
	t, err := m.tenant(r.Context())
	if err != nil {
		return auth.Principal{}, err
	}
	ticket, err := m.ticket(r, t, ticketCode)
	if err != nil {
		return auth.Principal{}, err
	}
	return m.complete(w, r, t, ticket, func(o *opening) error {
		o.proof.rememberDevice, o.proof.deviceName = f.RememberDevice, f.DeviceName
		return m.proveCode(r, t, o, f.Code)
	})
}

// complete creates the session of a ticket if step succeeds. Each call counts as one of
// the ticket's attempts.
func (m *Manager) complete(w http.ResponseWriter, r *http.Request, t *auth.Tenant, ticket Session, step func(*opening) error) (auth.Principal, error) {
	o, err := m.opening(r, t, ticket.authentication())
	if err != nil {
		return auth.Principal{}, err
	}
	counted := m.attempt(t, ticketCodes+1, "ticket", ticket.ID)
	// After ticketCodes attempts the ticket is refused for good, with no delay to wait for. Whoever knows
	// the password gets another ticket.
	switch n, err := counted.begin(r.Context(), m.now()); {
	case errors.Is(err, ErrLocked), err == nil && n > ticketCodes:
		return auth.Principal{}, errCode
	case err != nil:
		return auth.Principal{}, err
	}
	if err := counted.finish(r.Context(), step(&o)); err != nil {
		return auth.Principal{}, err
	}
	if err := m.redeem(r, ticket); err != nil {
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
	if err := p.judge(t.Org, m.now()); err != nil {
		return auth.Principal{}, err
	}
	o, err := m.opening(r, t, p)
	if err != nil {
		return auth.Principal{}, err
	}
	if err := m.secondStep(w, r, t, &o, code); err != nil {
		return auth.Principal{}, err
	}
	return m.createSession(w, r, t, o)
}

// secondStep returns nil if no second factor is missing, or if the code is right. Otherwise it may
// send a ticket.
func (m *Manager) secondStep(w http.ResponseWriter, r *http.Request, t *auth.Tenant, o *opening, code string) error {
	if o.proof.completed || o.proof.isTwoFactors(t.Org) {
		return nil
	}
	factor, err := m.factor(r.Context(), t, ownerOf(o.account))
	switch {
	case err != nil:
		return err
	case factor.Secret == "" && t.Org.Session.SecondFactor:
		return m.sendTicket(w, r, t, o.proof, ticketEnrol)
	case factor.Secret == "":
		return nil
	case code != "":
		return m.proveCode(r, t, o, code)
	case m.isRemembered(r, t, o.account, factor):
		o.proof.Proof = o.proof.with(methodDevice)
		return nil
	}
	return m.sendTicket(w, r, t, o.proof, ticketCode)
}

// proveCode adds a right code to the proof.
func (m *Manager) proveCode(r *http.Request, t *auth.Tenant, o *opening, code string) error {
	o.proof.Proof = o.proof.with(MethodCode)
	return m.withCode(r.Context(), t, o.account, code, func(f *Factor) { o.proof.factor = f.Secret })
}

// factor returns the owner's second factor.
func (m *Manager) factor(ctx context.Context, t *auth.Tenant, of owner) (Factor, error) {
	if m.FactorStore == nil {
		if t.Org.Session.SecondFactor {
			return Factor{}, errors.New("session: the org requires a second factor, and Manager.FactorStore is nil")
		}
		return Factor{}, nil
	}
	ctx, cancel := t.Bound(ctx)
	defer cancel()
	f, err := m.FactorStore.Factor(ctx, of.org, of.id)
	return f, auth.Unavailable(err)
}

// opening is a session that is not created yet.
type opening struct {
	proof     authentication
	account   *auth.Account
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
	o.account, err = t.Account(ctx, p.account)
	if err != nil {
		return o, absent(err, errCredentials) // the reply to a disabled account is that to a wrong password
	}
	t.Claim(auth.Claimed{Mechanism: Name, Account: p.account})
	if changedSince(o.account, p.At) {
		return o, errCredentials // the session would be refused at once
	}
	o.session, o.token = m.newSession(r, t.Org, p, "", 0)
	_, most := o.session.limits(t.Org)
	o.session.Expires = o.session.Created.Add(most)
	o.principal, err = m.principal(ctx, t, &o.session, o.account)
	return o, err
}

// createSession creates the session and sends its cookie. It ends the session and the
// ticket that the browser had: a token that an attacker planted must never become the
// session of an account.
func (m *Manager) createSession(w http.ResponseWriter, r *http.Request, t *auth.Tenant, o opening) (auth.Principal, error) {
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	device, remembered, err := m.nextDevice(r, t, o.proof) // first: a session that is opened says what is remembered
	if err != nil {
		return auth.Principal{}, err
	}
	if err := m.endPresented(ctx, r, t, "replaced"); err != nil {
		return auth.Principal{}, err
	}
	o.session.Proof = textOf(o.proof.Proof)
	if err := m.Store.Create(ctx, o.session, t.Org.Session.Effective().PerAccount); err != nil {
		return auth.Principal{}, auth.Unavailable(err)
	}
	// End a session that was entered from one that has ended meanwhile: what has ended all sessions of the
	// person may have missed it.
	if o.session.Origin != "" {
		if _, err := m.openSession(ctx, parseOrigin(o.session.Origin)); err != nil {
			return auth.Principal{}, m.refusal(t, errors.Join(err, m.Store.Delete(ctx, o.session.Org, o.session.Hash)))
		}
	}
	m.clear(w, r, t, m.ticketCookie())
	m.sendSession(w, t, &o.session, o.token)
	m.sendDevice(w, t, device)
	auth.Identify(r, o.principal)
	o.emit(r.Context(), remembered)
	return o.principal, nil
}

// emit reports the session that was created, and the device that is remembered from now on.
func (o *opening) emit(ctx context.Context, remembered string) {
	e := auth.Event{Verb: verbs.SessionEntered, Org: o.session.Org, Account: o.session.Account, Session: o.session.ID, Reason: strings.Join(o.proof.Methods, " ")}
	if o.session.Origin == "" {
		e.Verb = verbs.LoginAccepted
		auth.Emit(ctx, e)
		e.Verb = verbs.SessionOpened
	}
	auth.Emit(ctx, e)
	if remembered != "" {
		e.Verb, e.Credential = verbs.DeviceRemembered, remembered
		auth.Emit(ctx, e)
	}
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
	s, token := m.newSession(r, t.Org, p, step, ticketLife)
	if err := m.endPresented(ctx, r, t, "replaced"); err != nil {
		return err
	}
	if err := m.Store.Create(ctx, s, maxTickets); err != nil {
		return auth.Unavailable(err)
	}
	m.clear(w, r, t, m.sessionCookie())
	send(w, m.ticketCookie().cookie(t, token.text()))
	auth.Emit(ctx, auth.Event{Verb: verbs.LoginPending, Org: s.Org, Account: s.Account, Reason: step})
	return &auth.Error{Detail: auth.DetailSecondFactor, Reason: step, Err: ErrSecondFactor}
}

// ticket returns the ticket that the request carries, if it permits one of these steps.
func (m *Manager) ticket(r *http.Request, t *auth.Tenant, steps ...string) (Session, error) {
	if err := m.SameOrigin(r); err != nil {
		return Session{}, err
	}
	hash, ok := m.ticketCookie().hash(r, t)
	if !ok {
		return Session{}, errCode
	}
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	s, err := m.liveTicket(ctx, t, hash, steps...)
	if err != nil {
		return Session{}, err
	}
	return s, s.checkUnchanged(ctx, t)
}

// liveTicket returns the record of the hash, errCode if it has ended, or errOtherStep if it is for none of
// the steps.
func (m *Manager) liveTicket(ctx context.Context, t *auth.Tenant, hash [32]byte, steps ...string) (Session, error) {
	s, err := m.Store.Get(ctx, t.Org.Key(), hash)
	switch {
	case err != nil && !meansEnded(err):
		return s, auth.Unavailable(err)
	case err != nil, s.Org != t.Org.Key(), !m.now().Before(s.Expires):
		return s, errCode
	case !slices.Contains(steps, s.Ticket):
		return s, errOtherStep
	}
	return s, nil
}

// checkUnchanged refuses the ticket of an account that was disabled or changed since
// the first step.
func (s *Session) checkUnchanged(ctx context.Context, t *auth.Tenant) error {
	_, err := s.unchanged(ctx, t)
	return absent(err, errCode)
}

// authentication returns that of the ticket's first step. The new session keeps its
// time, so that a change of the account since the first step ends the session.
func (s *Session) authentication() authentication {
	return authentication{Proof: parseProof(s.Proof, s.Authenticated), account: s.Account, remember: s.Remember, origin: s.Origin}
}

// redeem ends the ticket. If two requests complete its step, only one of them creates a
// session.
func (m *Manager) redeem(r *http.Request, s Session) error {
	return absent(m.Sessions().end(r.Context(), s.Org, s.Account, s.ID), errCode)
}

// absent returns instead in place of an error that says that there is none.
func absent(err, instead error) error {
	if auth.IsNotFound(err) {
		return instead
	}
	return err
}
