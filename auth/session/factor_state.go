package session

import (
	"context"
	"errors"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/verbs"
)

// FactorState says what second factor an account has. It holds no secret.
type FactorState struct {
	Active       bool // logins require a code
	Pending      bool // an enrolment waits for its first code
	RecoveryLeft int  // recovery codes that are not used yet
}

// State returns the state of the account's second factor, for the account's own
// page and for administrators. It checks no permission. An account without a factor has
// the zero FactorState. The error wraps auth.ErrUnavailable.
func (of Factors) State(ctx context.Context, org auth.OrgKey, account string) (FactorState, error) {
	m := of.manager
	if m.FactorStore == nil {
		return FactorState{}, nil
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	owner, err := ownerIn(ctx, org, account)
	if err != nil {
		return FactorState{}, err
	}
	f, err := m.FactorStore.Factor(ctx, owner.org, owner.id)
	if err != nil {
		return FactorState{}, auth.Unavailable(err)
	}
	return FactorState{!f.Secret.isNone(), !f.Pending.isNone(), len(f.Recovery)}, nil
}

// Reset removes the second factor of an account whose owner has lost the device
// and the recovery codes. It also ends a pending enrolment, all sessions of the account,
// its incomplete logins and its mailed tickets: somebody else may have the device.
//
// It checks no permission and no code. From then on the password alone opens a session,
// or leads to a new enrolment if the org requires a factor. So the application must have
// made sure who asks, and that they may make auth.Everything of the account: see
// auth.Principal.MayMake.
//
// The factor of a person (auth.Account.Person) is relied on by several orgs, so Factors.Reset refuses it
// to each of them, with auth.ErrForbidden: an administrator of one org must not open the others. Whoever
// operates all orgs calls it with auth.PersonKey and the person, in a request whose Directory has
// auth.People.
//
// Factors.Reset returns nil if there was no factor. An empty account is an error, and
// nothing is changed. After an error that wraps auth.ErrUnavailable, or ErrConflict if
// the factor changes all the time, call it again.
func (of Factors) Reset(ctx context.Context, org auth.OrgKey, account string) error {
	m := of.manager
	if account == "" {
		return errors.New("session: Factors.Reset without an account")
	}
	if m.FactorStore == nil {
		return errNoFactors
	}
	owner, err := ownerIn(ctx, org, account)
	if err == nil && owner.isPerson() && org != auth.PersonKey {
		err = &auth.Error{Detail: auth.DetailForbidden, Reason: "the second factor is that of a person with accounts at other orgs",
			Err: auth.ErrForbidden}
	}
	if err != nil {
		return err
	}
	// Before, so that no session enrols another factor at once.
	if _, err := m.Sessions().RevokeAll(ctx, org, account, ""); err != nil {
		return err
	}
	if err := m.removeFactor(ctx, org, account); err != nil {
		return err
	}
	// And afterwards, so that no login by the former factor is left.
	_, err = m.Sessions().RevokeAll(ctx, org, account, "")
	return err
}

// removeFactor removes whatever factor there is, also one that changes meanwhile.
func (m *Manager) removeFactor(ctx context.Context, org auth.OrgKey, account string) error {
	const rounds = 10 // a store that always returns an old version must not cause an endless loop
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	for range rounds {
		f, err := m.FactorStore.Factor(ctx, org, account)
		if err != nil {
			return auth.Unavailable(err)
		}
		if f.Secret.isNone() && f.Pending.isNone() && len(f.Recovery) == 0 {
			return nil
		}
		f.Secret, f.Pending, f.Recovery = FactorSecret{}, FactorSecret{}, nil
		err = m.FactorStore.Save(ctx, org, account, f)
		if err == nil {
			auth.Emit(ctx, auth.Event{Verb: verbs.FactorRemoved, Org: org, Account: account, Reason: "reset"})
		}
		if !errors.Is(err, ErrConflict) {
			return auth.Unavailable(err)
		}
	}
	return &auth.Error{Detail: auth.DetailConflict, Err: ErrConflict}
}
