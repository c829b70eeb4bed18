// Quickstart is a whole server: a person logs in, a partner calls with an API key, and a role limits both.
package main

import (
	"context"
	"log"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/session"
)

type passwords map[string]string // login name to encoded password: a table of yours
func (p passwords) Password(_ context.Context, _ auth.OrgKey, name string) (account, encoded string, err error) {
	if encoded = p[name]; encoded == "" {
		err = auth.ErrNotFound
	}
	return name, encoded, err
}

func main() {
	directory, users, memory, keys := new(auth.Memory), passwords{}, new(session.Memory), apikey.NewMemory() // your database, later
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutRole("acme", auth.Role{Name: "reader", Scope: []string{"object.read.profile"}})
	directory.PutAccount(auth.Account{ID: "ada", Org: "acme", Roles: []string{"reader"}})
	people, partners := &session.Manager{Store: memory.Sessions(), Attempts: memory.Attempts(), PasswordStore: users}, &apikey.Mechanism{Formats: []apikey.Format{{Prefix: "acme_live"}}, Store: keys}
	users["ada"], _ = people.Passwords().Hash(context.Background(), "correct horse")
	key, record := partners.Formats[0].Generate()
	record.Org, record.Account, record.Scope = "acme", "ada", []string{"object.read.profile"}
	_ = keys.Add(context.Background(), record, 1)
	mux := (&auth.Guard{BaseURL: "http://localhost:8081", Directory: directory, Roles: auth.RolesLimit, Mechanisms: []auth.Mechanism{people, partners}}).Mux()
	mux.HandleFunc("POST /login", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		if _, err := people.Login(w, r, session.LoginForm{Login: r.PostFormValue("name"), Password: r.PostFormValue("password")}); err != nil {
			auth.Fail(w, r, err)
		}
	})
	mux.HandleFunc("GET /profile", auth.Allow("object.read.profile"), func(w http.ResponseWriter, r *http.Request) { auth.Reply(w, r, auth.From(r.Context()).Account) })
	log.Printf("listening on localhost:8081; key=%s", string(key))
	log.Fatal(http.ListenAndServe("localhost:8081", mux))
}
