package session

import (
	"context"
	"encoding/base32"
	"errors"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/verbs"
)

// Enrolment is a second factor that waits for its first code.
type Enrolment struct {
	Account string
	Secret  FactorSecret // see Factors.OTPAuth
}

// Base32 returns the secret in the form that a user types into an authenticator app.
func (e Enrolment) Base32() string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(e.Secret))
}

// Enrol begins the enrolment of a second factor, or of another device. The account is
// that of the session that the request was admitted with. Without a session it is that
// of the enrolment ticket in the request.
//
// Nothing changes until Factors.Confirm. A second Factors.Enrol invalidates the first. With a session,
// Factors.Confirm replaces the active factor, and no code of the active factor is required.
//
// A session must have authenticated within the last ten minutes, as for all verbs that change a
// second factor. Otherwise the detail of the error is auth.DetailReauthenticate.
//
// Factors.Enrol returns an error that wraps ErrCode for a ticket that is no longer valid,
// auth.ErrConflict if the factor was changed meanwhile, or auth.ErrUnavailable. Without a
// session and an enrolment ticket, its detail is auth.DetailNoCredentials.
func (of Factors) Enrol(r *http.Request) (Enrolment, error) {
	m := of.manager
	t, by, err := m.enroller(r, ticketEnrol)
	if err != nil {
		return Enrolment{}, err
	}
	f, err := m.factorFor(r.Context(), t, by)
	if err != nil {
		return Enrolment{}, err
	}
	f.Pending = m.codes().newSecret()
	if err := m.saveFactor(r.Context(), t, ownerOf(by.account), f); err != nil {
		return Enrolment{}, err
	}
	return Enrolment{by.account.ID, f.Pending}, nil
}

// Confirm activates an enrolment by a code of it, and returns the recovery codes, which
// are shown once. With a ticket it creates the session. With a session it renews the
// token and ends the account's other sessions. The session is no fresher than before.
//
// Factors.Confirm returns an error that wraps ErrCode, ErrLocked, auth.ErrConflict or
// auth.ErrUnavailable. Without a session and an enrolment ticket, its detail is
// auth.DetailNoCredentials. If a step after the activation fails, the activation is
// undone: recovery codes never come beside an error. If the store of factors itself does
// not answer, the factor may be active: Factors.RenewRecovery then shows codes.
func (of Factors) Confirm(w http.ResponseWriter, r *http.Request, code string) (recovery []string, err error) {
	m := of.manager
	t, by, err := m.enroller(r, ticketEnrol)
	if err != nil {
		return nil, err
	}
	undo := func() {} // until something is activated
	activate := func(*opening) (err error) {
		recovery, undo, err = m.activate(r.Context(), t, by, code)
		return err
	}
	if by.ticket != nil {
		_, err = m.complete(w, r, t, *by.ticket, activate)
	} else if err = activate(nil); err == nil {
		// The session's time of authentication stays: a code of a secret that it has just received proves
		// nothing more. Other sessions were created with the former factor, or with none.
		p := auth.From(r.Context())
		if err = m.renew(w, r, t, p.Authenticated); err == nil {
			err = m.endOwn(r.Context(), t, p.Account, p.SessionID, verbs.FactorEnrolled)
		}
	}
	if err != nil {
		undo()
		return nil, err
	}
	auth.Emit(r.Context(), auth.Event{Verb: verbs.FactorEnrolled, Account: by.account.ID})
	return recovery, nil
}

// Remove removes the second factor of the session's account, by a code of it, and ends
// the account's other sessions. The session must be fresh, as for Factors.Enrol.
//
// Factors.Remove returns an error that wraps ErrCode or ErrLocked. If the org requires a
// factor, the error wraps auth.ErrForbidden: the factor can only be replaced, by a new
// enrolment. After an error that wraps auth.ErrUnavailable, the factor may be removed
// or not. If it is, call Sessions.RevokeAll to end the other sessions. Without a session the
// detail is auth.DetailForbidden.
func (of Factors) Remove(r *http.Request, code string) error {
	m := of.manager
	t, by, err := m.enroller(r)
	if err != nil {
		return err
	}
	if t.Org.Session.SecondFactor {
		return &auth.Error{Detail: auth.DetailForbidden, Reason: "the org requires a second factor", Err: auth.ErrForbidden}
	}
	none := func(f *Factor) { f.Secret, f.Pending, f.Recovery = "", "", nil }
	if err := m.withCode(r.Context(), t, by.account, code, none); err != nil {
		return err
	}
	auth.Emit(r.Context(), auth.Event{Verb: verbs.FactorRemoved, Account: by.account.ID})
	return m.endOwn(r.Context(), t, by.account.ID, auth.From(r.Context()).SessionID, verbs.FactorRemoved)
}

// Factors.RenewRecovery gives the session's account new recovery codes, by a code of its
// second factor. They are shown once, and all former ones are no longer valid. The session
// must be fresh, as for Factors.Enrol. The account's sessions stay.
//
// Factors.RenewRecovery returns an error that wraps ErrCode or ErrLocked. After an error that
// wraps auth.ErrUnavailable, the former codes may be valid or not: call it again. Without
// a session the detail is auth.DetailForbidden.
func (of Factors) RenewRecovery(r *http.Request, code string) (recovery []string, err error) {
	t, by, err := of.manager.enroller(r)
	if err != nil {
		return nil, err
	}
	recovery, hashes := newRecovery()
	if err := of.manager.withCode(r.Context(), t, by.account, code, func(f *Factor) { f.Recovery = hashes }); err != nil {
		return nil, err
	}
	return recovery, nil
}

var errNoFactors = errors.New("session: Manager.FactorStore is required for this")

