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
}

// Role is a named set of scope chains.
type Role struct {
	Name  string
	Scope []string
}
