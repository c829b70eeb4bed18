package auth

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/scope"
)

// Principal is who a request acts as, and how far it may go. It is a value,
// made for one request: altering a copy changes nobody else's rights. The zero
// Principal is nobody and may do nothing.
type Principal struct {
	Org       string // code of the org it belongs to, always that of the URL
	App       string // client key of the app it came through; empty for a session
	Account   string // id of the account it acts as
	Caller    string // id of the account that called; differs from Account under an override
	Mechanism string // name of the mechanism that authenticated it

	Roles []string

	// Scope limits what the request may do, Granted what it may pass on. They
	// differ only while a view runs: see WithoutScope.
	Scope, Granted scope.Set

	Access

	TokenID   string // jti of a permanent or limited-use token
	Maker     string // id of the account that made the token for Account; empty: Account itself
	MakerApp  string // client key of the app whose key made the token of App; empty: App itself
	Limited   bool   // the token may be used a number of times only
	SessionID string // public id of a session, never its secret

	// Expires and Networks bound the credential: the end of a token, or of the
	// secret that signed, also of one that was rotated away (zero: none), and where
	// requests may come from (nil: anywhere). They bound what the request may make,
	// too: see MayMake. A session has neither.
	Expires  time.Time
	Networks []netip.Prefix

	// Authenticated is when the caller proved itself: by a signature or a
	// password. It is zero for a token, which whoever holds it can send.
	Authenticated time.Time

	onAdmit func(ctx context.Context, r *http.Request) error
}

// OnAdmit returns p with what its mechanism does once the request has met the
// need of its route, before the handler runs: what must not happen for a
// request that is refused. It is called once per request, with the Guard's
// Timeout upon ctx; its error refuses the request. It does not call Guard.Check,
// which waits for it.
func (p Principal) OnAdmit(do func(ctx context.Context, r *http.Request) error) Principal {
	p.onAdmit = do
	return p
}

// Access is what a credential lifts of the access rules on objects. Those rules
// are the application's: the library carries the values and decides nothing.
type Access struct {
	Grant         scope.Level // on every object the principal can reach; 0: none
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

// WithoutScope returns p as a view runs: its scope is lifted, everything else
// applies, and what it may pass on stays bounded by Granted (section 5.5 of the
// interface, rule 5).
func (p Principal) WithoutScope() Principal {
	p.Scope = scope.Unscoped()
	return p
}

type principalKey struct{}

// From returns the principal of a request's context: the one the Guard admitted,
// or the one of the nearest With. Without either it is the zero Principal.
func From(ctx context.Context) Principal {
	if p, ok := ctx.Value(principalKey{}).(*Principal); ok {
		return *p
	}
	return Principal{}
}

// With returns a context in which From answers p: for a view that runs
// WithoutScope, for work on behalf of a principal outside a request, and for
// tests.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, &p)
}
