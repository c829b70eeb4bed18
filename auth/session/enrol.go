package session

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
)

// Enrolment is a second factor that waits for its first code.
type Enrolment struct {
	Account string
	Secret  FactorSecret // see OTPAuth and FactorSecret.Base32
}

// Enrol begins the enrolment of a second factor, or of another device, for the
// account of the session that the request was admitted with, or else of the
// enrolment ticket it carries. Nothing changes until Confirm; beginning again
// voids what was begun. A session replaces the factor that is active, and no
// code of that one is asked for.
//
// For sessions, the route asks for a fresh one (auth.Need.Fresh). It returns
// an error that wraps ErrCode for a ticket that is no longer good, ErrConflict
// if the factor was changed meanwhile, or auth.ErrUnavailable; without session
// and enrolment ticket its detail is auth.DetailNoCredentials.
func (m *Manager) Enrol(r *http.Request) (Enrolment, error) {
	t, err := tenant(r.Context())
	if err != nil {
		return Enrolment{}, err
	}
	by, err := m.enrolling(r, t)
	if err != nil {
		return Enrolment{}, err
	}
	f, err := m.factorFor(r.Context(), t, by)
	if err != nil {
		return Enrolment{}, err
	}
	f.Pending = make(FactorSecret, factorSecretLength)
	rand.Read(f.Pending)
	if err := m.save(r.Context(), t, by.account, f); err != nil {
		return Enrolment{}, err
	}
	return Enrolment{by.account, f.Pending}, nil
}

const factorSecretLength = 20 // that of the hash, as RFC 4226, section 4 recommends

// Confirm makes an enrolment active by a code of it, and returns the recovery
// codes, which are shown once. After a ticket it opens the session; a session
// that the request was admitted with gets a new token, and is no fresher than
// before, and the account's other sessions end.
//
// It returns an error that wraps ErrCode, ErrLocked, ErrConflict or
// auth.ErrUnavailable; without session and enrolment ticket its detail is
// auth.DetailNoCredentials. Codes beside an error are good: the factor is
// active, and what came after it has failed.
func (m *Manager) Confirm(w http.ResponseWriter, r *http.Request, code string) (recovery []string, err error) {
	t, err := tenant(r.Context())
	if err != nil {
		return nil, err
	}
	by, err := m.enrolling(r, t)
	if err != nil {
		return nil, err
	}
	if by.ticket == nil {
		return m.confirmed(w, r, t, by, code)
	}
	counted := m.ticketTry(t, *by.ticket)
	if err := counted.spend(r.Context(), m.now()); err != nil {
		return nil, err
	}
	recovery, err = m.activate(r.Context(), t, by, code)
	counted.end(r.Context(), err)
	if err != nil {
		return nil, err
	}
	if err := m.redeem(r, t, *by.ticket); err != nil {
		return recovery, err
	}
	_, err = m.open(w, r, t, by.ticket.proof())
	return recovery, err
}

// confirmed is Confirm for a session. It gets a new token and is as old as
// before: a code of a secret that it has just been given proves nothing more.
func (m *Manager) confirmed(w http.ResponseWriter, r *http.Request, t *auth.Tenant, by enroller, code string) (recovery []string, err error) {
	recovery, err = m.activate(r.Context(), t, by, code)
	if err != nil {
		return nil, err
	}
	p := auth.From(r.Context())
	if err := m.renew(w, r, t, p.Authenticated); err != nil {
		return recovery, err
	}
	// Whoever else is signed in came in by what the account had before.
	_, err = m.RevokeAll(r.Context(), t.Org.Code, p.Account, p.SessionID)
	return recovery, err
}

// Remove takes the second factor off the account of the session that the
// request was admitted with, by a code of it, and ends the account's other
// sessions. The route asks for a fresh session.
//
// It returns an error that wraps ErrCode or ErrLocked, and auth.ErrForbidden where
// the org requires a factor: there it can only be replaced, by enrolling again.
// One that wraps auth.ErrUnavailable leaves open what was done: RevokeAll does the
// second half. Without a session its detail is auth.DetailForbidden.
func (m *Manager) Remove(r *http.Request, code string) error {
	t, err := tenant(r.Context())
	if err != nil {
		return err
	}
	p := auth.From(r.Context())
	if p.SessionID == "" {
		return errNoSession
	}
	if m.Factors == nil {
		return errNoFactors
	}
	if t.Org.Session.SecondFactor {
		return &auth.Error{Detail: auth.DetailForbidden, Reason: "the org requires a second factor", Err: auth.ErrForbidden}
	}
	err = m.withCode(r.Context(), t, p.Account, code, func(f *Factor) {
		f.Secret, f.Pending, f.Recovery = nil, nil, nil
	})
	if err != nil {
		return err
	}
	_, err = m.RevokeAll(r.Context(), t.Org.Code, p.Account, p.SessionID)
	return err
}

