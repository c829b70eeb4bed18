package oauth_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func fields(text string) []string { return strings.Fields(text) }

func TestMetadata(t *testing.T) {
	w := newWorld(t)
	issuer := "https://api.example.test/base/acme/v2"
	for path, document := range map[string]string{
		"/.well-known/oauth-authorization-server/base/acme/v2": `{"issuer":"ISSUER","token_endpoint":"ISSUER/oauth/token",
			"introspection_endpoint":"ISSUER/oauth/introspect","revocation_endpoint":"ISSUER/oauth/revoke","jwks_uri":"ISSUER/auth/certs/jwk",
			"grant_types_supported":["client_credentials","refresh_token"],"response_types_supported":[],
			"token_endpoint_auth_methods_supported":["client_secret_basic","client_secret_post","private_key_jwt"],
			"introspection_endpoint_auth_methods_supported":["client_secret_basic","client_secret_post","private_key_jwt"],
			"revocation_endpoint_auth_methods_supported":["client_secret_basic","client_secret_post","private_key_jwt"],
			"token_endpoint_auth_signing_alg_values_supported":["EdDSA","Ed25519"],
			"introspection_endpoint_auth_signing_alg_values_supported":["EdDSA","Ed25519"],
			"revocation_endpoint_auth_signing_alg_values_supported":["EdDSA","Ed25519"]}`,
		"/.well-known/oauth-protected-resource/base/acme/v2": `{"resource":"ISSUER","authorization_servers":["ISSUER"],"bearer_methods_supported":["header"]}`,
	} {
		t.Run(path, func(t *testing.T) {
			a := w.send(t, question{method: "GET", path: path})
			var want, got any
			if err := json.Unmarshal([]byte(strings.ReplaceAll(document, "ISSUER", issuer)), &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(a.text), &got); err != nil {
				t.Fatalf("%v: %s", err, a.text)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if a.status != 200 || a.header.Get("Content-Type") != "application/json" || a.header.Get("Service-Server-Time") == "" {
				t.Errorf("got %d %v", a.status, a.header)
			}
			again := question{method: "GET", path: path, header: http.Header{"If-None-Match": {a.header.Get("ETag")}}}
			if a := w.send(t, again); a.status != 304 {
				t.Errorf("got %d", a.status)
			}
			if a := w.send(t, question{method: "HEAD", path: path}); a.status != 200 || a.text != "" {
				t.Errorf("got %d %q", a.status, a.text)
			}
			if a := w.send(t, question{method: "POST", path: path}); a.status != 405 {
				t.Errorf("got %d", a.status)
			}
		})
	}
}

func TestMetadataOfNoTenant(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{
		"", "/", "/base", "/base/", "/base/acme", "/base/nowhere/v2", "/acme/v2", "/base/acme/v2/me", "/base/acme/v2/oauth/token",
		"/base/%61cme/v2", "/based/acme/v2", "/base/acme/v2%2f",
	} {
		for _, name := range []string{"oauth-authorization-server", "oauth-protected-resource", "openid-configuration"} {
			if a := w.send(t, question{method: "GET", path: "/.well-known/" + name + path}); a.status != 404 {
				t.Errorf("%s%s: %d %s", name, path, a.status, a.text)
			}
		}
	}
	if a := w.send(t, question{method: "GET", path: "/.well-known/oauth-authorization-server/base/acme/v1"}); a.status != 400 {
		t.Errorf("got %d %s", a.status, a.text)
	}
}

func TestTheChallengeNamesTheMetadata(t *testing.T) {
	w := newWorld(t)
	url := `resource_metadata="https://api.example.test/.well-known/oauth-protected-resource/base/acme/v2"`
	none := question{method: "GET", path: "/base/acme/v2/me", header: http.Header{}}
	wrong := question{method: "GET", path: "/base/acme/v2/me", header: http.Header{"Authorization": {"Bearer x"}}}
	challenge := func(q question) string { return strings.Join(w.send(t, q).header["Www-Authenticate"], "; ") }
	if got := challenge(none); got != "Signature versions=\"1 2\"; Bearer "+url {
		t.Errorf("got %s", got)
	}
	if got := challenge(wrong); got != `Bearer error="invalid_token", `+url+`; Signature versions="1 2"` {
		t.Errorf("got %s", got)
	}
	w = newWorld(t, func(w *world) { w.bearer.ResourceMetadata = false })
	if got := challenge(none); got != "Signature versions=\"1 2\"; Bearer" {
		t.Errorf("got %s", got)
	}
}

// The endpoints use the mechanisms of the Guard that serves them, so these must be there.
func TestIncompleteServers(t *testing.T) {
	for name, alter := range map[string]func(*world){
		"no bearer":    func(w *world) { w.guard.Mechanisms = w.guard.Mechanisms[:1] },
		"no signature": func(w *world) { w.guard.Mechanisms = w.guard.Mechanisms[1:] },
		"no signers":   func(w *world) { w.bearer.Signers = nil },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: registered", name)
				}
			}()
			newWorld(t, alter)
		}()
	}
}

// What the metadata offers is what the description of the routes says.
func TestTheDescriptionHasTheMethodsOfTheMetadata(t *testing.T) {
	for version := range 3 { // of signatures; 0: both
		w := newWorld(t, func(w *world) { w.signature.Policy.Version = version })
		var metadata struct {
			Methods []string `json:"token_endpoint_auth_methods_supported"`
		}
		a := w.send(t, question{method: "GET", path: "/.well-known/oauth-authorization-server/base/acme/v2"})
		if err := json.Unmarshal([]byte(a.text), &metadata); err != nil || len(metadata.Methods) == 0 {
			t.Fatal(err, a.text)
		}
		for pattern, route := range w.server.Describe(w.guard) {
			for _, method := range []string{"client_secret_basic", "client_secret_post", "private_key_jwt"} {
				if strings.Contains(route.Description, "`"+method+"`") != slices.Contains(metadata.Methods, method) {
					t.Errorf("version %d: %s: %s", version, pattern, method)
				}
			}
		}
	}
}
