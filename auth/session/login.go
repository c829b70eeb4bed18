package session

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// Login opens a session for an account that proves itself by its password, and
// sends its cookie. code is empty, or a code of the second factor: then one
// request does both steps.
//
// A cross-origin request is refused before anything is looked at. A session that
// the request carries ends with the login, and with the ticket for a second step
// already.
//
// It returns an error that wraps ErrCredentials, ErrLocked, ErrCode,
// auth.ErrUnavailable, or ErrSecondFactor after the right password of an account
// that has a second factor, or has none in an org that requires one. Its detail
// is auth.DetailThrottled if too many passwords are waiting to be hashed,
// auth.DetailCrossOrigin for a page of another origin, and auth.DetailAmbiguous
// for more cookies of one name than a browser sends.
func (m *Manager) Login(w http.ResponseWriter, r *http.Request, login, password, code string) (auth.Principal, error) {
	t, err := tenant(r.Context())
	if err != nil {
		return auth.Principal{}, err
	}
	if err := m.SameOrigin(r); err != nil {
		return auth.Principal{}, err
	}
	account, proven, err := m.password(r, t, login, password)
	if err != nil {
		return auth.Principal{}, err
	}
	return m.proceed(w, r, t, proof{account, proven}, code)
}

// Start opens a session for an account that has proved itself elsewhere: at
// registration, by single sign-on, with a passkey. It goes on as Login does
// after the right password, and returns what Login would from there on;
// ErrCredentials is for an account that is unknown, disabled or empty. A POST from
// another origin, as some single sign-on ends with, has to be let through by
// CrossOrigin.
//
// A request that was admitted with another credential than a session, a token say,
// opens no session: the session could do more than the credential, and for longer.
// The error is an *auth.BeyondError then.
func (m *Manager) Start(w http.ResponseWriter, r *http.Request, account string) (auth.Principal, error) {
	t, err := tenant(r.Context())
	if err != nil {
		return auth.Principal{}, err
	}
	if err := m.SameOrigin(r); err != nil {
		return auth.Principal{}, err
	}
	if p := auth.From(r.Context()); p.Account != "" && p.SessionID == "" {
		if err := p.MayMake(false, auth.Everything(account)); err != nil {
			return auth.Principal{}, err
		}
	}
	return m.proceed(w, r, t, proof{account, m.stamp()}, "")
}

// Verify completes a login with a code of the second factor or a recovery code.
// The request carries the ticket that Login has left, which is good for five
// minutes, five tries and one session. It returns an error that wraps ErrCode,
// ErrLocked or auth.ErrUnavailable, or one of SameOrigin.
func (m *Manager) Verify(w http.ResponseWriter, r *http.Request, code string) (auth.Principal, error) {
	t, err := tenant(r.Context())
	if err != nil {
		return auth.Principal{}, err
	}
	ticket, err := m.ticket(r, t, TicketCode)
	if err != nil {
		return auth.Principal{}, err
	}
	counted := m.ticketTry(t, ticket)
	if err := counted.spend(r.Context(), m.now()); err != nil {
		return auth.Principal{}, err
	}
	err = m.checkCode(r.Context(), t, ticket.Account, code)
	counted.end(r.Context(), err)
	if err != nil {
		return auth.Principal{}, err
	}
	if err := m.redeem(r, t, ticket); err != nil {
		return auth.Principal{}, err
	}
	return m.open(w, r, t, ticket.proof())
}

// proceed goes on once the first factor is proven.
func (m *Manager) proceed(w http.ResponseWriter, r *http.Request, t *auth.Tenant, p proof, code string) (auth.Principal, error) {
	if p.account == "" {
		// The zero principal's: nobody, whatever a directory finds for it.
		return auth.Principal{}, errCredentials
	}
	factor, err := m.factor(r.Context(), t, p.account)
	switch {
	case err != nil:
		return auth.Principal{}, err
	case factor.Secret == nil && t.Org.Session.SecondFactor:
		return auth.Principal{}, m.giveTicket(w, r, t, p, TicketEnrol)
	case factor.Secret == nil:
		return m.open(w, r, t, p)
	case code == "":
		return auth.Principal{}, m.giveTicket(w, r, t, p, TicketCode)
	}
	if err := m.checkCode(r.Context(), t, p.account, code); err != nil {
		return auth.Principal{}, err
	}
	return m.open(w, r, t, p)
}

// factor returns the account's second factor.
func (m *Manager) factor(ctx context.Context, t *auth.Tenant, account string) (Factor, error) {
	if m.Factors == nil {
		if t.Org.Session.SecondFactor {
			return Factor{}, errors.New("session: the org requires a second factor, and Manager.Factors is nil")
		}
		return Factor{}, nil
	}
	ctx, cancel := t.Bound(ctx)
	defer cancel()
	f, err := m.Factors.Factor(ctx, t.Org.Code, account)
	if err != nil {
		return Factor{}, unavailable(err)
	}
	return f, nil
}

