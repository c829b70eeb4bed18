package signature

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/clock"
	"github.com/tenantkit/tenantkit/internal/face"
	"github.com/tenantkit/tenantkit/internal/verbs"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/signing"
)

// errRefused is the error for a known credential with a valid signature that may not be used here
// or now. Clients cannot tell it from an unknown credential.
var errRefused = errors.New("signature: credential refused")

// attempt is the state of one request during signing.Verifier.Verify.
type attempt struct {
	mechanism   *Mechanism
	tenant      *auth.Tenant
	credential  *Credential
	account     *auth.Account // who the request acts as
	now         time.Time
	scope       scope.Set
	overrideErr error // why the account header is refused, reported after the claim
}

// Key implements signing.Keys.
func (a *attempt) Key(ctx context.Context, clientKey string) (*signing.Key, error) {
	c, err := a.mechanism.Credentials.Credential(ctx, clientKey)
	switch {
	case auth.IsNotFound(err):
		return nil, signing.ErrUnknownKey
	case err != nil:
		return nil, err
	case c == nil || c.Key == nil:
		return nil, errors.New("signature: Credentials returned neither a key nor an error")
	case c.Key.ClientKey() != clientKey:
		return nil, errors.New("signature: Credentials returned another key than was asked for")
	}
	a.credential = c
	return c.Key, nil
}

// admit runs after the MAC was verified. It decides whether the credential may be used for this
// request, and as which account.
func (a *attempt) admit(ctx context.Context, r *http.Request, key *signing.Key) error {
	// Before the state of the credential, so that the answer tells nothing of that.
	if a.credential.MinVersion > 1 && signing.HeadersFor(a.tenant.Settings().Brand.Header).Version(r.Header) < a.credential.MinVersion {
		return signing.ErrVersion
	}
	if err := a.admitCredential(ctx, r, key); err != nil {
		return err
	}
	err := a.decideOverride(ctx, r.Header.Get(signing.HeadersFor(a.tenant.Settings().Brand.Header).Account))
	if err != nil || a.overrideErr != nil {
		return err
	}
	a.scope, err = a.limit(ctx, key.ClientKey())
	return err
}

// admitCredential decides whether the credential may be used here and now, and sets its own
// account.
func (a *attempt) admitCredential(ctx context.Context, r *http.Request, key *signing.Key) error {
	// Version 1 does not cover the org. Only this look-up, bound to the org of the URL, keeps a request for
	// one org out of another.
	_, err := a.tenant.App(ctx, key.ClientKey())
	if err != nil {
		return refuse(err)
	}
	a.now = a.tenant.Now()
	if !a.credential.liveAt(a.now) {
		return fmt.Errorf("%w: %w", errRefused, auth.ErrEnded)
	}
	if a.credential.Networks != nil && !face.Admits(a.credential.Networks, a.tenant.ClientAddr(r)) {
		return fmt.Errorf("%w: %w", errRefused, auth.ErrNetwork)
	}
	if own := a.credential.Account; own != "" {
		a.account, err = a.tenant.Account(ctx, own)
	}
	return refuse(err)
}

// limit returns what the request may do: what its credential permits, and with
// auth.RolesLimit what the roles of its account permit, too.
func (a *attempt) limit(ctx context.Context, clientKey string) (scope.Set, error) {
	set := scope.Unscoped()
	if a.credential.Scope != nil {
		set = a.tenant.CompileRecord("credential", clientKey, a.credential.Scope)
	}
	if a.tenant.Settings().Roles != auth.RolesLimit {
		return set, nil
	}
	roles, err := a.tenant.RoleScope(ctx, a.account.Roles)
	if err != nil || a.credential.Scope == nil {
		return roles, err
	}
	return set.Intersect(roles), nil
}

// decideOverride finds the account that the header names. It stores a refusal until after the
// claim. It returns an error only if the directory does not answer.
func (a *attempt) decideOverride(ctx context.Context, name string) error {
	switch {
	case name == "" && a.account != nil:
		return nil
	case name == "":
		a.overrideErr = errors.New("signature: the credential has no account of its own and the request names none")
		return nil
	case !a.credential.mayActAs(name):
		a.overrideErr = errors.New("signature: the credential may not act as this account")
		return nil
	case a.account != nil && a.account.ID == name:
		return nil
	}
	account, err := a.tenant.Account(ctx, name)
	if auth.IsNotFound(err) {
		a.overrideErr = err
		return nil
	}
	a.account = account
	return err
}

func (a *attempt) principal(key *signing.Key) auth.Principal {
	if a.account == nil {
		return a.tenant.Principal(Name, key.ClientKey(), "", nil, scope.Set{}) // of Client
	}
	p := a.tenant.Principal(Name, key.ClientKey(), a.account.ID, slices.Clone(a.account.Roles), a.scope)
	p.Caller = cmp.Or(a.credential.Account, p.Account)
	p.Expires, p.Networks = clock.FirstEnd(a.credential.NotAfter, key.Ends()), slices.Clone(a.credential.Networks)
	p.Authenticated = a.now
	return p
}

// due returns where the use of the credential is to be recorded, or nil.
func (a *attempt) due() Seeing {
	if store, ok := a.mechanism.Credentials.(Seeing); ok && a.now.Sub(a.credential.Seen) >= face.Every {
		return store
	}
	return nil
}

// seenBy returns p so that the use of the credential is recorded once the request has met its need. It has
// copies of its own: in most requests nothing is due, and they need no heap.
func (a attempt) seenBy(store Seeing, p auth.Principal) auth.Principal {
	return p.OnAdmit(func(ctx context.Context, r *http.Request) error {
		a.see(ctx, store, r, p)
		return nil
	})
}

// see records the use of the credential.
func (a *attempt) see(ctx context.Context, store Seeing, r *http.Request, p auth.Principal) {
	store.See(ctx, p.App, a.now, a.tenant.ClientAddr(r))
	if verbs.Soon(a.now, p.Expires) && face.IsDaily(a.credential.Seen, a.now) {
		auth.Emit(ctx, auth.Event{Verb: verbs.EndsSoon, App: p.App, Account: p.Account, Reason: p.Expires.Format(time.DateOnly)})
	}
}

// refuse separates "there is none" from "the directory did not answer".
func refuse(err error) error {
	if auth.IsNotFound(err) {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	return err
}
