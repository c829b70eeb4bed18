package signature_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
)

// A server with one org, one app and one credential, and a client that signs.
func Example() {
	clientKey, secret := signing.Generate()
	key, err := signing.NewKey(clientKey, secret)
	if err != nil {
		log.Fatal(err)
	}
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutApp(auth.App{ClientKey: clientKey, Org: "acme"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})

	guard := &auth.Guard{
		Roles:     auth.RolesLimit,
		BaseURL:   "https://api.example.com",
		Directory: directory,
		Mechanisms: []auth.Mechanism{&signature.Mechanism{
			Credentials: signature.Memory{clientKey: {Key: key, Account: "ann"}},
			Replays:     signing.NewMemory(0),
		}},
	}
	mux := guard.Mux()
	mux.HandleFunc("GET /whoami", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, auth.From(r.Context()).Account)
	})
	clients := authtest.Clients{Handler: mux, URL: "https://api.example.com/acme/v2", Guard: guard}
	for _, c := range []*http.Client{clients.Signed(clientKey, secret), clients.Browser()} {
		reply, err := c.Get(clients.URL + "/whoami")
		if err != nil {
			log.Fatal(err)
		}
		reply.Body.Close()
		fmt.Println(reply.Status)
	}
	// Output:
	// 200 OK
	// 401 Unauthorized
}

// Credentials in a table: look up the row, decrypt the secrets, and build the Key.
func ExampleCredentials() {
	var credentials signature.Credentials = table{}
	_, err := credentials.Credential(context.Background(), "unknown")
	fmt.Println(err)
	// Output: auth: not found
}

type table struct{}

func (table) Credential(ctx context.Context, clientKey string) (*signature.Credential, error) {
	return nil, auth.ErrNotFound // for sql.ErrNoRows
}
