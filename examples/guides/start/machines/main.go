// Machines is a server that programs call: with an API key, a signature, or a token of an OAuth client.
package main

import (
	"context"
	"log"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/oauth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

var reads = []string{"object.read.note"}

type server struct {
	people   *session.Manager
	keys     apikey.Keys
	password string
}

// Password implements session.PasswordStore.
func (s *server) Password(_ context.Context, _ auth.OrgKey, name string) (account, encoded string, err error) {
	if name != "ada" {
		return "", "", auth.ErrNotFound
	}
	return name, s.password, nil
}

func (s *server) login(w http.ResponseWriter, r *http.Request) (envelope.Result[string], error) {
	p, err := s.people.Login(w, r, session.LoginForm{Login: r.PostFormValue("name"), Password: r.PostFormValue("password")})
	return envelope.Result[string]{Data: p.Account}, err
}

type newKey struct {
	Name string `json:"name"`
}

type shownKey struct {
	ID  string `json:"_id"`
	Key string `json:"key"` // the only time that it is shown
}

// create issues a key for the service account of the partner. It can do no more than its creator.
func (s *server) create(_ http.ResponseWriter, r *http.Request, ask newKey) (shownKey, error) {
	by, tenant := auth.From(r.Context()).AsAdministrator(true), auth.TenantFrom(r.Context()) // the route's need lets in administrators only
	key, record, err := s.keys.Make(r.Context(), by, tenant, apikey.Grant{
		Account: "partner", Name: ask.Name, Scope: reads, Expires: tenant.Now().AddDate(0, 3, 0),
	})
	return shownKey{record.ID, string(key)}, err
}

func (s *server) revoke(_ http.ResponseWriter, r *http.Request) (envelope.Result[string], error) {
	return envelope.Result[string]{Data: "revoked"}, s.keys.Revoke(r.Context(), auth.From(r.Context()).Org, r.PathValue("id"))
}

func main() {
	ctx, directory, memory, tokenKeys := context.Background(), new(auth.Memory), new(session.Memory), new(token.MemoryKeys)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutRole("acme", auth.Role{Name: "administrator", Scope: []string{"admin", "object"}})
	directory.PutRole("acme", auth.Role{Name: "reader", Scope: reads})
	directory.PutAccount(auth.Account{ID: "ada", Org: "acme", Roles: []string{"administrator"}})
	directory.PutAccount(auth.Account{ID: "partner", Org: "acme", Roles: []string{"reader"}})

	// An app is a client of one org. Its credential signs requests, and authenticates it to OAuth.
	clientKey, secret := signing.Generate()
	key, err := signing.NewKey(clientKey, secret)
	if err != nil {
		log.Fatal(err)
	}
	directory.PutApp(auth.App{ClientKey: clientKey, Org: "acme", Name: "shop"})
	if _, err := tokenKeys.Generate(ctx, "acme", clientKey); err != nil { // signs its tokens
		log.Fatal(err)
	}

	s := new(server)
	s.people = &session.Manager{Store: memory.Sessions(), Attempts: memory.Attempts(), PasswordStore: s}
	if s.password, err = s.people.Passwords().Hash(ctx, "correct horse"); err != nil {
		log.Fatal(err)
	}
	apiKeys := &apikey.Mechanism{Formats: []apikey.Format{{Prefix: "acme_live"}}, Store: apikey.NewMemory()}
	s.keys = apiKeys.Keys()
	credential := &signature.Credential{Key: key, Account: "partner", Scope: reads}
	guard := &auth.Guard{BaseURL: "http://localhost:8085", Directory: directory, Roles: auth.RolesLimit, Ceiling: true, Mechanisms: []auth.Mechanism{
		s.people,
		apiKeys,
		&signature.Mechanism{Credentials: signature.Memory{clientKey: credential}, Replays: signing.NewMemory(1e6)},
		&bearer.Mechanism{Keys: tokenKeys, Signers: tokenKeys, Ledger: token.NewMemoryLedger(nil), Cache: new(token.Cache)},
	}}
	mux, tokens := guard.Mux(), new(oauth.Server)
	tokens.Register(mux) // POST /oauth/token, /oauth/introspect, /oauth/revoke
	administers := auth.Allow("admin.update").By(session.Name)
	mux.Handle("POST /login", auth.Public, body.None(s.login))
	mux.Handle("POST /keys", administers.Fresh(10*time.Minute), body.Handle(s.create))
	mux.Handle("DELETE /keys/{id}", administers, body.None(s.revoke))
	mux.HandleFunc("GET /notes", auth.Allow("object.read.note"), func(w http.ResponseWriter, r *http.Request) {
		p := auth.From(r.Context())
		auth.Reply(w, r, envelope.Result[string]{Data: p.Account + " by " + p.Mechanism})
	})

	site := http.NewServeMux()
	site.Handle("/.well-known/", tokens.Metadata(guard))
	site.Handle("/", mux)
	log.Printf("listening on http://localhost:8085/acme/v2 client_key=%s client_secret=%s", clientKey, string(secret))
	log.Fatal(http.ListenAndServe("localhost:8085", site))
}
