package oauth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/oauth"
	"github.com/tenantkit/tenantkit/auth/openapi"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// A server with the endpoints, and a partner's request for a token.
func ExampleServer() {
	clientKey, secret := signing.Generate()
	key, err := signing.NewKey(clientKey, secret)
	if err != nil {
		log.Fatal(err)
	}
	directory, keys, ledger := new(auth.Memory), new(token.MemoryKeys), token.NewMemoryLedger(nil)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutApp(auth.App{ClientKey: clientKey, Org: "acme"})
	directory.PutRole("acme", auth.Role{Name: "reader", Scope: []string{"object.read"}})
	directory.PutAccount(auth.Account{ID: "partner", Org: "acme", Roles: []string{"reader"}})
	if _, err := keys.Generate(context.Background(), "acme", clientKey); err != nil {
		log.Fatal(err)
	}
	signatures := &signature.Mechanism{
		Credentials: signature.Memory{clientKey: {Key: key, Account: "partner", Scope: []string{"object.read.c_note"}}},
		Replays:     signing.NewMemory(0),
	}
	tokens := &bearer.Mechanism{Keys: keys, Signers: keys, Ledger: ledger}
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		Ceiling:    true, // a token has no more than its own scope
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{signatures, tokens},
	}
	mux := guard.Mux()
	new(oauth.Server).Register(mux)

	r := httptest.NewRequest("POST", "/acme/v2/oauth/token", strings.NewReader("grant_type=client_credentials"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(clientKey, string(secret))
	reply := httptest.NewRecorder()
	mux.ServeHTTP(reply, r)
	var got struct {
		Type  string `json:"token_type"`
		Scope string `json:"scope"`
	}
	if err := json.Unmarshal(reply.Body.Bytes(), &got); err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply.Code, got.Type, got.Scope)
	// Output: 200 Bearer object.read.c_note
}

// The documents of the orgs, beside the Guard's own routes.
func ExampleServer_Metadata() {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	keys := new(token.MemoryKeys)
	signatures := &signature.Mechanism{Credentials: signature.Memory{}, Replays: signing.NewMemory(1000)}
	tokens := &bearer.Mechanism{Keys: keys, Signers: keys}
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{signatures, tokens},
	}
	site := http.NewServeMux()
	site.Handle("/.well-known/", new(oauth.Server).Metadata(guard))
	site.Handle("/", guard.Mux())

	reply := httptest.NewRecorder()
	site.ServeHTTP(reply, httptest.NewRequest("GET", "/.well-known/oauth-protected-resource/acme/v2", nil))
	fmt.Println(reply.Code, reply.Body)
	// Output: 200 {"authorization_servers":["https://api.example.com/acme/v2"],"bearer_methods_supported":["header"],"resource":"https://api.example.com/acme/v2"}
}

// What a document says of the three routes.
func ExampleServer_Describe() {
	keys := new(token.MemoryKeys)
	guard := &auth.Guard{
		Roles:     auth.RolesLimit,
		BaseURL:   "https://api.example.com",
		Directory: new(auth.Memory),
		Mechanisms: []auth.Mechanism{
			&signature.Mechanism{Credentials: signature.Memory{}, Replays: signing.NewMemory(1000)},
			&bearer.Mechanism{Keys: keys, Signers: keys},
		},
	}
	routes := map[string]openapi.Route{} // of the server's own routes
	maps.Copy(routes, new(oauth.Server).Describe(guard))
	fmt.Println(routes["POST /oauth/token"].Summary)
	// Output: Get a token by client credentials, or by one to be renewed
}
