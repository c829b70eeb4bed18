package main

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
)

// Server has the routes of people and their accounts.
type Server struct {
	*auth.Mux
	table    *Table
	sessions *session.Manager
	mail     func(ctx context.Context, address, text string) error
}

// New returns a server.
func New(baseURL string, table *Table, key session.DeviceKey, mail func(ctx context.Context, address, text string) error) *Server {
	s := &Server{table: table, mail: mail}
	memory := new(session.Memory)
	s.sessions = &session.Manager{Store: memory.Sessions(), Attempts: memory.Attempts(), FactorStore: memory.Factors(), PasswordStore: table, DeviceKey: key,
		Cookies:       session.Cookies{Device: "device"}, // one for all orgs: see People with several accounts
		Administrator: func(p auth.Principal) bool { return p.HasRole("administrator") }}
	guard := &auth.Guard{BaseURL: baseURL, Directory: table, Roles: auth.RolesLimit, Mechanisms: []auth.Mechanism{s.sessions}}
	s.Mux = guard.Mux()

	signedIn, administers := auth.Authenticated.By(session.Name), auth.Allow("admin.update").By(session.Name)
	s.handle("POST /login", auth.Public, s.login)
	s.handle("POST /login/code", auth.Public, s.code)
	s.handle("POST /logout", signedIn, func(w http.ResponseWriter, r *http.Request) (any, error) { return nil, s.sessions.Logout(w, r) })
	s.handle("POST /factor", auth.Optional, func(_ http.ResponseWriter, r *http.Request) (any, error) {
		e, err := s.sessions.Factors().Enrol(r)
		return s.sessions.Factors().OTPAuth("Example", e.Account, e.Secret), err
	})
	s.handle("POST /factor/confirm", auth.Optional, func(w http.ResponseWriter, r *http.Request) (any, error) {
		return s.sessions.Factors().Confirm(w, r, r.PostFormValue("code"))
	})
	s.handle("GET /me", signedIn, s.me)
	s.handle("GET /orgs", signedIn, s.orgs)
	s.handle("POST /enter", signedIn, s.enter)
	s.handle("POST /logout/everywhere", signedIn, s.everywhere)
	s.handle("GET /devices", signedIn, s.devices)
	s.handle("DELETE /devices/{id}", signedIn, s.forget)
	s.handle("GET /invitations", administers, s.invitations)
	s.handle("POST /invitations", administers, s.invite)
	s.handle("DELETE /invitations/{id}", administers, s.takeBack)
	s.handle("POST /join", auth.Public, s.join)
	s.handle("POST /act", administers, s.act)
	return s
}

func (s *Server) handle(pattern string, n auth.Need, do func(http.ResponseWriter, *http.Request) (any, error)) {
	s.HandleFunc(pattern, n, func(w http.ResponseWriter, r *http.Request) {
		data, err := do(w, r)
		if err != nil {
			auth.Fail(w, r, err)
			return
		}
		auth.Reply(w, r, envelope.Result[any]{Data: data})
	})
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) (any, error) {
	p, err := s.sessions.Login(w, r, session.LoginForm{Login: r.PostFormValue("login"), Password: r.PostFormValue("password")})
	return p.Account, err
}

func (s *Server) code(w http.ResponseWriter, r *http.Request) (any, error) {
	p, err := s.sessions.VerifyCode(w, r, session.LoginForm{
		Code:           r.PostFormValue("code"),
		RememberDevice: r.PostFormValue("remember") == "yes",
	})
	return p.Account, err
}

// me says who is signed in. A page shows the Actor as long as there is one.
func (s *Server) me(_ http.ResponseWriter, r *http.Request) (any, error) {
	p := auth.From(r.Context())
	return map[string]string{"org": string(p.Org), "account": p.Account, "actor": p.Actor()}, nil
}

// person returns whose account is signed in; "": nobody who has several.
func (s *Server) person(r *http.Request) (string, error) {
	a, err := auth.TenantFrom(r.Context()).Account(r.Context(), auth.From(r.Context()).Account)
	if err != nil {
		return "", err
	}
	return a.Person, nil
}

