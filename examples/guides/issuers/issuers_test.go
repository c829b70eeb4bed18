package issuers_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/issuer"
	"github.com/tenantkit/tenantkit/examples/guides/issuers"
)

// web answers for the providers' hosts.
type web map[string]any

func (w web) RoundTrip(r *http.Request) (*http.Response, error) {
	page, ok := w[r.URL.String()]
	if !ok {
		return nil, errors.New("no such page: " + r.URL.String())
	}
	text, err := json.Marshal(page)
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(string(text)))}, err
}

type claims = jwt.MapClaims

func TestShapes(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "k"}}}
	const keycloak, entra = "https://sso.example.com/realms/acme", "https://login.microsoftonline.com/tid/v2.0"
	pages := web{
		keycloak + "/.well-known/openid-configuration":              claims{"issuer": keycloak, "jwks_uri": keycloak + "/protocol/openid-connect/certs"},
		keycloak + "/protocol/openid-connect/certs":                 set,
		entra + "/.well-known/openid-configuration":                 claims{"issuer": entra, "jwks_uri": "https://login.microsoftonline.com/tid/discovery/v2.0/keys"},
		"https://login.microsoftonline.com/tid/discovery/v2.0/keys": set,
		"https://kubernetes.default.svc/openid/v1/jwks":             set,
	}
	all := []*issuer.Issuer{issuers.Keycloak(), issuers.Entra("tid", "api"), issuers.Kubernetes(pages), issuers.Old(&key.PublicKey)}
	all[0].Base, all[1].Base = pages, pages
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("pod\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all[2].Base = issuers.InCluster(pages, file)
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutRole("acme", auth.Role{Name: "editor", Scope: []string{"object.update.c_note"}})
	for _, id := range []string{"ann", "default/ann"} {
		directory.PutAccount(auth.Account{ID: id, Org: "acme"})
	}
	guard := &auth.Guard{
		Roles:   auth.RolesLimit,
		BaseURL: "https://api.example.com", Directory: directory,
		Mechanisms: []auth.Mechanism{&issuer.Mechanism{Issuers: all}},
		Now:        func() time.Time { return time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC) },
	}
	var got auth.Principal
	mux := guard.Mux()
	mux.HandleFunc("GET /notes", auth.Allow("object.read.c_note"), func(_ http.ResponseWriter, r *http.Request) { got = auth.From(r.Context()) })
	exp := time.Date(2027, 1, 1, 1, 0, 0, 0, time.UTC).Unix()
	for _, c := range []struct {
		name    string
		kid     string
		claims  claims
		account string // "": refused
		role    bool
	}{
		{"Keycloak", "k", claims{"iss": keycloak, "aud": []string{"notes", "account"}, "sub": "ann", "typ": "Bearer", "exp": exp,
			"realm_access": claims{"roles": []string{"offline_access", "notes-editor"}}}, "ann", true},
		{"Keycloak, an ID token", "k", claims{"iss": keycloak, "aud": "notes", "sub": "ann", "typ": "ID", "exp": exp}, "", false},
		{"Entra", "k", claims{"iss": entra, "aud": "api", "oid": "ann", "sub": "pairwise", "scp": "Notes.Read", "ver": "2.0", "exp": exp}, "ann", false},
		{"Entra, an ID token", "k", claims{"iss": entra, "aud": "api", "oid": "ann", "sub": "pairwise", "exp": exp}, "", false},
		{"Entra, another tenant", "k", claims{"iss": strings.Replace(entra, "tid", "other", 1), "aud": "api", "oid": "ann", "scp": "Notes.Read", "exp": exp}, "", false},
		{"Kubernetes", "k", claims{"iss": "https://kubernetes.default.svc.cluster.local", "aud": []string{"notes"}, "exp": exp, "nbf": exp - 3600, "iat": exp - 3600,
			"sub": "system:serviceaccount:default:ann", "kubernetes.io": claims{"namespace": "default", "serviceaccount": claims{"name": "ann", "uid": "1"}}}, "default/ann", false},
		{"the old service", "", claims{"iss": "old-service", "aud": "notes", "user_id": "ann", "exp": exp}, "ann", false},
	} {
		unsigned := jwt.NewWithClaims(jwt.SigningMethodRS256, c.claims)
		unsigned.Header["x5t"] = "as in Entra"
		if c.kid != "" {
			unsigned.Header["kid"] = c.kid
		}
		signed, err := unsigned.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		got = auth.Principal{}
		r := httptest.NewRequest("GET", "/acme/v2/notes", nil)
		r.Header.Set("Authorization", "Bearer "+signed)
		mux.ServeHTTP(httptest.NewRecorder(), r)
		if got.Account != c.account || got.HasRole("editor") != c.role {
			t.Errorf("%s: %q with %v", c.name, got.Account, got.Roles)
		}
	}
}