var errNoFactors = errors.New("session: Manager.Factors is required for this")

// enroller is who enrols: a session's account, or a ticket's.
type enroller struct {
	account string
	ticket  *Session
}

func (m *Manager) enrolling(r *http.Request, t *auth.Tenant) (enroller, error) {
	if m.Factors == nil {
		return enroller{}, errNoFactors
	}
	if p := auth.From(r.Context()); p.SessionID != "" {
		return enroller{account: p.Account}, nil
	}
	s, err := m.ticket(r, t, TicketEnrol)
	if err == errOtherStep || errors.Is(err, ErrCode) && !m.ticketCookie().isSent(r, t) {
		err = errNobody
	}
	return enroller{s.Account, &s}, err
}

// errNobody answers who has shown nothing at all, or the ticket for a code, which
// is no credential here: neither is a ticket gone bad.
var errNobody = &auth.Error{Detail: auth.DetailNoCredentials, Err: errors.New("session: neither a session nor a ticket to enrol")}

// factorFor returns the record that an enrolment changes. A ticket opens the
// first one only: whoever holds it has proved a password and no more.
func (m *Manager) factorFor(ctx context.Context, t *auth.Tenant, by enroller) (Factor, error) {
	f, err := m.factor(ctx, t, by.account)
	if err == nil && by.ticket != nil && f.Secret != nil {
		return Factor{}, errCode
	}
	return f, err
}

// activate makes the pending secret the account's.
func (m *Manager) activate(ctx context.Context, t *auth.Tenant, by enroller, code string) (recovery []string, err error) {
	counted := m.codeTry(t, by.account)
	if _, err := counted.begin(ctx, m.now()); err != nil {
		return nil, err
	}
	recovery, err = m.takePending(ctx, t, by, code)
	counted.end(ctx, err) // not deferred: a panic is no success, and leaves the try counted
	return recovery, err
}

func (m *Manager) takePending(ctx context.Context, t *auth.Tenant, by enroller, code string) (recovery []string, err error) {
	f, err := m.factorFor(ctx, t, by)
	if err != nil {
		return nil, err
	}
	step, ok := match(f.Pending, code, m.now(), 0)
	if f.Pending == nil || !ok {
		return nil, errCode
	}
	recovery, hashes := newRecovery()
	f.Secret, f.Pending, f.Step, f.Recovery = f.Pending, nil, step, hashes
	if err := m.save(ctx, t, by.account, f); err != nil {
		return nil, err
	}
	return recovery, nil
}

// save answers a change that somebody else made meanwhile as a conflict.
func (m *Manager) save(ctx context.Context, t *auth.Tenant, account string, f Factor) error {
	ctx, cancel := t.Bound(ctx)
	defer cancel()
	err := m.Factors.Save(ctx, t.Org.Code, account, f)
	switch {
	case errors.Is(err, ErrConflict):
		return &auth.Error{Detail: auth.DetailConflict, Err: err}
	case err != nil:
		return unavailable(err)
	}
	return nil
}

// checkCode accepts a code of the account's factor, once.
func (m *Manager) checkCode(ctx context.Context, t *auth.Tenant, account, code string) error {
	return m.withCode(ctx, t, account, code, func(*Factor) {})
}

// withCode accepts a code of the account's factor and changes the factor in the
// same step, so that no code serves twice, in no two processes.
func (m *Manager) withCode(ctx context.Context, t *auth.Tenant, account, code string, change func(*Factor)) error {
	counted := m.codeTry(t, account)
	if _, err := counted.begin(ctx, m.now()); err != nil {
		return err
	}
	err := m.takeCode(ctx, t, account, code, change)
	counted.end(ctx, err) // not deferred: see activate
	return err
}

func (m *Manager) takeCode(ctx context.Context, t *auth.Tenant, account, code string, change func(*Factor)) error {
	// All rounds together, so that a store which answers an old version each
	// time does not keep this going.
	ctx, cancel := t.Bound(ctx)
	defer cancel()
	for {
		f, err := m.factor(ctx, t, account)
		if err != nil {
			return err
		}
		if !m.use(&f, code) {
			return errCode
		}
		change(&f)
		err = m.save(ctx, t, account, f)
		if !errors.Is(err, ErrConflict) {
			return err
		}
		// The next look shows whether the code is still good; each round somebody
		// else has won.
	}
}

// use marks the code as used, or reports that it is not one of f's.
func (m *Manager) use(f *Factor, code string) bool {
	if f.Secret == nil {
		return false
	}
	if step, ok := match(f.Secret, code, m.now(), f.Step); ok {
		f.Step = step
		return true
	}
	left, ok := useRecovery(f.Recovery, code)
	if ok {
		f.Recovery = left
	}
	return ok
}
