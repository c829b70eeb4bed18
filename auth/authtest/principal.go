package authtest

import (
	"context"
	"crypto/fips140"
	"crypto/sha1"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/internal/hotp"
)

// As returns a mechanism that admits every request as p. Use it as a Guard's only mechanism, to
// test what p may do. If needs name other mechanisms than p.Mechanism, leave those in the Guard. p needs an Account. An empty Org becomes the org of the request.
func As(p auth.Principal) auth.Mechanism {
	if p.Mechanism == "" {
		p.Mechanism = "authtest"
	}
	return as{p}
}

type as struct{ principal auth.Principal }

func (a as) Name() string { return a.principal.Mechanism }

func (as) Presented(*http.Request) auth.Presence { return auth.InHeader }

func (a as) Authenticate(ctx context.Context, _ *http.Request, t *auth.Tenant) (auth.Principal, error) {
	p := a.principal
	if p.Org == "" {
		p.Org = t.Org.Key()
	}
	return p, nil
}

// Readmit implements auth.Readmitter.
func (a as) Readmit(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	return a.Authenticate(ctx, r, t)
}

func (as) Challenge(*auth.Tenant, error) string { return "" }

func (as) Bind(*auth.Settings) error { return nil }

// Clock is a clock that stands still until Advance moves it. Set a field called Now to its method
// Now. It is safe for concurrent use. Stores use their own clock; to test them, use
// testing/synctest.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows the time at.
func NewClock(at time.Time) *Clock { return &Clock{now: at} }

// Now returns the clock's time.
func (c *Clock) Now() time.Time { return c.Advance(0) }

// Advance moves the clock by d, which may be negative, and returns the new time.
func (c *Clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

// TOTP returns the code that an authenticator shows at a time (RFC 6238): six digits, steps of 30
// seconds. The hash is SHA-256 for a secret of 32 bytes, as of Manager.SHA256Codes, and SHA-1 for
// any other. A server accepts each code once: for the next one, advance the clock by 30 seconds.
func TOTP(secret session.FactorSecret, at time.Time) (code string) {
	sum := sha1.New
	bytes := []byte(secret)
	if len(bytes) == sha256.Size {
		sum = sha256.New
	}
	// An authenticator is not part of the server, on which FIPS 140 may be enforced.
	fips140.WithoutEnforcement(func() { code = hotp.Code(sum, bytes, uint64(at.Unix()/30)) })
	return code
}
