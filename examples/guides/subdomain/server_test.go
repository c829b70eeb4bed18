package subdomain_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/examples/guides/subdomain"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// world is a server with two orgs, and an app of acme.
type world struct {
	clientKey string
	secret    signing.Secret
	keys      token.MemoryKeys
	base      http.RoundTripper // reaches the server under every name
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{}
	w.clientKey, w.secret = signing.Generate()
	key, err := signing.NewKey(w.clientKey, w.secret)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.keys.Generate(t.Context(), "acme", w.clientKey); err != nil {
		t.Fatal(err)
	}
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutOrg(auth.Org{Code: "globex"})
	directory.PutApp(auth.App{ClientKey: w.clientKey, Org: "acme"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
	guard := &auth.Guard{
		Roles:     auth.RolesLimit,
		BaseURL:   "https://api.example.com",
		Directory: directory,
		Versions:  []string{"v1"},
		Resolve:   subdomain.Resolve("example.com"),
		Mechanisms: []auth.Mechanism{
			&signature.Mechanism{
				Credentials: signature.Memory{w.clientKey: {Key: key, Account: "ann"}},
				Replays:     signing.NewMemory(0),
			},
			&bearer.Mechanism{Keys: &w.keys},
		},
	}
	mux := guard.Mux()
	mux.HandleFunc("GET /names/{name}", auth.Authenticated, func(rw http.ResponseWriter, r *http.Request) {
		io.WriteString(rw, auth.TenantFrom(r.Context()).URL()+" "+r.PathValue("name"))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	w.base = &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}}
	return w
}

func get(t *testing.T, transport http.RoundTripper, url string) (int, string) {
	t.Helper()
	reply, err := (&http.Client{Transport: transport}).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, string(body)
}

func TestSigned(t *testing.T) {
	w := newWorld(t)
	for address, want := range map[string]int{
		"http://acme.example.com/api/v1":        200,
		"http://ACME.example.com:8080/api/v1":   200,
		"http://globex.example.com/api/v1":      401, // the credential is acme's
		"http://none.example.com/api/v1":        404,
		"http://example.com/api/v1":             404,
		"http://a.acme.example.com/api/v1":      404,
		"http://acme.example.com.evil.test/api": 404,
		"http://acme.example.com/api/v9":        400,
		"http://acme.example.com/v1":            404,
	} {
		transport := &signing.Transport{BaseURL: address, ClientKey: w.clientKey, Secret: w.secret, Base: w.base}
		status, body := get(t, transport, address+"/names/a%2Fb")
		if status != want {
			t.Errorf("%s: %d %s, want %d", address, status, body, want)
		}
		if status == 200 && body != "https://api.example.com/acme/v1 a/b" {
			t.Errorf("%s: %s", address, body)
		}
	}
}

func TestAudienceIsNotTheAddress(t *testing.T) {
	w := newWorld(t)
	minter := token.Minter{Signers: &w.keys}
	const address = "http://acme.example.com/api/v1"
	for audience, want := range map[string]int{"https://api.example.com/acme/v1": 200, address: 401} {
		raw, _, err := minter.Ephemeral(t.Context(), token.Claims{
			Issuer: w.clientKey, Subject: "ann", Audience: audience, Scope: []string{"*"},
		}, 0)
		if err != nil {
			t.Fatal(err)
		}
		status, body := get(t, &token.Transport{BaseURL: address, Token: raw, Base: w.base}, address+"/names/a")
		if status != want {
			t.Errorf("audience %s: %d %s, want %d", audience, status, body, want)
		}
	}
}
