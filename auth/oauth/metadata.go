package oauth

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/whole"
)

// The names of the documents below /.well-known/.
const (
	serverDocument   = "oauth-authorization-server" // RFC 8414
	resourceDocument = "oauth-protected-resource"   // RFC 9728
)

// serverMetadata returns the document of RFC 8414, section 2.
func (m mechanisms) serverMetadata(issuer string) any {
	methods := []string{"private_key_jwt"}
	if m.takesSecrets() {
		methods = []string{"client_secret_basic", "client_secret_post", "private_key_jwt"}
	}
	all := map[string]any{
		"issuer":                   issuer,
		"jwks_uri":                 issuer + "/auth/certs/jwk",
		"grant_types_supported":    m.grants(),
		"response_types_supported": []string{}, // required, and there are none
	}
	for name, path := range map[string]string{"token": tokenPath, "introspection": introspectPath, "revocation": revokePath} {
		all[name+"_endpoint"] = issuer + path
		all[name+"_endpoint_auth_methods_supported"] = methods
		all[name+"_endpoint_auth_signing_alg_values_supported"] = algorithms
	}
	return all
}

// resourceMetadata returns the document of RFC 9728, section 2.
func resourceMetadata(issuer string) any {
	return map[string]any{
		"resource":                 issuer,
		"authorization_servers":    []string{issuer},
		"bearer_methods_supported": []string{"header"},
	}
}

// Metadata serves the documents about the tenants of a Guard. Put it beside the Guard's Mux, at
// /.well-known/oauth-authorization-server/ and /.well-known/oauth-protected-resource/ of the host:
// these paths are outside of the mount. auth.Tenant.WellKnown has the URLs. The documents have an
// ETag and may be cached for 5 minutes. A Guard with a Resolve of its own has them only if that
// finds tenants by /{org}/{version}, too. Metadata panics if the Guard is not valid, or if it lacks
// one of the two mechanisms.
//
// The jwks_uri is where section 4 of the interface has the keys: see bearer.Certs.
func (s *Server) Metadata(g *auth.Guard) http.Handler {
	documents := map[string]http.Handler{
		serverDocument:   document(g, mustFind(g).serverMetadata),
		resourceDocument: document(g, resourceMetadata),
	}
	base, _ := url.Parse(g.BaseURL) // the Guard is valid
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, of, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/.well-known/"), "/")
		rest, ok := strings.CutPrefix("/"+of, strings.TrimSuffix(base.EscapedPath(), "/"))
		switch {
		case documents[name] == nil || !ok || !strings.HasPrefix(rest, "/") || strings.Contains(rest, "%"):
			g.Fail(w, r, &auth.Error{Detail: auth.DetailNotFound})
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			g.Fail(w, r, &auth.Error{Detail: auth.DetailMethod})
		default:
			about := *r
			about.URL = &url.URL{Path: rest}
			documents[name].ServeHTTP(w, &about)
		}
	})
}

// document returns the handler of a document. The Guard finds the tenant by the path that the document
// is about.
func document(g *auth.Guard, about func(issuer string) any) http.Handler {
	return g.Mount(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := auth.TenantFrom(r.Context())
		if t.Command != "/" {
			auth.Fail(w, r, &auth.Error{Detail: auth.DetailNotFound}) // no issuer
			return
		}
		body, _ := json.Marshal(about(t.URL())) // texts always marshal
		whole.Serve(w, r, "application/json", whole.Tag(body), body)
	}))
}