// orgs lists where the person has accounts, for a switcher.
func (s *Server) orgs(_ http.ResponseWriter, r *http.Request) (any, error) {
	person, err := s.person(r)
	if err != nil || person == "" || auth.From(r.Context()).Actor() != "" { // who acts for somebody enters no other org
		return []auth.OrgKey{}, err
	}
	accounts, err := s.table.Accounts(r.Context(), person)
	orgs := []auth.OrgKey{}
	for _, a := range accounts {
		if !a.Disabled {
			orgs = append(orgs, a.Org)
		}
	}
	slices.Sort(orgs)
	return orgs, err
}

func (s *Server) enter(w http.ResponseWriter, r *http.Request) (any, error) {
	there, err := s.sessions.Enter(w, r, r.PostFormValue("org"))
	return there.Account, err
}

// everywhere ends all sessions of the person, in all orgs.
func (s *Server) everywhere(_ http.ResponseWriter, r *http.Request) (any, error) {
	p := auth.From(r.Context())
	if p.Actor() != "" { // that is for the owner
		return nil, auth.ErrForbidden
	}
	person, err := s.person(r)
	if err != nil {
		return nil, err
	}
	if person == "" {
		return s.sessions.Sessions().RevokeAll(r.Context(), p.Org, p.Account, "")
	}
	return s.sessions.Sessions().RevokeAll(r.Context(), auth.PersonKey, person, "")
}

func (s *Server) devices(_ http.ResponseWriter, r *http.Request) (any, error) {
	return s.sessions.Sessions().Devices(r.Context(), auth.TenantFrom(r.Context()).Org, auth.From(r.Context()).Account)
}

func (s *Server) forget(_ http.ResponseWriter, r *http.Request) (any, error) {
	p := auth.From(r.Context())
	return "forgotten", s.sessions.Sessions().Revoke(r.Context(), p.Org, p.Account, r.PathValue("id"))
}

func (s *Server) invite(_ http.ResponseWriter, r *http.Request) (any, error) {
	address := r.PostFormValue("address")
	ticket, err := s.sessions.Mail().Invite(r, session.Invitation{Address: address, Roles: r.PostForm["role"]})
	if err != nil {
		return nil, err
	}
	return "invited", s.mail(r.Context(), address, "https://www.example.com/join#"+string(ticket))
}

func (s *Server) invitations(_ http.ResponseWriter, r *http.Request) (any, error) {
	all, err := s.sessions.Mail().Invitations(r.Context(), auth.From(r.Context()).Org)
	open := make([]invitation, len(all))
	for i, one := range all {
		open[i] = invitation(one)
	}
	return open, err
}

// invitation is how the page sees a session.Invitation, whose JSON is that of the store.
type invitation struct {
	ID, Address string
	Roles       []string
	Inviter     string
	Expires     time.Time
}

func (s *Server) takeBack(_ http.ResponseWriter, r *http.Request) (any, error) {
	return "taken back", s.sessions.Mail().TakeBack(r.Context(), auth.From(r.Context()).Org, r.PathValue("id"))
}

// join makes the account of somebody who was invited. It reads no address and no role of the request.
func (s *Server) join(_ http.ResponseWriter, r *http.Request) (any, error) {
	org := auth.TenantFrom(r.Context()).Org.Key()
	err := s.sessions.Mail().Accept(r, r.PostFormValue("ticket"),
		func(ctx context.Context, i session.Invitation, end func(context.Context, session.Ending) error) error {
			encoded, err := s.sessions.Passwords().Hash(ctx, r.PostFormValue("password")) // now, because the ticket is valid
			if err != nil {
				return err
			}
			if err := end(ctx, nil); err != nil {
				return err
			}
			return s.table.Add(auth.Account{ID: rand.Text(), Org: org, Roles: i.Roles}, i.Address, encoded)
		})
	return "joined", err
}

func (s *Server) act(w http.ResponseWriter, r *http.Request) (any, error) {
	p, err := s.sessions.Act(w, r, r.PostFormValue("account"), r.PostFormValue("reason"))
	return p.Account, err
}
