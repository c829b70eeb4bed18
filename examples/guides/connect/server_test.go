package connect_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	connectrpc "connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/examples/guides/connect"
	"github.com/tenantkit/tenantkit/signing"
)

func TestMethodsBelowAGuard(t *testing.T) {
	clientKey, secret := signing.Generate()
	key, err := signing.NewKey(clientKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	directory, credential := new(auth.Memory), &signature.Credential{Key: key, Account: "ann"}
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutRole("acme", auth.Role{Name: "reader", Scope: []string{"object.read"}})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"reader"}})
	directory.PutApp(auth.App{ClientKey: clientKey, Org: "acme"})
	server := httptest.NewUnstartedServer(connect.NewHandler(&auth.Guard{
		Roles:     auth.RolesLimit,
		BaseURL:   "https://api.example.com",
		Directory: directory,
		Mechanisms: []auth.Mechanism{&signature.Mechanism{
			Credentials: signature.Memory{clientKey: credential}, Replays: signing.NewMemory(0),
		}},
	}))
	server.EnableHTTP2 = true // gRPC requires it
	server.StartTLS()
	defer server.Close()

	base := server.URL + "/acme/v2"
	signed := &http.Client{Transport: &signing.Transport{
		BaseURL: base, ClientKey: clientKey, Secret: secret, Base: server.Client().Transport,
	}}
	for name, protocol := range map[string][]connectrpc.ClientOption{
		"Connect":  nil,
		"gRPC":     {connectrpc.WithGRPC()},
		"gRPC-Web": {connectrpc.WithGRPCWeb()},
	} {
		t.Run(name, func(t *testing.T) {
			call := func(client *http.Client) (string, connectrpc.Code) {
				notes := connectrpc.NewClient[wrapperspb.StringValue, wrapperspb.StringValue](client, base+connect.Get, protocol...)
				reply, err := notes.CallUnary(t.Context(), connectrpc.NewRequest(wrapperspb.String("one")))
				if err != nil {
					return "", connectrpc.CodeOf(err)
				}
				return reply.Msg.GetValue(), 0
			}
			credential.Scope = nil
			if text, code := call(signed); text != "acme ann one" {
				t.Errorf("signed: %q %s", text, code)
			}
			if _, code := call(server.Client()); code != connectrpc.CodeUnauthenticated {
				t.Errorf("unsigned: %s", code)
			}
			credential.Scope = []string{"admin"}
			if _, code := call(signed); code != connectrpc.CodePermissionDenied {
				t.Errorf("beyond its scope: %s", code)
			}
		})
	}
}