// open creates the session and sends its cookie. What the browser held before
// ends: a token that somebody planted never becomes anybody's session.
func (m *Manager) open(w http.ResponseWriter, r *http.Request, t *auth.Tenant, p proof) (auth.Principal, error) {
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	account, err := enabled(ctx, t, p.account)
	if err != nil {
		return auth.Principal{}, err
	}
	s, token := m.record(r, t.Org.Code, p, "", longest(t.Org))
	if err := m.end(ctx, r, t); err != nil {
		return auth.Principal{}, err
	}
	if err := m.makeRoom(ctx, t, account); err != nil {
		return auth.Principal{}, err
	}
	if err := m.Store.Create(ctx, s, most(t.Org)); err != nil {
		return auth.Principal{}, unavailable(err)
	}
	m.clear(w, r, t, m.ticketCookie())
	m.sessionCookie().set(w, t, token)
	m.giveDevice(w, t, p)
	return principal(&s, account), nil
}

// makeRoom ends the account's sessions that are over by the org's settings, or by
// the account's latest change, where a further one would exceed the limit. Stores
// know nothing of either: such sessions would take the places of those in use.
func (m *Manager) makeRoom(ctx context.Context, t *auth.Tenant, account *auth.Account) error {
	limit := most(t.Org)
	if limit == 1 {
		return nil // all of them go
	}
	records, err := m.Store.List(ctx, t.Org.Code, account.ID)
	if err != nil {
		return unavailable(err)
	}
	records = slices.DeleteFunc(records, func(s Session) bool { return s.Ticket != "" })
	if len(records) < limit {
		return nil
	}
	now := m.now()
	for _, s := range records {
		if s.open(t.Org, now) == nil && !s.isOlderThan(account) {
			continue
		}
		err := m.Store.DeleteID(ctx, s.Org, s.Account, s.ID)
		if err != nil && !auth.IsNotFound(err) {
			return unavailable(err)
		}
	}
	return nil
}

// enabled returns the account that has proved itself.
func enabled(ctx context.Context, t *auth.Tenant, id string) (*auth.Account, error) {
	account, err := t.Account(ctx, id)
	if auth.IsNotFound(err) {
		return nil, errCredentials // disabled: the same answer as a wrong password
	}
	return account, err
}

// ticketLife is how long the second step may take.
const ticketLife = 5 * time.Minute

// tickets is how many of them one account may have open at once.
const tickets = 5

// giveTicket sends the cookie of a ticket and returns ErrSecondFactor. What the
// browser held before ends here as in open: beside the session of another account
// the ticket would not decide whose factor is enrolled.
func (m *Manager) giveTicket(w http.ResponseWriter, r *http.Request, t *auth.Tenant, p proof, step Ticket) error {
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	if _, err := enabled(ctx, t, p.account); err != nil {
		return err
	}
	s, token := m.record(r, t.Org.Code, p, step, ticketLife)
	if err := m.end(ctx, r, t); err != nil {
		return err
	}
	if err := m.Store.Create(ctx, s, tickets); err != nil {
		return unavailable(err)
	}
	m.clear(w, r, t, m.sessionCookie())
	m.ticketCookie().set(w, t, token)
	return &auth.Error{Detail: auth.DetailSecondFactor, Reason: string(step), Err: ErrSecondFactor}
}

// ticket returns the one a request carries, if it opens this step.
func (m *Manager) ticket(r *http.Request, t *auth.Tenant, step Ticket) (Session, error) {
	if err := m.SameOrigin(r); err != nil {
		return Session{}, err
	}
	hash, ok := m.ticketCookie().hash(r, t)
	if !ok {
		return Session{}, errCode
	}
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	s, err := m.Store.Get(ctx, hash)
	switch {
	case auth.IsNotFound(err), errors.Is(err, ErrReplaced):
		return Session{}, errCode
	case err != nil:
		return Session{}, unavailable(err)
	case s.Org != t.Org.Code, !m.now().Before(s.Expires):
		return Session{}, errCode
	case s.Ticket != step:
		return Session{}, errOtherStep
	}
	return s, m.unchanged(ctx, t, s)
}

// unchanged refuses the ticket of an account that was disabled, or whose
// password was changed, since the first step.
func (m *Manager) unchanged(ctx context.Context, t *auth.Tenant, s Session) error {
	account, err := t.Account(ctx, s.Account)
	switch {
	case auth.IsNotFound(err):
		return errCode
	case err != nil:
		return err
	case s.isOlderThan(account):
		return errCode
	}
	return nil
}

// proof is what the ticket was given for. A session that comes of it is no
// younger: what was changed since the first step ends it.
func (s *Session) proof() proof { return proof{s.Account, s.Authenticated} }

// redeem ends the ticket: of two requests that complete its step, one opens a
// session.
func (m *Manager) redeem(r *http.Request, t *auth.Tenant, s Session) error {
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	err := m.Store.DeleteID(ctx, s.Org, s.Account, s.ID)
	switch {
	case auth.IsNotFound(err):
		return errCode
	case err != nil:
		return unavailable(err)
	}
	return nil
}
