package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tenantkit/tenantkit/internal/baseurl"
	"github.com/tenantkit/tenantkit/internal/urlpath"
)

// Tenant is the org of a request, for mechanisms and handlers. Its look-ups are bound to that
// org: they do not find what belongs to another org.
type Tenant struct {
	Org     *Org
	Version string
	Command string // the escaped path below the mount, which version 1 of a signature covers; at least "/"

	guard     *Guard
	url       *url.URL              // of the request as it came to the Guard
	authority *string               // of the tenant's URL; nil: that of the Guard's BaseURL
	notes     atomic.Pointer[notes] // for the observer; nil: nothing, as for most requests
}

// noOrg is the org of a request before its org is found. Observers can get it, and so can a
// Directory during the look-up.
var noOrg Org

// Path returns the escaped path as it came to the Guard. Version 2 of a signature covers it, behind
// BaseURL.
func (t *Tenant) Path() string {
	escaped, _ := urlpath.Clean(t.url)
	return escaped
}

// BaseURL returns the Guard's BaseURL, with the authority that its Resolve has named.
func (t *Tenant) BaseURL() string {
	if t.authority == nil {
		return t.guard.BaseURL
	}
	scheme, rest, _ := strings.Cut(t.guard.BaseURL, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + *t.authority + rest[len(host):]
}

// URL returns BaseURL/org/version, which is the audience of tokens.
func (t *Tenant) URL() string { return t.guard.BaseURL + "/" + t.Org.Code + "/" + t.Version }

// WellKnown returns the URL of a document about URL, as RFC 8414 (section 3.1) and RFC 9728
// (section 3) place it: /.well-known/NAME comes between the host and the path of URL.
func (t *Tenant) WellKnown(name string) string {
	u, _ := baseurl.Parse(t.URL()) // the Guard has checked its BaseURL
	u.Path = "/.well-known/" + name + u.Path
	return u.String()
}

// Takes reports whether tokens of this audience are valid here: those for URL, those for one
// of the Guard's Audiences, and those for a former code of the org. The key that signed the
// token must belong to the org in any case.
func (t *Tenant) Takes(audience string) bool {
	rest, ok := strings.CutPrefix(audience, t.guard.BaseURL+"/")
	code, version, found := strings.Cut(rest, "/")
	if !ok || !found || code != t.Org.Code && !slices.Contains(t.Org.FormerCodes, code) {
		return false
	}
	return version == t.Version || slices.Contains(t.guard.Audiences, version)
}

// At returns the same place of another org, which it takes by its code, for a handler whose request
// concerns two orgs. The error is that of a request to an unknown org. It is also an error if Guard.Resolve
// is set, because the orgs may then have hosts of their own.
func (t *Tenant) At(ctx context.Context, code string) (*Tenant, error) {
	if t.guard.Resolve != nil {
		return nil, errors.New("auth: Tenant.At with a Guard that has Resolve")
	}
	c := new(call)
	err := c.reenter(ctx, &Tenant{Org: &Org{Code: code}, Version: t.Version, Command: t.Command, guard: t.guard, url: t.url})
	return &c.tenant, err
}

// People returns the Directory's People, or nil. They are not cached.
func (t *Tenant) People() People {
	d := t.guard.Directory
	if c, ok := d.(*CachedDirectory); ok {
		d = c.directory
	}
	people, _ := d.(People)
	return people
}

// Settings returns the Guard's settings.
func (t *Tenant) Settings() *Settings { return &t.guard.settings }

// Now returns the time by the Guard's clock.
func (t *Tenant) Now() time.Time { return t.guard.now() }

// Loopback reports whether the server's BaseURL is http on a loopback host. Only there
// cookies work without TLS. It does not depend on the listener's address.
func (t *Tenant) Loopback() bool { return t.guard.names.loopback }

// Bound returns a context with the Guard's Timeout, for the store calls of one step of a
// handler.
func (t *Tenant) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, t.guard.timeout())
}

// TenantFrom returns the tenant of a request inside a Guard. Outside a Guard it returns nil.
func TenantFrom(ctx context.Context) *Tenant {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return nil
	}
	return &c.tenant
}

// App returns an app of this org. It returns ErrNotFound if no app has exactly this client
// key, or if the app is disabled. Any other error wraps ErrUnavailable.
func (t *Tenant) App(ctx context.Context, clientKey string) (*App, error) {
	app, err := t.guard.Directory.App(ctx, clientKey)
	if err := lookup("app", app == nil, err); err != nil {
		return nil, err
	}
	// The directory finds apps by client key alone, so the org is checked here, once for all
	// mechanisms. Some databases ignore case when they compare text. An app or account that
	// had several names would have its limits several times.
	if app.Org != t.Org.Key() || app.ClientKey != clientKey || app.Disabled {
		return nil, fmt.Errorf("app of another org or key, or disabled: %w", ErrNotFound)
	}
	return app, nil
}

// Account returns an account of this org. It returns ErrNotFound if no account has exactly
// this id, or if the account is disabled. Any other error wraps ErrUnavailable.
func (t *Tenant) Account(ctx context.Context, id string) (*Account, error) {
	account, err := t.guard.Directory.Account(ctx, t.Org.Key(), id)
	if err := lookup("account", account == nil, err); err != nil {
		return nil, err
	}
	if account.Org != t.Org.Key() || account.ID != id || account.Disabled {
		return nil, fmt.Errorf("account of another org or id, or disabled: %w", ErrNotFound)
	}
	return account, nil
}

// Roles returns the roles of this org with exactly these names. It leaves unknown names out.
// The error wraps ErrUnavailable.
func (t *Tenant) Roles(ctx context.Context, names []string) ([]Role, error) {
	roles, err := t.guard.Directory.Roles(ctx, t.Org.Key(), names)
	if err != nil {
		return nil, Unavailable(fmt.Errorf("role look-up: %w", err))
	}
	other := func(r Role) bool { return !slices.Contains(names, r.Name) }
	if slices.ContainsFunc(roles, other) {
		roles = slices.DeleteFunc(slices.Clone(roles), other) // the directory's slice is shared
	}
	return roles, nil
}

// lookup separates "there is none" from "the directory did not answer". The second must never
// read as the first. A directory that returns neither a result nor an error did not answer.
func lookup(what string, nothing bool, err error) error {
	switch {
	case err == nil && !nothing:
		return nil
	case err == nil:
		err = errNeither
	case IsNotFound(err):
		return err
	}
	return Unavailable(fmt.Errorf("%s look-up: %w", what, err))
}
