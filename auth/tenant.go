package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// Tenant is the org a request is for, as mechanisms and handlers see it. Its
// look-ups are bound to that org: what belongs to another one is not found.
type Tenant struct {
	Org     *Org
	Version string
	Command string // the escaped path below the mount, what a signature covers; at least "/"

	guard   *Guard
	dropped atomic.Pointer[dropped] // the latest that was left out, for the observer
}

// noOrg is the org of a request whose own has not been found: observers, and
// directories that look for it, are called with such a one.
var noOrg Org

// Brand returns the Guard's own names on the wire.
func (t *Tenant) Brand() Brand { return t.guard.Brand }

// URL returns BaseURL/org/version: the audience of tokens.
func (t *Tenant) URL() string { return t.guard.BaseURL + "/" + t.Org.Code + "/" + t.Version }

// Loopback reports whether the server's BaseURL is http on a loopback host: the
// one place where cookies work without TLS. It says nothing of the listener.
func (t *Tenant) Loopback() bool { return t.guard.names.loopback }

// Bound returns a context for the store calls of one step of a handler's work,
// which ends with the Guard's Timeout.
func (t *Tenant) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, t.guard.timeout())
}

// TenantFrom returns the tenant of a request inside a Guard, nil outside.
func TenantFrom(ctx context.Context) *Tenant {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return nil
	}
	return &c.tenant
}

// App returns an app of this org, ErrNotFound if there is none of exactly this
// client key or it is disabled, or an error that wraps ErrUnavailable.
func (t *Tenant) App(ctx context.Context, clientKey string) (*App, error) {
	app, err := t.guard.Directory.App(ctx, clientKey)
	if err := lookup("app", app == nil, err); err != nil {
		return nil, err
	}
	// The directory is keyed by client key alone, so the org is checked here,
	// once for all mechanisms. Some databases compare text without regard to case:
	// one app or account by several names would have several times its limits.
	if app.Org != t.Org.Code || app.ClientKey != clientKey || app.Disabled {
		return nil, fmt.Errorf("app of another org or key, or disabled: %w", ErrNotFound)
	}
	return app, nil
}

// Account returns an account of this org, ErrNotFound if there is none of exactly
// this id or it is disabled, or an error that wraps ErrUnavailable.
func (t *Tenant) Account(ctx context.Context, id string) (*Account, error) {
	account, err := t.guard.Directory.Account(ctx, t.Org.Code, id)
	if err := lookup("account", account == nil, err); err != nil {
		return nil, err
	}
	if account.Org != t.Org.Code || account.ID != id || account.Disabled {
		return nil, fmt.Errorf("account of another org or id, or disabled: %w", ErrNotFound)
	}
	return account, nil
}

// Roles returns the roles of this org with exactly these names; unknown names are
// left out. The error wraps ErrUnavailable.
func (t *Tenant) Roles(ctx context.Context, names []string) ([]Role, error) {
	roles, err := t.guard.Directory.Roles(ctx, t.Org.Code, names)
	if err != nil {
		return nil, unavailable("role", err)
	}
	other := func(r Role) bool { return !slices.Contains(names, r.Name) }
	if slices.ContainsFunc(roles, other) {
		roles = slices.DeleteFunc(slices.Clone(roles), other) // the directory's slice is shared
	}
	return roles, nil
}

// lookup keeps "there is none" apart from "the directory did not answer": the
// second must never read as the first. Neither a result nor an error is no
// answer.
func lookup(what string, nothing bool, err error) error {
	switch {
	case err == nil && !nothing:
		return nil
	case err == nil:
		err = errors.New("neither a result nor an error")
	case IsNotFound(err):
		return err
	}
	return unavailable(what, err)
}

// unavailable says that a look-up failed. Its cause may wrap ErrNotFound, which
// whoever asks for an absence would take for one.
func unavailable(what string, err error) error {
	if errors.Is(err, ErrNotFound) {
		err = errors.New(err.Error())
	}
	return fmt.Errorf("%w: %s look-up: %w", ErrUnavailable, what, err)
}