// enroller is the account of an enrolment, and its ticket if there is no session.
type enroller struct {
	account *auth.Account
	ticket  *Session
}

// enroller returns whose second factor the request may change: the account of its fresh session, or without
// a session that of a ticket for one of these steps.
func (m *Manager) enroller(r *http.Request, steps ...string) (t *auth.Tenant, by enroller, err error) {
	p := auth.From(r.Context())
	account := p.Account
	if len(steps) > 0 && p.SessionID == "" {
		if t, err = m.tenant(r.Context()); err != nil {
			return t, by, err
		}
		s, failed := m.ticket(r, t, steps...)
		if failed == errOtherStep || errors.Is(failed, ErrCode) && !m.ticketCookie().isSent(r, t) {
			failed = errNobody
		}
		account, by.ticket, err = s.Account, &s, failed
	} else if t, p, err = m.admitted(r); err == nil {
		err = m.checkFresh(p)
	}
	if err == nil && m.FactorStore == nil {
		err = errNoFactors
	}
	if err != nil {
		return t, by, err
	}
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	by.account, err = t.Account(ctx, account)
	return t, by, err
}

// errNobody refuses a request without a session and without an enrolment ticket. A
// ticket for a code is no credential here. An invalid enrolment ticket is errCode
// instead.
var errNobody = &auth.Error{Detail: auth.DetailNoCredentials, Err: errors.New("session: neither a session nor a ticket to enrol")}

// factorFor returns the record that an enrolment changes. A ticket permits only the
// first enrolment, because its holder has proved no more than a password.
func (m *Manager) factorFor(ctx context.Context, t *auth.Tenant, by enroller) (Factor, error) {
	f, err := m.factor(ctx, t, ownerOf(by.account))
	if err == nil && by.ticket != nil && f.Secret != "" {
		return Factor{}, errCode
	}
	return f, err
}

// activate makes the pending secret the account's active one. undo makes the former one active
// again, and does nothing if none was activated.
func (m *Manager) activate(ctx context.Context, t *auth.Tenant, by enroller, code string) (recovery []string, undo func(), err error) {
	undo = func() {}
	err = m.counted(ctx, t, by.account, func() error {
		f, err := m.factorFor(ctx, t, by)
		if err != nil {
			return err
		}
		step, ok := m.codes().match(f.Pending, code, m.now(), 0)
		if f.Pending == "" || !ok {
			return errCode
		}
		former := f
		former.Version++ // Save raises it; it refuses this one after a further change, which so stays
		recovery, f.Recovery = newRecovery()
		f.Secret, f.Pending, f.Step = f.Pending, "", step
		if err := m.saveFactor(ctx, t, ownerOf(by.account), f); err != nil {
			return err
		}
		undo = func() { m.saveFactor(context.WithoutCancel(ctx), t, ownerOf(by.account), former) }
		return nil
	})
	return recovery, undo, err
}

// counted takes a step with a code, and counts it as an attempt.
func (m *Manager) counted(ctx context.Context, t *auth.Tenant, a *auth.Account, step func() error) error {
	of := ownerOf(a)
	once := attempt{m.Attempts, t, []counter{newCounter(of.org, freeCodes, "code", of.id)}}
	_, err := once.begin(ctx, m.now())
	if err == nil {
		err = once.finish(ctx, step()) // not deferred, so that the attempt stays counted after a panic
	}
	switch {
	case errors.Is(err, ErrCode):
		auth.Emit(ctx, auth.Event{Verb: verbs.CodeRefused, Account: a.ID})
	case errors.Is(err, ErrLocked):
		auth.Emit(ctx, auth.Event{Verb: verbs.LoginDelayed, Account: a.ID, Reason: MethodCode})
	}
	return err
}

// saveFactor saves f, or returns auth.ErrConflict.
func (m *Manager) saveFactor(ctx context.Context, t *auth.Tenant, of owner, f Factor) error {
	ctx, cancel := t.Bound(ctx)
	defer cancel()
	err := m.FactorStore.Save(ctx, of.org, of.id, f)
	if errors.Is(err, auth.ErrConflict) {
		return err
	}
	return auth.Unavailable(err)
}

// withCode accepts a code of the account's factor and changes the factor in the same
// step. No code is therefore accepted twice, not even by two processes.
func (m *Manager) withCode(ctx context.Context, t *auth.Tenant, a *auth.Account, code string, change func(*Factor)) error {
	return m.counted(ctx, t, a, func() error {
		// One timeout for all rounds, so that a store that always returns an old version
		// does not cause an endless loop.
		ctx, cancel := t.Bound(ctx)
		defer cancel()
		for {
			f, err := m.factor(ctx, t, ownerOf(a))
			if err != nil {
				return err
			}
			verb := m.useCode(&f, code)
			if verb == "" {
				return errCode
			}
			change(&f)
			if err = m.saveFactor(ctx, t, ownerOf(a), f); err == nil {
				auth.Emit(ctx, auth.Event{Verb: verb, Account: a.ID})
			}
			if !errors.Is(err, auth.ErrConflict) {
				return err
			}
			// Another request has changed the factor: check whether the code is still valid.
		}
	})
}

// useCode marks the code as used in f, and returns the verb for that. It is "" if it is no valid code of f.
func (m *Manager) useCode(f *Factor, code string) (verb string) {
	if f.Secret == "" {
		return ""
	}
	if step, ok := m.codes().match(f.Secret, code, m.now(), f.Step); ok {
		f.Step = step
		return verbs.CodeAccepted
	}
	if left, ok := useRecovery(f.Recovery, code); ok {
		f.Recovery = left
		return verbs.RecoveryUsed
	}
	return ""
}
