package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/tenantkit/tenantkit/auth"
)

// owner is whose guesses are counted together, and whose second factor it is: an account alone, or the
// person of several accounts.
type owner struct {
	org auth.OrgKey // or auth.PersonKey
	id  string
}

func ownerOf(a *auth.Account) owner {
	if a.Person != "" {
		return owner{auth.PersonKey, a.Person}
	}
	return owner{a.Org, a.ID}
}

func (of owner) isPerson() bool { return of.org == auth.PersonKey }

// ownerIn returns the owner of an account of the request's org. Outside of a request, and for an account
// that is disabled or of another org, that is the account alone.
func ownerIn(ctx context.Context, org auth.OrgKey, account string) (owner, error) {
	alone := owner{org, account}
	t := auth.TenantFrom(ctx)
	if t == nil || t.Org.Key() != org {
		return alone, nil
	}
	a, err := t.Account(ctx, account)
	if err != nil {
		return alone, absent(err, nil)
	}
	return ownerOf(a), nil
}

// origin is the session that another one comes from.
type origin struct {
	Org     auth.OrgKey `json:"o"`
	Account string      `json:"a"`
	ID      string      `json:"s"`
	Acting  bool        `json:"x,omitempty"` // the account acts for that of the session
}

func parseOrigin(text string) (from origin) {
	json.Unmarshal([]byte(text), &from) // what is not understood is no session
	return from
}

// Enter opens a session at another org, by its code, for the person of the request's session
// (auth.Account.Person), and sends its cookie. The session of the request stays. There is no active org:
// the URL names the org, and each org has a cookie of its own. Mount it with POST, for sessions.
//
// The policy of the other org decides. Its EnterWith says which methods count there. If a second factor
// is missing, the error wraps ErrSecondFactor, and the ticket is for VerifyCode at the other org. The new
// session is as fresh as the login of the present one, and its life begins with that login: a step-up
// proves less than the login did. A session that the browser has there already stays.
//
// Enter returns an error that wraps auth.ErrNotFound if the person has no account there, ErrProof if the
// org is not entered with this proof, or one of those of Start. Without a session, its detail is
// auth.DetailForbidden. It is auth.DetailSessionExpired if the session of the request is ended meanwhile.
func (m *Manager) Enter(w http.ResponseWriter, r *http.Request, code string) (auth.Principal, error) {
	t, s, account, err := m.person(r)
	if err != nil {
		return auth.Principal{}, err
	}
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	to, err := t.At(ctx, code)
	if err != nil {
		return auth.Principal{}, err
	}
	target, err := accountAt(ctx, to, account.Person)
	if err != nil {
		return auth.Principal{}, err
	}
	if p, err := m.Authenticate(ctx, r, to); err == nil && p.Account == target.ID && p.Actor() == "" {
		return p, nil // another session would end this one, and what was entered from it
	}
	p, err := parseProof(s.Proof, s.Created).entering(to.Org)
	if err != nil {
		return auth.Principal{}, err
	}
	from := origin{Org: s.Org, Account: s.Account, ID: s.ID}
	return m.proceed(w, r, to, authentication{account: target.ID, Proof: p, origin: textOf(from)}, "")
}

// person returns the session of the request, and its account, which is a person's.
func (m *Manager) person(r *http.Request) (*auth.Tenant, Session, *auth.Account, error) {
	t, p, err := m.admitted(r)
	if err = cmp.Or(err, m.SameOrigin(r)); err != nil {
		return t, Session{}, nil, err
	}
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	s, err := m.carried(ctx, r, t)
	if err == nil && s.ID != p.SessionID {
		err = errNoSession
	}
	if err != nil {
		return t, s, nil, err
	}
	account, err := t.Account(ctx, s.Account)
	if err == nil && account.Person == "" {
		err = auth.ErrNotFound
	}
	return t, s, account, err
}

// accountAt returns the account that a person has in the org of t, if it is enabled.
func accountAt(ctx context.Context, t *auth.Tenant, person string) (*auth.Account, error) {
	people := t.People()
	if people == nil {
		return nil, errNoPeople
	}
	a, err := people.AccountOf(ctx, t.Org.Key(), person)
	switch {
	case auth.IsNotFound(err):
		return nil, err
	case err != nil:
		return nil, auth.Unavailable(err)
	case a == nil || a.Org != t.Org.Key() || a.Person != person || a.Disabled:
		return nil, auth.ErrNotFound
	}
	return a, nil
}

