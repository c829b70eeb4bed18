// Package issuers accepts tokens of Keycloak, of Entra ID, of a Kubernetes cluster and of an older
// service beside those of the org's own apps. Give the Issuers to issuer.Mechanism.
package issuers

import (
	"context"
	"crypto"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/issuer"
)

// ours says which role of ours a role of the provider stands for. Others mean nothing here.
var ours = map[string]string{"notes-editor": "editor", "Notes.Edit": "editor"}

func rolesOf(theirs []string) (roles []string) {
	for _, role := range theirs {
		if known := ours[role]; known != "" {
			roles = append(roles, known)
		}
	}
	return roles
}

// Keycloak returns the Issuer of a realm. Accounts have the ids that they have in Keycloak.
func Keycloak() *issuer.Issuer {
	return &issuer.Issuer{
		Org:      "acme",
		URL:      "https://sso.example.com/realms/acme",
		Audience: "notes", // by a mapper of the kind Audience
		Discover: true,
		Map: func(_ context.Context, _ *auth.Tenant, f *issuer.Foreign) (issuer.Identity, error) {
			if f.Text("typ") != "Bearer" { // the realm also signs ID and logout tokens
				return issuer.Identity{}, auth.ErrForbidden
			}
			return issuer.Identity{
				Account: f.Text("sub"),
				Scope:   []string{"object.read.c_note"},
				Roles:   rolesOf(f.Texts("realm_access", "roles")),
			}, nil
		},
	}
}

// Entra returns the Issuer of a tenant of Entra ID, for access tokens of version 2. Accounts have
// the object ids that they have there.
func Entra(tenant, api string) *issuer.Issuer {
	return &issuer.Issuer{
		Org:      "acme",
		URL:      "https://login.microsoftonline.com/" + tenant + "/v2.0",
		Audience: api, // the client id of the API
		Discover: true,
		Map: func(_ context.Context, _ *auth.Tenant, f *issuer.Foreign) (issuer.Identity, error) {
			// Of a person, by a client that may ask for Notes.Read. An ID token has no scp.
			if !strings.Contains(" "+f.Text("scp")+" ", " Notes.Read ") {
				return issuer.Identity{}, auth.ErrForbidden
			}
			return issuer.Identity{
				Account: f.Text("oid"), // sub differs from client to client
				Scope:   []string{"object.read.c_note"},
				Roles:   rolesOf(f.Texts("roles")),
			}, nil
		},
	}
}

// Kubernetes returns the Issuer of the cluster that the server runs in. An account has the id
// namespace/name of a service account. base trusts the CA of the cluster.
func Kubernetes(base http.RoundTripper) *issuer.Issuer {
	return &issuer.Issuer{
		Org:      "acme",
		URL:      "https://kubernetes.default.svc.cluster.local",
		Audience: "notes", // of the projected volume: audience: notes
		JWKS:     "https://kubernetes.default.svc/openid/v1/jwks",
		Base:     inCluster{base, "/var/run/secrets/kubernetes.io/serviceaccount/token"},
		Map: func(_ context.Context, _ *auth.Tenant, f *issuer.Foreign) (issuer.Identity, error) {
			namespace, name := f.Text("kubernetes.io", "namespace"), f.Text("kubernetes.io", "serviceaccount", "name")
			if namespace == "" || name == "" {
				return issuer.Identity{}, auth.ErrForbidden
			}
			return issuer.Identity{Account: namespace + "/" + name, Scope: []string{"object.read.c_note"}}, nil
		},
	}
}

// inCluster asks the API server with the token of this pod, which is renewed in its file.
type inCluster struct {
	base http.RoundTripper
	file string
}

func (c inCluster) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := os.ReadFile(c.file)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	return c.base.RoundTrip(r)
}

// Old returns the Issuer of a service that signs with golang-jwt and one RSA key, without a kid.
// Its tokens are accepted until a date.
func Old(public crypto.PublicKey) *issuer.Issuer {
	return &issuer.Issuer{
		Org:        "acme",
		URL:        "old-service",
		Audience:   "notes",
		Keys:       map[string]crypto.PublicKey{"": public},
		Algorithms: []string{"RS256"},
		Until:      time.Date(2027, 3, 31, 0, 0, 0, 0, time.UTC),
		Map: func(_ context.Context, _ *auth.Tenant, f *issuer.Foreign) (issuer.Identity, error) {
			return issuer.Identity{Account: f.Text("user_id"), Scope: []string{"*"}}, nil
		},
	}
}
