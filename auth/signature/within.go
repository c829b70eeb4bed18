package signature

import (
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
)

// Within decides whether a principal may give the app of a client key the credential after, in
// place of before. before is nil if there is none. Within applies the rule of
// auth.Principal.MayMake to each account that the credential can act as. It never refuses a
// change that only narrows the credential or ends it.
//
// If the route shows a secret of the credential, pass nil as before, because that counts as
// making it anew. To enable an app again also brings back its tokens, so that counts as
// auth.Everything. by.AsAdministrator says that the principal is an administrator. The error is
// that of MayMake, or that of Tenant.Vet for a scope that cannot be granted.
func Within(by auth.Principal, t *auth.Tenant, clientKey string, before *Credential, after Credential) error {
	if before == nil || !slices.Equal(before.Scope, after.Scope) {
		// An unknown root permits nothing now, but could do so later.
		if err := t.Vet("scope", after.Scope); err != nil {
			return err
		}
	}
	if before != nil && after.Narrows(before, t, clientKey) {
		return nil
	}
	if by.Org != t.Org.Key() {
		return &auth.Error{Detail: auth.DetailDelegation, Faults: []*auth.Error{{Detail: auth.DetailDelegation, Path: "sub"}}}
	}
	return by.MayMake(after.makings(t, clientKey)...)
}

// makings returns one Making for each account that the credential can act as. A disabled
// credential acts as nobody until it is enabled, and enabling is another change.
func (c *Credential) makings(t *auth.Tenant, clientKey string) (all []auth.Making) {
	if c.Disabled {
		return nil
	}
	for _, account := range c.accounts() {
		all = append(all, auth.Making{
			Account:  account,
			App:      clientKey,
			Scope:    c.compile(t),
			Expires:  c.NotAfter,
			Networks: c.Networks,
		})
	}
	return all
}

// Narrows reports whether c can do nothing that before cannot, if both are credentials of the app
// of the client key.
func (c *Credential) Narrows(before *Credential, t *auth.Tenant, clientKey string) bool {
	switch {
	case c.Disabled:
		return true
	case before.Disabled, c.Key != before.Key, c.NotBefore.Before(before.NotBefore),
		max(1, c.MinVersion) < max(1, before.MinVersion): // others could then change what its holder sends
		return false
	}
	accounts := before.accounts()
	bound := auth.Principal{
		App:           clientKey,
		Granted:       before.compile(t),
		Expires:       before.NotAfter,
		Networks:      before.Networks,
		Authenticated: time.Unix(1, 0), // any time: a signature proves who sends it
	}
	return !slices.ContainsFunc(c.makings(t, clientKey), func(m auth.Making) bool {
		bound.Account = m.Account
		return !slices.Contains(accounts, m.Account) || bound.MayMake(m) != nil
	})
}

// accounts returns the accounts that the credential can act as, each once.
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

// compile returns what the credential's scope would permit. It does not cache the result: a
// requested scope must not replace the cached scope that is in use.
func (c *Credential) compile(t *auth.Tenant) scope.Set {
	if c.Scope == nil {
		return scope.Unscoped()
	}
	set, _ := t.Compile("credential", c.Scope) // without the chains that permit nothing
	return set
}
