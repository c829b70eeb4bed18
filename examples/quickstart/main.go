// Quickstart is a whole server: a person logs in, a partner signs its requests, and a role limits both.
package main

import (
	"context"
	"log"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
)

type passwords map[string]string // login name to encoded password: a table of yours

func (p passwords) Password(_ context.Context, _ auth.OrgKey, login string) (account, encoded string, err error) {
	if encoded = p[login]; encoded == "" {
		err = auth.ErrNotFound
	}
	return login, encoded, err
}

func main() {
	memory, users, directory := new(session.Memory), passwords{}, new(auth.Memory) // your database, later
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutRole("acme", auth.Role{Name: "reader", Scope: []string{"object.read.note"}})
	directory.PutAccount(auth.Account{ID: "ada", Org: "acme", Roles: []string{"reader"}})
	clientKey, secret := signing.Generate()
	key, _ := signing.NewKey(clientKey, secret)
	directory.PutApp(auth.App{ClientKey: clientKey, Org: "acme"})
	people := &session.Manager{Store: memory, Attempts: memory, PasswordStore: users}
	partners := &signature.Mechanism{Credentials: signature.Memory{clientKey: {Key: key, Account: "ada"}}, Replays: signing.NewMemory(1e6)}
	users["ada"], _ = people.Passwords().Hash(context.Background(), "correct horse")
	mux := (&auth.Guard{BaseURL: "http://localhost:8081", Directory: directory, Roles: auth.RolesLimit, Mechanisms: []auth.Mechanism{people, partners}}).Mux()
	mux.HandleFunc("POST /login", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		if _, err := people.Login(w, r, session.LoginForm{Login: r.PostFormValue("name"), Password: r.PostFormValue("password")}); err != nil {
			auth.Fail(w, r, err)
		}
	})
	mux.HandleFunc("GET /notes", auth.Allow("object.read.note"), func(w http.ResponseWriter, r *http.Request) {
		auth.Reply(w, r, map[string]string{"account": auth.From(r.Context()).Account, "note": "Water the plants"})
	})
	log.Printf("listening on localhost:8081; key=%s secret=%s", clientKey, string(secret))
	log.Fatal(http.ListenAndServe("localhost:8081", mux))
}
