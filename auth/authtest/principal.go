package authtest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/tenantkit/tenantkit/auth"
)

// Request returns a request for calling a handler directly: auth.From returns p. Its context has
// no tenant. Test handlers that need a tenant through a Guard, with As.
func Request(method, target string, body io.Reader, p auth.Principal) *http.Request {
	r := httptest.NewRequest(method, target, body)
	return r.WithContext(auth.With(r.Context(), p))
}

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

func (as) Presented(*http.Request) auth.Presence { return auth.Header }

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
