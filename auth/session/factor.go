package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/redacted"
	"github.com/tenantkit/tenantkit/internal/verbs"
)

// Factor is the second factor of an account: a time-based one-time password (RFC 6238),
// and recovery codes for an owner who has lost the device. The zero Factor means that
// there is none.
type Factor struct {
	// Version counts the changes of the record. 0 means that it was never saved.
	Version int64

	Secret  FactorSecret // zero: no factor is active
	Pending FactorSecret // of an enrolment that is not confirmed yet

	// Step is the latest time step whose code was accepted. Codes of this step and of
	// earlier ones are not accepted again.
	Step int64

	// Recovery holds the SHA-256 of each unused recovery code. A plain hash is enough,
	// because each code has 128 random bits.
	Recovery [][32]byte
}

// FactorStore keeps one record per account. It seals the secrets at rest. That of a person is in the org
// auth.PersonKey, under auth.Account.Person.
//
// Implementations are safe for concurrent use, in this process and in others that share
// the store, and return when ctx ends.
type FactorStore interface {
	// Factor returns the account's record, or the zero Factor if there is none.
	Factor(ctx context.Context, org auth.OrgKey, account string) (Factor, error)

	// Save stores f if the record's version is still f.Version, and raises the version
	// by one. This is one atomic step: of concurrent calls with one version exactly one
	// returns nil, and the others return auth.ErrConflict. To remove a factor, save it
	// without secrets. Its version stays, so that no change that began earlier can
	// restore it.
	Save(ctx context.Context, org auth.OrgKey, account string, f Factor) error
}

// FactorSecret is the shared secret of a second factor: 20 random bytes, or 32 with
// Manager.SHA256Codes. "" is none. []byte(secret) has the bytes: it prints REDACTED.
type FactorSecret = redacted.String[factorSecret]

type factorSecret struct{}

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
	if of.manager.FactorStore == nil {
		return FactorState{}, nil
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	owner, err := ownerIn(ctx, org, account)
	if err != nil {
		return FactorState{}, err
	}
	f, err := of.manager.FactorStore.Factor(ctx, owner.org, owner.id)
	return FactorState{f.Secret != "", f.Pending != "", len(f.Recovery)}, auth.Unavailable(err)
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
// nothing is changed. After an error that wraps auth.ErrUnavailable, or auth.ErrConflict if
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
		if f.Secret == "" && f.Pending == "" && len(f.Recovery) == 0 {
			return nil
		}
		f.Secret, f.Pending, f.Recovery = "", "", nil
		err = m.FactorStore.Save(ctx, org, account, f)
		if err == nil {
			auth.Emit(ctx, auth.Event{Verb: verbs.FactorRemoved, Org: org, Account: account, Reason: "reset"})
		}
		if !errors.Is(err, auth.ErrConflict) {
			return auth.Unavailable(err)
		}
	}
	return fmt.Errorf("session: the second factor was changed meanwhile: %w", auth.ErrConflict)
}
