// Package storetest checks implementations of the storage interfaces, as named
// subtests. The interface's comment is the contract, and each subtest checks one
// sentence of it. This module runs the suites against its own stores.
//
// # What is not checked
//
//   - Whether confirmed writes survive when the engine is killed, loses power or
//     fails over.
//   - What another process that shares the store sees.
//   - Whether secrets are sealed.
//   - How long a call takes.
//
// # Compatibility
//
// A version may add subtests. Features may gain fields: write its literals with
// field names.
package storetest

import (
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/suite"
)

// Features describes the store that a suite checks. The zero value is right for a
// store that reads the system clock.
type Features struct {
	// Now is the store's clock; nil: time.Now.
	Now func() time.Time

	// Pass advances that clock by d; nil: time.Sleep.
	Pass func(d time.Duration)

	// Stepwise is for a signing.Replays that claims in several steps and cannot
	// undo them, as over a store of keys and values. Such a store may record
	// the signature of a claim that it refuses for its nonce. It may also record
	// the nonce of a sibling that it refuses because the limit is reached.
	Stepwise bool

	// Account and Org return an id that no call has returned before, in the form of the
	// application's own ids. They are for a store whose columns hold no other text, such
	// as uuid. nil: any text. With one of them, a suite leaves out names of another form,
	// which such a column cannot hold. It still passes the empty text.
	Account, Org func() string
}

// cast has the ids of the accounts and orgs of one subtest, by the names that the
// subtest gives them.
type cast struct {
	suite.Features
	accounts map[string]string
	org      auth.OrgKey
	orgs     map[string]auth.OrgKey
}

func newCast(of Features) cast {
	f := suite.Features(of)
	return cast{Features: f, accounts: map[string]string{}, org: f.NewOrg(), orgs: map[string]auth.OrgKey{}}
}

// id returns the id of an account. An id is its own name, and nobody has the empty one.
func (c *cast) id(name string) string {
	if c.Account == nil || name == "" {
		return name
	}
	if c.accounts[name] == "" {
		id := c.Account()
		c.accounts[name], c.accounts[id] = id, id
	}
	return c.accounts[name]
}

// other returns another org than org. In a store of texts, its name is like that of org.
func (c *cast) other(suffix string) auth.OrgKey {
	if c.Org == nil {
		return c.org + auth.OrgKey(suffix)
	}
	if c.orgs[suffix] == "" {
		c.orgs[suffix] = auth.OrgKey(c.Org())
	}
	return c.orgs[suffix]
}

// odd are account ids that a store might split or treat as equal.
func (c *cast) odd() []string {
	if c.Account != nil {
		return []string{c.Account(), c.Account(), c.Account()}
	}
	return odd
}
