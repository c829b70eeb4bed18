package brand_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/examples/guides/brand"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

func TestBrand(t *testing.T) {
	clientKey, secret := signing.Generate()
	key, err := signing.NewKey(clientKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutApp(auth.App{ClientKey: clientKey, Org: "acme"})
	directory.PutRole("acme", auth.Role{Name: "reader", Scope: []string{"object.read"}})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
	directory.PutAccount(auth.Account{ID: "bob", Org: "acme", Roles: []string{"reader"}})
	var keys token.MemoryKeys
	if _, err := keys.Generate(t.Context(), "acme", clientKey); err != nil {
		t.Fatal(err)
	}
	tokens := &bearer.Mechanism{Keys: &keys, Signers: &keys}
	guard := brand.NewGuard("https://api.example.com", directory,
		signature.Memory{clientKey: {Key: key, Account: "bob"}}, tokens)
	mux := guard.Mux()
	mux.HandleFunc("GET /notes", auth.Allow("object.read.c_note"), func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Header.Get("X-Acme-Client-Key"))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	base := server.URL + "/acme/v2"

	minted := func(m *token.Minter) *http.Client {
		raw, _, err := m.Ephemeral(t.Context(), token.Claims{
			Issuer: clientKey, Subject: "ann", Audience: "https://api.example.com/acme/v2", Scope: []string{"object.read.c_note"},
		}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return &http.Client{Transport: &token.Transport{BaseURL: base, Token: raw}}
	}
	neutral := &http.Client{Transport: &signing.Transport{BaseURL: base, ClientKey: clientKey, Secret: secret}}
	for _, test := range []struct {
		name   string
		client *http.Client
		status int
		body   string
	}{
		{"signed under the brand", brand.NewClient(base, clientKey, secret), 200, clientKey},
		{"signed under the neutral names", neutral, 401, `"errCode":"acme.accessDenied.noCredentialsSupplied"`},
		{"a token of the brand", minted(tokens.Minter(guard)), 200, ""},
		{"a token whose claims have the neutral names", minted(&token.Minter{Signers: &keys}), 403, `"errCode":"acme.accessDenied.scope"`},
	} {
		reply, err := test.client.Get(base + "/notes")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if reply.StatusCode != test.status || !strings.Contains(string(body), test.body) {
			t.Errorf("%s: %d %s", test.name, reply.StatusCode, body)
		}
		if reply.Header.Get("X-Acme-Server-Time") == "" {
			t.Errorf("%s: no time", test.name)
		}
	}
}
