// First is a server of notes: two orgs, two roles, and a list that is limited to what its caller may read.
package main

import (
	"context"
	"log"
	"net/http"
	"strconv"
	"sync"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
)

type note struct {
	envelope.Item
	Text string `json:"text"`
}

type server struct {
	people    *session.Manager
	passwords map[string]string // login name to encoded password: a table, from page 3 on

	mu    sync.Mutex
	notes map[auth.OrgKey][]note
}

// Password implements session.PasswordStore.
func (s *server) Password(_ context.Context, _ auth.OrgKey, name string) (account, encoded string, err error) {
	if encoded = s.passwords[name]; encoded == "" {
		err = auth.ErrNotFound
	}
	return name, encoded, err
}

func (s *server) login(w http.ResponseWriter, r *http.Request) {
	p, err := s.people.Login(w, r, session.LoginForm{Login: r.PostFormValue("name"), Password: r.PostFormValue("password")})
	if err != nil {
		auth.Fail(w, r, err)
		return
	}
	auth.Reply(w, r, envelope.Result[string]{Data: p.Account})
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	auth.Reply(w, r, envelope.List[note]{Data: s.notes[auth.From(r.Context()).Org]}) // the org of the caller, of no argument
}

type newNote struct {
	Text string `json:"text"`
}

func (s *server) create(_ http.ResponseWriter, r *http.Request, ask newNote) (note, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	org := auth.From(r.Context()).Org
	n := note{envelope.Item{ID: strconv.Itoa(len(s.notes[org]) + 1), Object: "note"}, ask.Text}
	s.notes[org] = append(s.notes[org], n)
	return n, nil
}

func main() {
	directory, memory := new(auth.Memory), new(session.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutOrg(auth.Org{Code: "globex"})
	directory.PutRole("acme", auth.Role{Name: "editor", Scope: []string{"object.read.note", "object.create.note"}})
	directory.PutRole("acme", auth.Role{Name: "reader", Scope: []string{"object.read.note"}})
	directory.PutAccount(auth.Account{ID: "ada", Org: "acme", Roles: []string{"editor"}})
	directory.PutAccount(auth.Account{ID: "bob", Org: "acme", Roles: []string{"reader"}})

	s := &server{passwords: map[string]string{}, notes: map[auth.OrgKey][]note{}}
	s.people = &session.Manager{Store: memory.Sessions(), Attempts: memory.Attempts(), PasswordStore: s}
	for _, name := range []string{"ada", "bob"} {
		s.passwords[name], _ = s.people.Passwords().Hash(context.Background(), "correct horse")
	}

	guard := &auth.Guard{
		BaseURL:    "http://localhost:8085",
		Directory:  directory,
		Roles:      auth.RolesLimit,
		Mechanisms: []auth.Mechanism{s.people},
	}
	mux := guard.Mux()
	mux.HandleFunc("POST /login", auth.Public, s.login)
	mux.HandleFunc("GET /notes", auth.Allow("object.read.note"), s.list)
	mux.Handle("POST /notes", auth.Allow("object.create.note"), body.Handle(s.create))
	log.Print("listening on http://localhost:8085/acme/v2")
	log.Fatal(http.ListenAndServe("localhost:8085", mux))
}
