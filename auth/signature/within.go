package signature

import (
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
)

// Within decides whether a principal may give the app of a client key this
// credential, in place of before; nil if there is none. It is the rule of
// auth.Principal.MayMake for each account that the credential can act as. A change
// that only narrows the credential, or ends it, is never refused.
//
// To show a secret of a credential is to make it anew: before is nil then. To enable
// an app again brings back its tokens, too, and is auth.Everything. The application
// says whether the principal is an administrator. The error is an *auth.BeyondError,
// or that of Tenant.Vet for a scope that cannot be granted.
func Within(by auth.Principal, admin bool, t *auth.Tenant, clientKey string, before *Credential, after Credential) error {
	if before == nil || !slices.Equal(before.Scope, after.Scope) {
		// A root that is not known yet permits nothing, and could do so later.
		if err := t.Vet("scope", after.Scope); err != nil {
			return err
		}
	}
	if before != nil && after.Narrows(before, t, clientKey) {
		return nil
	}
	if by.Org != t.Org.Code {
		return &auth.BeyondError{Excess: []auth.Excess{{Option: "sub"}}}
	}
	return by.MayMake(admin, after.makings(t, clientKey)...)
}

// makings are what the credential can act as, once for each account. One that is
// disabled acts as nobody until it is enabled, which is another change.
func (c *Credential) makings(t *auth.Tenant, clientKey string) (all []auth.Making) {
	if c.Disabled {
		return nil
	}
	for _, account := range c.accounts() {
		all = append(all, auth.Making{
			Account:  account,
			App:      clientKey,
			Scope:    c.asked(t),
			Expires:  c.NotAfter,
			Networks: c.Networks,
		})
	}
	return all
}

// Narrows reports whether the credential can do nothing that before cannot, as the
// one of the app's client key.
func (c *Credential) Narrows(before *Credential, t *auth.Tenant, clientKey string) bool {
	if c.Disabled {
		return true
	}
	if before.Disabled || c.Key != before.Key || c.NotBefore.Before(before.NotBefore) {
		return false
	}
	accounts := before.accounts()
	for _, m := range c.makings(t, clientKey) {
		bound := auth.Principal{
			Account:       m.Account,
			App:           clientKey,
			Granted:       before.asked(t),
			Expires:       before.NotAfter,
			Networks:      before.Networks,
			Authenticated: time.Unix(1, 0), // any time will do: a signature is proof
		}
		if !slices.Contains(accounts, m.Account) || bound.MayMake(false, m) != nil {
			return false
		}
	}
	return true
}

// accounts are those the credential can act as.
func (c *Credential) accounts() (all []string) {
	if c.Account != "" {
		all = append(all, c.Account)
	}
	for _, account := range c.Accounts {
		if account != "" && !slices.Contains(all, account) {
			all = append(all, account)
		}
	}
	return all
}

// asked is what the credential's scope would permit. It is not kept: what somebody
// asks for must not take the place of what is in use.
func (c *Credential) asked(t *auth.Tenant) scope.Set {
	if c.Scope == nil {
		return scope.Unscoped()
	}
	set, _ := t.Compile("credential", c.Scope) // without the chains that permit nothing
	return set
}
