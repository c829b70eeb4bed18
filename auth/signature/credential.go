package signature

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/signing"
)

// Credential is a signing key of an app with the restrictions it was given
// (section 5.3 of the interface). It is shared by requests and must not be
// altered once returned.
type Credential struct {
	// Key holds the client key and the live secrets. Build it once and return
	// the same pointer while it is unchanged: it keeps prepared state.
	Key *signing.Key

	Account  string   // id of the account that a request without an account header acts as; "": the header is required
	Accounts []string // ids of the further accounts it may act as; nil: nobody

	// Scope holds the chains that bound what requests may do. Nil is no bound: they
	// may do everything that their account may. A chain that does not parse permits
	// nothing.
	Scope []string

	NotBefore, NotAfter time.Time      // inclusive; zero: no bound
	Networks            []netip.Prefix // where requests may come from, IPv4 unmapped; nil: anywhere
	Disabled            bool
}

// Credentials finds the credential of a client key.
//
// Credential returns an error that wraps auth.ErrNotFound for an unknown client
// key; any other error refuses the request with 503. Implementations are safe
// for concurrent use, and return when ctx ends.
type Credentials interface {
	Credential(ctx context.Context, clientKey string) (*Credential, error)
}

// Memory is a fixed set of credentials by client key. It must not be altered
// while it is in use.
type Memory map[string]*Credential

// Credential implements Credentials.
func (m Memory) Credential(ctx context.Context, clientKey string) (*Credential, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c, ok := m[clientKey]; ok {
		return c, nil
	}
	return nil, auth.ErrNotFound
}

// liveAt tells whether the credential may be used at a time.
func (c *Credential) liveAt(now time.Time) bool {
	return !c.Disabled &&
		(c.NotBefore.IsZero() || !now.Before(c.NotBefore)) &&
		(c.NotAfter.IsZero() || !now.After(c.NotAfter))
}

// admits tells whether requests may come from an address. The zero address is
// one that could not be read, and lies in no network.
func (c *Credential) admits(addr netip.Addr) bool {
	return c.Networks == nil || slices.ContainsFunc(c.Networks, func(n netip.Prefix) bool { return n.Contains(addr) })
}

// mayActAs tells whether a request may name the account.
func (c *Credential) mayActAs(account string) bool {
	return account != "" && (account == c.Account || slices.Contains(c.Accounts, account))
}

// set is what the credential's scope permits.
func (c *Credential) set(t *auth.Tenant, clientKey string) scope.Set {
	if c.Scope == nil {
		return scope.Unscoped()
	}
	return t.CompileRecord("credential", clientKey, c.Scope)
}
