package auth

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/scope"
)

// Principal is who a request acts as, and what it may do. It is a value, made for one
// request: a change of a copy does not affect other requests. The zero Principal is nobody
// and may do nothing.
type Principal struct {
	Org       OrgKey // Org.Key of the org it belongs to, always the org of the URL
	App       string // client key of the app it came through; empty for a session, and for a token of another issuer without one
	Account   string // id of the account it acts as
	Caller    string // id of the account that called; differs from Account under an override, and for an Actor
	Mechanism string // name of the mechanism that authenticated it

	Roles []string

	// Scope limits what the request may do. Granted limits what it may grant to what it
	// makes. They differ only while a view runs: see WithoutScope.
	Scope, Granted scope.Set

	Access

	Limited       bool // the token has a limited number of uses; here it takes no memory of its own
	administrator bool // beside another bool it takes no memory of its own

	TokenID   string // id of an API key, or of the record of a permanent or limited-use token: the jti of the first of its family
	TokenKey  string // id of the key that signed the token, whatever its kind
	Maker     string // id of the account that made the token for Account; empty: Account itself
	MakerApp  string // client key of the app whose key made the token of App; empty: App itself
	SessionID string // public id of a session, never its secret

	// Expires is the end of the token, of the former key that signed it, or of the secret
	// that signed, also of a rotated one; zero: no end. Networks are where requests may come
	// from; nil: anywhere. Both also limit what the request may make: see MayMake. A session
	// has neither.
	Expires  time.Time
	Networks []netip.Prefix

	// Authenticated is when the caller proved who it is, by a signature or a password. It is
	// zero for a token, because whoever holds a token can send it.
	Authenticated time.Time

	onAdmit func(ctx context.Context, r *http.Request) error
}

// Principal returns what a mechanism of this name returns for a request of the org that acts as an account, through an
// app or none. It may grant what it may do. The mechanism adds what else it knows.
func (t *Tenant) Principal(mechanism, app, account string, roles []string, set scope.Set) Principal {
	return Principal{
		Org: t.Org.Key(), App: app, Account: account, Caller: account, Mechanism: mechanism, Roles: roles, Scope: set, Granted: set,
	}
}

// OnAdmit returns p with a function that runs when the request has met the need of its route,
// before the handler runs. Use it for a step that must not happen for a refused request. The
// function is called once per request. Its ctx has the Guard's Timeout, and its error refuses
// the request. It must not call Guard.Check, which would wait for it.
func (p Principal) OnAdmit(do func(ctx context.Context, r *http.Request) error) Principal {
	p.onAdmit = do
	return p
}

// Access says which access rules on objects do not apply to a credential. Those rules are the
// application's: the library carries these values and decides nothing by them.
type Access struct {
	Grant         scope.Level // on every object that the principal can reach; 0: none
	SkipACL       bool        // for matching objects
	SkipCreateACL bool        // for creating objects
}

// AtLeast reports whether the granted level reaches level.
func (a Access) AtLeast(level scope.Level) bool {
	return level != 0 && a.Grant >= level
}

// HasRole reports whether the principal holds the role.
func (p Principal) HasRole(name string) bool {
	return slices.Contains(p.Roles, name)
}

// WithoutScope returns p for running a view: its scope is lifted, and everything else still
// applies. Granted still limits what it may grant (section 5.5 of the interface, rule 5).
func (p Principal) WithoutScope() Principal {
	p.Scope = scope.Unscoped()
	return p
}

// AsAdministrator returns p as an administrator of its org, for MayMake and what calls it. Only the
// application knows who is one: p.AsAdministrator(p.HasRole("administrator")). Everybody else is
// none.
func (p Principal) AsAdministrator(is bool) Principal {
	p.administrator = is
	return p
}

// Actor returns the id of the account that acts for Account in a session of session.Manager.Act, or "". It
// is the Caller there.
func (p Principal) Actor() string {
	if p.SessionID == "" || p.Caller == p.Account {
		return ""
	}
	return p.Caller
}

type principalKey struct{}

// From returns the principal of a request's context: the one that the Guard admitted, or that
// of the nearest With. If there is neither, it returns the zero Principal.
func From(ctx context.Context) Principal {
	if p, ok := ctx.Value(principalKey{}).(*Principal); ok {
		return *p
	}
	return Principal{}
}

// Enclosing returns what From returned where a handler has passed its request on to a Mount, of
// another org perhaps: the nearest principal outside of the innermost Guard. It is the zero
// Principal if there is none. What that principal proved there is no permission here.
func Enclosing(ctx context.Context) Principal {
	for {
		c, ok := ctx.Value(callKey{}).(*call)
		if !ok {
			return Principal{}
		}
		if p := From(c.Context); p.Account != "" {
			return p
		}
		ctx = c.Context
	}
}

// With returns a context in which From returns p. Use it for a view that runs WithoutScope, for
// work on behalf of a principal outside a request, and in tests.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, &p)
}
