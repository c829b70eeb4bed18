package partners_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/examples/guides/partners"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

func TestAPartner(t *testing.T) {
	clientKey, secret := signing.Generate()
	key, err := signing.NewKey(clientKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	directory, keys := new(auth.Memory), new(token.MemoryKeys)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutApp(auth.App{ClientKey: clientKey, Org: "acme"})
	directory.PutRole("acme", auth.Role{Name: "reader", Scope: []string{"object.read.c_note"}})
	directory.PutAccount(auth.Account{ID: "partner", Org: "acme", Roles: []string{"reader"}})
	if _, err := keys.Generate(t.Context(), "acme", clientKey); err != nil {
		t.Fatal(err)
	}
	if err := keys.Expose(t.Context(), "acme", clientKey, true); err != nil {
		t.Fatal(err)
	}
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	defer server.Close()
	handler = partners.Handler(server.URL, partners.Stores{
		Directory:   directory,
		Credentials: signature.Memory{clientKey: {Key: key, Account: "partner", Scope: []string{"object.read.c_note"}}},
		Replays:     signing.NewMemory(0),
		Ledger:      token.NewMemoryLedger(nil),
		Keys:        keys,
	}, func(w http.ResponseWriter, r *http.Request) { auth.Reply(w, r, auth.From(r.Context()).Account) })

	url := server.URL + "/acme/v2"
	config := clientcredentials.Config{ClientID: clientKey, ClientSecret: string(secret), TokenURL: url + "/oauth/token", AuthStyle: oauth2.AuthStyleInHeader}
	reply, err := config.Client(t.Context()).Get(url + "/notes")
	if err != nil || reply.StatusCode != 200 {
		t.Fatalf("%v %v", reply, err)
	}
	reply.Body.Close()

	config.Scopes = []string{"object.read.c_note", "admin.read"}
	_, err = config.Token(t.Context())
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); !ok || refused.ErrorCode != "invalid_scope" {
		t.Errorf("beyond the credential: %v", err)
	}

	signed, err := (&clientcredentials.Config{ClientID: clientKey, ClientSecret: string(secret), TokenURL: url + "/oauth/token"}).Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	verifier, want := partners.Verifier(url)
	verifier.Keys.(*token.PublishedKeys).UnsafePlaintext = true // only here: the server is on a loopback host
	if verified, err := verifier.Verify(t.Context(), signed.AccessToken, want); err != nil || verified.Subject() != "partner" {
		t.Errorf("in the partner's service: %v", err)
	}

	reply, err = http.Get(url + "/notes")
	if err != nil {
		t.Fatal(err)
	}
	reply.Body.Close()
	if challenge := strings.Join(reply.Header["Www-Authenticate"], ", "); !strings.Contains(challenge, server.URL+"/.well-known/oauth-protected-resource/acme/v2") {
		t.Errorf("the challenge is %s", challenge)
	}
}
