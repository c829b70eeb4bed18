// People is a server of two orgs: login in two steps, a forgotten password, and one person in both orgs.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
)

// table stands for your table of people. auth.Memory is its Directory, and finds accounts by person.
type table struct {
	auth.Memory
	mu        sync.Mutex
	passwords map[string]string // by org and address
}

// Password implements session.PasswordStore. Here the address is the id of the account.
func (t *table) Password(_ context.Context, org auth.OrgKey, address string) (account, encoded string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if encoded = t.passwords[string(org)+" "+address]; encoded == "" {
		err = auth.ErrNotFound
	}
	return address, encoded, err
}

// setPassword stores the password and when it was changed, in one step: sessions from before are over.
func (t *table) setPassword(ctx context.Context, org auth.OrgKey, account, encoded string, changed time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, err := t.Account(ctx, org, account)
	if err != nil {
		return err
	}
	after := *a
	after.Changed = changed
	t.PutAccount(after)
	t.passwords[string(org)+" "+account] = encoded
	return nil
}

type server struct {
	table  *table
	people *session.Manager
}

func (s *server) login(w http.ResponseWriter, r *http.Request) (any, error) {
	p, err := s.people.Login(w, r, session.LoginForm{Login: r.PostFormValue("email"), Password: r.PostFormValue("password")})
	return p.Account, err
}

func (s *server) code(w http.ResponseWriter, r *http.Request) (any, error) {
	p, err := s.people.VerifyCode(w, r, session.LoginForm{Code: r.PostFormValue("code")})
	return p.Account, err
}

func (s *server) enrol(_ http.ResponseWriter, r *http.Request) (any, error) {
	e, err := s.people.Factors().Enrol(r)
	return e.Base32(), err // or OTPAuth, as a QR code that your page draws
}

func (s *server) confirm(w http.ResponseWriter, r *http.Request) (any, error) {
	return s.people.Factors().Confirm(w, r, r.PostFormValue("code")) // the recovery codes, shown once
}

func (s *server) forgot(_ http.ResponseWriter, r *http.Request) (any, error) {
	err := s.people.Mail().SendReset(r, r.PostFormValue("email"), func(_ context.Context, account string, ticket session.MailTicket) error {
		_, err := fmt.Printf("To: %s\nhttps://www.example.com/reset#%s\n", account, string(ticket)) // your mail
		return err
	}, func(_ context.Context, err error) { log.Print("no mail: ", err) })
	return "sent, if there is such an account", err
}

func (s *server) reset(_ http.ResponseWriter, r *http.Request) (any, error) {
	org := auth.TenantFrom(r.Context()).Org.Key()
	return "changed", s.people.Mail().ResetPassword(r, r.PostFormValue("ticket"), r.PostFormValue("password"),
		func(ctx context.Context, account, encoded string, changed time.Time) error {
			return s.table.setPassword(ctx, org, account, encoded, changed)
		})
}

func (s *server) enter(w http.ResponseWriter, r *http.Request) (any, error) {
	there, err := s.people.Enter(w, r, r.PostFormValue("org"))
	return there.Account, err
}

func (s *server) me(_ http.ResponseWriter, r *http.Request) (any, error) {
	p := auth.From(r.Context())
	return string(p.Org) + "/" + p.Account, nil
}

func (s *server) logout(w http.ResponseWriter, r *http.Request) (any, error) {
	return "bye", s.people.Logout(w, r)
}

func main() {
	t, memory := &table{passwords: map[string]string{}}, new(session.Memory)
	s := &server{t, &session.Manager{Store: memory.Sessions(), Attempts: memory.Attempts(), FactorStore: memory.Factors(), PasswordStore: t}}
	encoded, err := s.people.Passwords().Hash(context.Background(), "correct horse")
	if err != nil {
		log.Fatal(err)
	}
	for _, org := range []auth.OrgKey{"acme", "globex"} { // the second is entered from the first without a password
		t.PutOrg(auth.Org{Code: string(org), Session: auth.SessionPolicy{EnterWith: []string{session.MethodPassword, session.MethodCode}}})
		t.PutAccount(auth.Account{ID: "ann@example.com", Org: org, Person: "p1"})
		t.passwords[string(org)+" ann@example.com"] = encoded
	}

	mux := (&auth.Guard{BaseURL: "http://localhost:8085", Directory: t, Roles: auth.RolesLimit, Mechanisms: []auth.Mechanism{s.people}}).Mux()
	signedIn := auth.Authenticated.By(session.Name)
	for pattern, route := range map[string]struct {
		need auth.Need
		do   func(http.ResponseWriter, *http.Request) (any, error)
	}{
		"POST /login":          {auth.Public, s.login},
		"POST /login/code":     {auth.Public, s.code},
		"POST /logout":         {signedIn, s.logout},
		"POST /factor":         {auth.Optional, s.enrol}, // Optional: an org that requires a factor sends people here before they have a session
		"POST /factor/confirm": {auth.Optional, s.confirm},
		"POST /forgot":         {auth.Public, s.forgot},
		"POST /reset":          {auth.Public, s.reset},
		"POST /enter":          {signedIn, s.enter},
		"GET /me":              {signedIn, s.me},
	} {
		mux.Handle(pattern, route.need, body.None(func(w http.ResponseWriter, r *http.Request) (envelope.Result[any], error) {
			data, err := route.do(w, r)
			return envelope.Result[any]{Data: data}, err
		}))
	}
	log.Print("listening on http://localhost:8085/acme/v2")
	log.Fatal(http.ListenAndServe("localhost:8085", mux))
}
