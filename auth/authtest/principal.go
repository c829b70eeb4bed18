package authtest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/tenantkit/tenantkit/auth"
)

// Request returns a request for a handler that is called directly: auth.From
// answers p. There is no tenant in its context; handlers that ask for one are
// tested through a Guard, with As.
func Request(method, target string, body io.Reader, p auth.Principal) *http.Request {
	r := httptest.NewRequest(method, target, body)
	return r.WithContext(auth.With(r.Context(), p))
}

// As returns a mechanism that takes every request for one of p: put it in the
// place of a Guard's mechanisms to test what p may and may not do. p needs an
// Account; its Org left empty is the org of the request.
func As(p auth.Principal) auth.Mechanism {
	if p.Mechanism == "" {
		p.Mechanism = "authtest"
	}
	return as{p}
}

type as struct{ principal auth.Principal }

func (as) Presented(*http.Request) auth.Presence { return auth.Header }

func (a as) Authenticate(ctx context.Context, _ *http.Request, t *auth.Tenant) (auth.Principal, error) {
	p := a.principal
	if p.Org == "" {
		p.Org = t.Org.Code
	}
	return p, nil
}

func (as) Challenge(error) string { return "" }
