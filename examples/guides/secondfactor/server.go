// Package secondfactor lets people sign in with a second factor, and requires one of
// administrators.
package secondfactor

import (
	"context"
	"net/http"
	"slices"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
)

// People is the application's table of people.
type People interface {
	auth.Directory
	session.PasswordStore
	Email(ctx context.Context, org auth.OrgKey, account string) (string, error)
}

// Server has the routes of logins and second factors.
type Server struct {
	*auth.Mux
	people    People
	directory *auth.CachedDirectory
	sessions  *session.Manager
}

// New returns a server. Factors must be one store for all instances, and sealed: see sqlstore.
func New(people People, store *session.Memory, factors session.FactorStore) *Server {
	s := &Server{people: people, directory: auth.Cached(strict{people, factors}, 0)}
	s.sessions = &session.Manager{Store: store.Sessions(), Attempts: store.Attempts(), FactorStore: factors, PasswordStore: people}
	guard := &auth.Guard{BaseURL: "https://api.example.com", Directory: s.directory, Roles: auth.RolesLimit, Mechanisms: []auth.Mechanism{s.sessions}}
	s.Mux = guard.Mux()

	s.handle("POST /login", auth.Public, s.login)
	s.handle("POST /login/code", auth.Public, s.code)
	// Optional, because without a session there is the ticket of a login, if the org requires a
	// factor. A session must be fresh for these verbs: the Manager sees to that.
	s.handle("POST /factor", auth.Optional, s.enrol)
	s.handle("POST /factor/confirm", auth.Optional, s.confirm)
	s.handle("POST /factor/remove", auth.Authenticated.By(session.Name), s.remove)
	s.handle("GET /settings", auth.Allow("admin.read"), func(http.ResponseWriter, *http.Request) (any, error) { return "settings", nil })
	return s
}

func (s *Server) handle(pattern string, n auth.Need, do func(http.ResponseWriter, *http.Request) (any, error)) {
	s.Handle(pattern, n, body.None(func(w http.ResponseWriter, r *http.Request) (envelope.Result[any], error) {
		data, err := do(w, r)
		return envelope.Result[any]{Data: data}, err
	}))
}

// login is the first step. If there is a second one, its error is a 403 whose reason names it.
func (s *Server) login(w http.ResponseWriter, r *http.Request) (any, error) {
	p, err := s.sessions.Login(w, r, session.LoginForm{Login: r.PostFormValue("email"), Password: r.PostFormValue("password")})
	return p.Account, err
}

// code is the second step. The browser sends the ticket of the first as a cookie.
func (s *Server) code(w http.ResponseWriter, r *http.Request) (any, error) {
	p, err := s.sessions.VerifyCode(w, r, session.LoginForm{Code: r.PostFormValue("code")})
	return p.Account, err
}

func (s *Server) enrol(_ http.ResponseWriter, r *http.Request) (any, error) {
	e, err := s.sessions.Factors().Enrol(r)
	if err != nil {
		return nil, err
	}
	// The authenticator shows this name: not the id, which may be a UUID.
	email, err := s.people.Email(r.Context(), auth.TenantFrom(r.Context()).Org.Key(), e.Account)
	return s.sessions.Factors().OTPAuth("Example", email, e.Secret), err
}

func (s *Server) confirm(w http.ResponseWriter, r *http.Request) (any, error) {
	// Also after an error: an administrator with a factor has other roles from now on.
	defer s.directory.Invalidate(auth.TenantFrom(r.Context()).Org.Key())
	return s.sessions.Factors().Confirm(w, r, r.PostFormValue("code"))
}

func (s *Server) remove(_ http.ResponseWriter, r *http.Request) (any, error) {
	defer s.directory.Invalidate(auth.From(r.Context()).Org)
	return "removed", s.sessions.Factors().Remove(r, r.PostFormValue("code"))
}

// strict is a Directory in which administrators without a second factor have no role.
type strict struct {
	auth.Directory
	factors session.FactorStore
}

// Account implements auth.Directory.
func (d strict) Account(ctx context.Context, org auth.OrgKey, id string) (*auth.Account, error) {
	a, err := d.Directory.Account(ctx, org, id)
	if err != nil || !slices.Contains(a.Roles, "administrator") {
		return a, err
	}
	factor, err := d.factors.Factor(ctx, org, id)
	if err != nil {
		return nil, err // 503: it is not known whether there is one
	}
	if factor.Secret != "" {
		return a, nil
	}
	enrolling := *a // a Directory shares what it returns
	enrolling.Roles = nil
	return &enrolling, nil
}