var errNoPeople = errors.New("session: this needs a request whose Directory has auth.People")

// entering returns what counts of a proof of another org. Its first step must.
func (p Proof) entering(org *auth.Org) (Proof, error) {
	p.Methods = slices.DeleteFunc(slices.Clone(p.Methods), func(method string) bool {
		return !slices.Contains(org.Session.EnterWith, method)
	})
	first := func(method string) bool {
		return method != MethodCode && method != methodDevice && method != methodVerified
	}
	known := p.Issuer == "" || slices.Contains(org.Session.Issuers, p.Issuer)
	if !known || !slices.ContainsFunc(p.Methods, first) {
		return p, &auth.Error{Detail: auth.DetailForbidden, Reason: "the org requires a login of its own", Err: ErrProof}
	}
	return p, nil
}

// maxEntered is how many sessions one may come from, each from the one before.
const maxEntered = 8

// checkOrigin returns an error if the session must end with those that it comes from, and one of them
// is over. Idle it is not.
func (m *Manager) checkOrigin(ctx context.Context, t *auth.Tenant, s *Session, account *auth.Account) error {
	if s.Origin == "" {
		return nil
	}
	switch from := parseOrigin(s.Origin); {
	case from.ID == "":
		return errOrigin // it may be an actor's
	case from.Acting:
		return m.checkActor(ctx, t, from, account)
	}
	if !t.Org.Session.EndWithOrigin {
		return nil
	}
	text := s.Origin
	for range maxEntered {
		from, err := m.openOrigin(ctx, t, parseOrigin(text), account.Person)
		if err != nil || from.Origin == "" {
			return err
		}
		text = from.Origin
	}
	return errOrigin
}

// openOrigin returns the session that another one of the person comes from.
func (m *Manager) openOrigin(ctx context.Context, t *auth.Tenant, from origin, person string) (Session, error) {
	people := t.People()
	if people == nil {
		return Session{}, errOrigin
	}
	open, err := m.openSession(ctx, from)
	if err != nil {
		return open, err
	}
	there, err := people.AccountOf(ctx, from.Org, person)
	if err == nil && (there == nil || there.ID != from.Account || there.Disabled || changedSince(there, open.Authenticated)) {
		err = errOrigin
	}
	return open, err
}

// openSession returns a session by its ID, whose end has not come.
func (m *Manager) openSession(ctx context.Context, from origin) (Session, error) {
	open, err := m.Sessions().records(ctx, from.Org, from.Account, func(s *Session) bool {
		return s.ID == from.ID && s.Ticket == "" && m.now().Before(s.Expires)
	})
	if err != nil || len(open) == 0 {
		return Session{}, cmp.Or(err, errOrigin)
	}
	return open[0], nil
}

// revokePerson is RevokeAll for all accounts of a person.
func (of Sessions) revokePerson(ctx context.Context, person, except, why string) (ended int, err error) {
	t := auth.TenantFrom(ctx)
	if t == nil || t.People() == nil {
		return 0, errNoPeople
	}
	ctx, cancel := t.Bound(ctx)
	defer cancel()
	accounts, err := t.People().Accounts(ctx, person)
	// Twice: a session that was entered during the first round comes from one that was open then.
	for _, a := range slices.Concat(accounts, accounts) {
		n, failed := of.store.DeleteAll(ctx, a.Org, a.ID, except)
		of.emitEnded(ctx, n, auth.Event{Org: a.Org, Account: a.ID, Count: int64(n), Reason: why})
		ended, err = ended+n, cmp.Or(err, failed)
	}
	return ended, auth.Unavailable(err)
}

// endOwn ends what an account of the request has open, and its person at other orgs, except the session
// with this ID. why is the verb that ends them.
func (m *Manager) endOwn(ctx context.Context, t *auth.Tenant, account, except, why string) error {
	if _, err := m.Sessions().revokeAll(ctx, t.Org.Key(), account, except, why); err != nil {
		return err
	}
	of, err := ownerIn(ctx, t.Org.Key(), account)
	if err == nil && of.isPerson() && t.People() != nil {
		_, err = m.Sessions().revokePerson(ctx, of.id, except, why)
	}
	return err
}
