package auth

import (
	"context"
	"time"
)

// Directory is where orgs, apps, accounts and roles are looked up: the
// application's own tables. It is given to the Guard once; mechanisms see it
// through a Tenant, bound to one org.
//
// Each method returns ErrNotFound (which may be wrapped) for what does not
// exist. Any other error refuses the request with 503. What is returned is
// shared and must not be altered afterwards, by either side.
//
// Implementations are safe for concurrent use, and return when ctx ends.
type Directory interface {
	Org(ctx context.Context, code string) (*Org, error)
	App(ctx context.Context, clientKey string) (*App, error)
	Account(ctx context.Context, org, id string) (*Account, error)

	// Roles returns the roles of the org with these names; unknown names are
	// left out.
	Roles(ctx context.Context, org string, names []string) ([]Role, error)
}

// Org is a tenant.
type Org struct {
	Code     string // [a-z0-9][a-z0-9_-]{0,39}; public
	Disabled bool   // answers as an unknown org
	Session  SessionPolicy
}

// SessionPolicy is what an org asks of its sessions (section 5.2 of the
// interface). It is read with each request: another Idle and a shorter Max hold
// for the sessions that are open already. SecondFactor and PerAccount are asked for
// when one is opened; those that are open stay as they are, unless they are ended.
type SessionPolicy struct {
	Idle         time.Duration // a session unused for this long is over; 0: 30 min
	Max          time.Duration // a session is over this long after login; 0: 12 h
	SecondFactor bool          // required: the login of an account without one leads to enrolling one only
	PerAccount   int           // most sessions of one account, the oldest goes; 1: single login; 0: 100
}

// App is an application of an org. Its secrets and keys live elsewhere, with
// the mechanisms that use them.
type App struct {
	ClientKey string // unique over all orgs; public
	Org       string
	Name      string
	Disabled  bool
}

// Account is a user of an org.
type Account struct {
	ID       string
	Org      string
	Roles    []string
	Disabled bool
	Changed  time.Time // sessions that began earlier are over: password changed, account disabled

	// TokensFrom ends the account's tokens: those with an earlier iat are
	// refused, also ephemeral ones, and those with a jti that the account made for
	// others. It is in whole seconds and only moves forward. Set it by
	// TokensFromNow. While it is more than a minute ahead nothing can be minted.
	TokensFrom time.Time
}

// TokensFromNow returns the TokensFrom that ends every token signed until now: a
// time ahead by stale, for which instances may go on to sign by an older record
// (the time of Cached, 2 s if stale is 0), and one second more, since iat is in
// whole seconds. Tokens that are minted meanwhile, and where the change is known,
// are signed as of that time.
//
// Clocks of instances that differ by more than that second widen the gap: a token
// signed by a clock that is ahead stays good if its iat is not earlier.
func TokensFromNow(now time.Time, stale time.Duration) time.Time {
	if stale <= 0 {
		stale = defaultStale
	}
	from := now.Add(stale + time.Second)
	if cut := from.Truncate(time.Second); cut.Before(from) {
		return cut.Add(time.Second)
	}
	return from
}

// Role is a named set of scope chains.
type Role struct {
	Name  string
	Scope []string
}
