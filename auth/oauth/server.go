package oauth

import (
	"context"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/signature"
)

// Server serves the OAuth endpoints of all tenants of a Guard. Credentials of the Guard's
// signature.Mechanism authenticate clients. Its bearer.Mechanism decides which tokens are active,
// and mints. The fields must not be changed once the Server is in use. Its methods are safe for
// concurrent use.
type Server struct {
	// Permit runs before a token is minted for a client, whose principal it gets. It is for quotas.
	// It refuses with an *auth.Error: one with auth.DetailThrottled is answered with 429, and any
	// other with unauthorized_client. nil: no quota.
	Permit func(ctx context.Context, client auth.Principal) error
}

// The paths of the endpoints below {org}/{version}, as the metadata names them.
const (
	tokenPath      = "/oauth/token"
	introspectPath = "/oauth/introspect"
	revokePath     = "/oauth/revoke"
)

// Register adds the three endpoints to a Mux. Their routes are Public for the Guard, because they
// authenticate clients themselves: Authorization: Basic is no credential of a mechanism there. It
// panics if the Guard lacks one of the two mechanisms.
func (s *Server) Register(m *auth.Mux) {
	found := mustFind(m.Guard())
	m.HandleFunc("POST "+tokenPath, auth.Public, found.serve("grant_type", s.mint))
	m.HandleFunc("POST "+introspectPath, auth.Public, found.serve("token", introspect))
	m.HandleFunc("POST "+revokePath, auth.Public, found.serve("token", revoke))
}

// mechanisms are those of a Guard that the endpoints use.
type mechanisms struct {
	signature *signature.Mechanism
	bearer    *bearer.Mechanism
}

func mustFind(g *auth.Guard) (found mechanisms) {
	for _, m := range g.Settings().Mechanisms {
		switch m := m.(type) {
		case *signature.Mechanism:
			found.signature = m
		case *bearer.Mechanism:
			found.bearer = m
		}
	}
	if found.signature == nil || found.bearer == nil || found.bearer.Signers == nil {
		panic("oauth: the Guard needs a signature.Mechanism, and a bearer.Mechanism with Signers")
	}
	return found
}

const (
	grantCredentials = "client_credentials"
	grantRefresh     = "refresh_token"
)

// grants are the grant types of the token endpoint.
func (m mechanisms) grants() []string {
	if m.bearer.Ledger == nil {
		return []string{grantCredentials}
	}
	return []string{grantCredentials, grantRefresh}
}

// asked is a request of a client that has authenticated.
type asked struct {
	mechanisms
	tenant *auth.Tenant
	client auth.Principal
	form   form
}

// serve returns the handler of an endpoint that requires a parameter. Each reads the form first,
// then authenticates the client, and only then looks at what the client asks for.
func (m mechanisms) serve(required string, endpoint func(context.Context, asked) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		reply, err := m.answer(r, required, endpoint)
		w.Header().Set("Pragma", "no-cache") // RFC 6749, section 5.1
		if err != nil {
			fail(w, r, err)
			return
		}
		auth.Reply(w, r, reply)
	}
}

func (m mechanisms) answer(r *http.Request, required string, endpoint func(context.Context, asked) (any, error)) (any, error) {
	t := auth.TenantFrom(r.Context()) // there is one: Register takes a Mux
	f, err := readForm(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := t.Bound(r.Context()) // after the body, which arrives as slowly as the client likes
	defer cancel()
	client, err := m.authenticate(ctx, r, t, f)
	if err != nil {
		return nil, err
	}
	auth.Identify(r, client)
	switch {
	case client.Account == "": // such a credential can act as nobody, so MayMake cannot bound who makes one
		return nil, unauthorized("the client has no account of its own")
	case !f.has(required):
		return nil, invalidRequest(required + " is missing")
	}
	return endpoint(ctx, asked{m, t, client, f})
}
