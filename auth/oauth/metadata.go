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

// serverMetadata is the document of RFC 8414, section 2.
type serverMetadata struct {
	Issuer         string   `json:"issuer"`
	Token          string   `json:"token_endpoint"`
	Introspection  string   `json:"introspection_endpoint"`
	Revocation     string   `json:"revocation_endpoint"`
	Keys           string   `json:"jwks_uri"`
	Grants         []string `json:"grant_types_supported"`
	Responses      []string `json:"response_types_supported"` // required, and none
	TokenAuth      []string `json:"token_endpoint_auth_methods_supported"`
	IntrospectAuth []string `json:"introspection_endpoint_auth_methods_supported"`
	RevokeAuth     []string `json:"revocation_endpoint_auth_methods_supported"`

	TokenAlgorithms      []string `json:"token_endpoint_auth_signing_alg_values_supported"`
	IntrospectAlgorithms []string `json:"introspection_endpoint_auth_signing_alg_values_supported"`
	RevokeAlgorithms     []string `json:"revocation_endpoint_auth_signing_alg_values_supported"`
}

// resourceMetadata is the document of RFC 9728, section 2.
type resourceMetadata struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Methods  []string `json:"bearer_methods_supported"`
}

func serverMetadataOf(issuer string) any {
	methods := []string{"client_secret_basic", "private_key_jwt"}
	return serverMetadata{
		Issuer:         issuer,
		Token:          issuer + tokenPath,
		Introspection:  issuer + introspectPath,
		Revocation:     issuer + revokePath,
		Keys:           issuer + "/auth/certs/jwk",
		Grants:         []string{"client_credentials"},
		Responses:      []string{},
		TokenAuth:      methods,
		IntrospectAuth: methods,
		RevokeAuth:     methods,

		TokenAlgorithms:      algorithms,
		IntrospectAlgorithms: algorithms,
		RevokeAlgorithms:     algorithms,
	}
}

func resourceMetadataOf(issuer string) any {
	return resourceMetadata{Resource: issuer, Servers: []string{issuer}, Methods: []string{"header"}}
}

// Metadata serves the documents about the tenants of a Guard. Put it beside the Guard's Mux, at
// /.well-known/oauth-authorization-server/ and /.well-known/oauth-protected-resource/ of the host:
// these paths are outside of the mount. auth.Tenant.WellKnown has the URLs. The documents have an
// ETag and may be cached for 5 minutes. A Guard with a Resolve of its own has them only if that
// finds tenants by /{org}/{version}, too. Metadata panics if the Guard is not valid.
//
// The jwks_uri is where section 4 of the interface has the keys: see bearer.Certs.
func Metadata(g *auth.Guard) http.Handler {
	server := document{g, serverDocument, serverMetadataOf}.handler()
	resource := document{g, resourceDocument, resourceMetadataOf}.handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/.well-known/"+serverDocument+"/") {
			server.ServeHTTP(w, r)
			return
		}
		resource.ServeHTTP(w, r)
	})
}

type document struct {
	guard *auth.Guard
	name  string
	about func(issuer string) any
}

// handler finds the tenant as the Guard does for the path that the document is about.
func (d document) handler() http.Handler {
	mounted := d.guard.Mount(http.HandlerFunc(d.serve))
	base, _ := url.Parse(d.guard.BaseURL) // Mount has checked it
	prefix := "/.well-known/" + d.name + strings.TrimSuffix(base.EscapedPath(), "/")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, ok := strings.CutPrefix(r.URL.EscapedPath(), prefix)
		switch {
		case !ok || !strings.HasPrefix(rest, "/") || strings.Contains(rest, "%"):
			d.guard.Fail(w, r, &auth.Error{Detail: auth.DetailNotFound})
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			d.guard.Fail(w, r, &auth.Error{Detail: auth.DetailMethod})
		default:
			about := *r
			about.URL = &url.URL{Path: rest}
			mounted.ServeHTTP(w, &about)
		}
	})
}

func (d document) serve(w http.ResponseWriter, r *http.Request) {
	t := auth.TenantFrom(r.Context())
	if t.Command != "/" {
		auth.Fail(w, r, &auth.Error{Detail: auth.DetailNotFound}) // no issuer
		return
	}
	body, _ := json.Marshal(d.about(t.URL())) // texts always marshal
	whole.Serve(w, r, "application/json", whole.Tag(body), body)
}
