package signature

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/face"
	"github.com/tenantkit/tenantkit/signing"
)

// Credential is a signing key of an app, and its restrictions (section 5.3 of the interface).
// Requests share it, so it must not be changed once returned. In JSON it has its restrictions, and no Key.
type Credential struct {
	// Key holds the client key and the live secrets, or the public keys.
	Key *signing.Key `json:"-"`

	// MinVersion is the lowest version of signatures that the credential accepts. Version 1 covers
	// neither query nor body: 2 refuses it, for a client that never signs it. 0 is 1.
	MinVersion int `json:"minVersion,omitempty"`

	Account  string   `json:"account,omitempty"` // id of the account that a request without an account header acts as; "": the header is required
	Accounts []string `json:"accounts"`          // ids of further accounts it may act as; nil: none

	// Scope holds the chains that limit what requests may do. Nil is no limit: requests may do
	// everything that their account may. A chain that does not parse permits nothing.
	Scope []string `json:"scope"`

	NotBefore time.Time      `json:"notBefore,omitzero"` // inclusive; zero: no limit
	NotAfter  time.Time      `json:"notAfter,omitzero"`  // inclusive; zero: no limit
	Networks  []netip.Prefix `json:"networks"`           // where requests may come from, IPv4 unmapped; nil: anywhere
	Disabled  bool           `json:"disabled,omitempty"`

	// For lists. A new secret changes none of them.
	Name     string     `json:"name,omitempty"`   // a printable line of at most 128 bytes
	Maker    string     `json:"maker,omitempty"`  // id of the account that made it; "": the server itself
	Created  time.Time  `json:"created,omitzero"` // whole milliseconds
	face.Use `json:"-"` // the last use that was recorded
}

// Seeing is a power that Credentials may have: See records the use of a credential, unless another one
// was recorded within the hour before, and never creates one. The Mechanism calls it at most once an hour for
// each credential that it finds, after the request has met its need. A use that is not recorded changes
// nothing else, so there is no error.
type Seeing interface {
	See(ctx context.Context, clientKey string, at time.Time, from netip.Addr)
}

// Credentials finds the credential of a client key.
//
// Credential returns an error that wraps auth.ErrNotFound for an unknown client
// key; any other error refuses the request with 503. Implementations are safe
// for concurrent use, and return when ctx ends.
type Credentials interface {
	Credential(ctx context.Context, clientKey string) (*Credential, error)
}

// Memory is a fixed set of credentials by client key. It must not be changed while it is in use.
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

// liveAt reports whether the credential may be used at a time.
func (c *Credential) liveAt(now time.Time) bool {
	return !c.Disabled &&
		(c.NotBefore.IsZero() || !now.Before(c.NotBefore)) &&
		(c.NotAfter.IsZero() || !now.After(c.NotAfter))
}

// mayActAs reports whether a request may name the account.
func (c *Credential) mayActAs(account string) bool {
	return account != "" && (account == c.Account || slices.Contains(c.Accounts, account))
}
