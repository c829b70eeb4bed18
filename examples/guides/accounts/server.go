// Package accounts is a server for what people do with accounts: passwords, mail
// addresses, second factors, API tokens, and the end of an account. It has one tenant.
package accounts

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/token"
)

// Mail sends a mail, or puts it into a queue. It is the application's.
type Mail func(ctx context.Context, address, text string) error

// Server serves the routes of one tenant below /api.
type Server struct {
	*auth.Mux

	table    *Table
	sessions *session.Manager
	tokens   *bearer.Mechanism
	mail     Mail
}

// Resolve finds the only org, whatever the URL says: /api/notes instead of
// /main/v2/notes.
func Resolve(_ context.Context, r *http.Request) (auth.Address, error) {
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/api/")
	if !ok {
		return auth.Address{}, auth.ErrNotFound
	}
	return auth.Address{Org: Org.Code, Version: "v2", Rest: "/" + rest}, nil
}

// New returns a server. keys must have a key pair of App.
func New(table *Table, memory *session.Memory, keys *token.MemoryKeys, mail Mail) *Server {
	s := &Server{table: table, mail: mail, tokens: &bearer.Mechanism{Keys: keys, Signers: keys},
		sessions: &session.Manager{Store: memory.Sessions(), Attempts: memory.Attempts(), FactorStore: memory.Factors(), PasswordStore: table}}
	guard := &auth.Guard{
		Roles:      auth.RolesDoNotLimit, // routes ask for the role
		BaseURL:    "http://localhost:8080",
		Directory:  table,
		Resolve:    Resolve,
		OrgIDs:     true,
		Mechanisms: []auth.Mechanism{s.sessions, s.tokens},
	}
	s.Mux = guard.Mux()
	s.routes()
	return s
}

// routes says who may call what. Whoever finds a browser that was left signed in has a
// session, but no fresh one.
func (s *Server) routes() {
	signedIn := auth.Authenticated.By(session.Name)
	fresh := signedIn.Fresh(10*time.Minute, session.Name) // the Manager's own verbs ask for that themselves
	s.handle("POST /login", auth.Public, s.login)
	s.handle("POST /reauthenticate", signedIn, s.reauthenticate)
	s.handle("POST /password", signedIn, s.changePassword)
	s.handle("POST /password/forgotten", auth.Public, s.forgotten)
	s.handle("POST /password/reset", auth.Public, s.resetPassword)
	s.handle("POST /email", signedIn, s.changeEmail)
	s.handle("POST /email/verify", signedIn, s.verifyEmail) // the link alone is not enough: the address may be mistyped
	s.handle("POST /factor", auth.Optional, s.enrol)
	s.handle("POST /factor/confirm", auth.Optional, s.confirm)
	s.handle("POST /factor/recovery", signedIn, s.newRecovery)
	s.handle("GET /factor", signedIn, s.factor)
	s.handle("POST /tokens", fresh, s.newToken)
	s.handle("POST /account/delete", fresh, s.deleteOwn)
	s.handle("POST /accounts/{id}/factor/reset", fresh, s.resetFactor)
	s.handle("GET /me", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) (any, error) {
		return auth.From(r.Context()).Account, nil
	})
}

// handle answers with what do returns.
func (s *Server) handle(pattern string, n auth.Need, do func(http.ResponseWriter, *http.Request) (any, error)) {
	s.Handle(pattern, n, body.None(func(w http.ResponseWriter, r *http.Request) (envelope.Result[any], error) {
		data, err := do(w, r)
		return envelope.Result[any]{Data: data}, err
	}))
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) (any, error) {
	p, err := s.sessions.Login(w, r, session.LoginForm{
		Login: r.PostFormValue("email"), Password: r.PostFormValue("password"), Code: r.PostFormValue("code"),
	})
	return p.Account, err
}

func (s *Server) reauthenticate(w http.ResponseWriter, r *http.Request) (any, error) {
	email := s.table.Email(auth.From(r.Context()).Account)
	p, err := s.sessions.Reauthenticate(w, r, email, r.PostFormValue("password"))
	return p.Account, err
}

func (s *Server) changePassword(w http.ResponseWriter, r *http.Request) (any, error) {
	account := auth.From(r.Context()).Account
	email := s.table.Email(account)
	err := s.sessions.Passwords().Change(w, r, email, r.PostFormValue("password"), r.PostFormValue("new"),
		func(_ context.Context, encoded string, changed time.Time) error {
			return s.table.SetPassword(account, encoded, changed)
		})
	return "changed", err
}

func (s *Server) forgotten(_ http.ResponseWriter, r *http.Request) (any, error) {
	err := s.sessions.Mail().SendReset(r, r.PostFormValue("email"),
		func(ctx context.Context, account string, ticket session.MailTicket) error {
			return s.mail(ctx, s.table.Email(account), "https://www.example.com/reset#"+string(ticket))
		},
		func(ctx context.Context, err error) { slog.ErrorContext(ctx, "no mail for a reset", "cause", err) })
	return "If there is such an account, a mail is on its way.", err
}

func (s *Server) resetPassword(_ http.ResponseWriter, r *http.Request) (any, error) {
	err := s.sessions.Mail().ResetPassword(r, r.PostFormValue("ticket"), r.PostFormValue("new"),
		func(_ context.Context, account, encoded string, changed time.Time) error {
			return s.table.SetPassword(account, encoded, changed)
		})
	return "Sign in with the new password.", err
}

// changeEmail mails a link to the new address, and a notice to the present one, whose
// owner can still object. Nothing changes before the link is used: a reset must not be
// mailed to an address that was mistyped.
func (s *Server) changeEmail(_ http.ResponseWriter, r *http.Request) (any, error) {
	account, email := auth.From(r.Context()).Account, r.PostFormValue("email")
	ticket, err := s.sessions.Mail().AddressTicket(r, account, email)
	if err != nil {
		return nil, err
	}
	if err := s.mail(r.Context(), email, "https://www.example.com/verify#"+string(ticket)); err != nil {
		return nil, err
	}
	return "Look into your mails.", s.mail(r.Context(), s.table.Email(account), "Somebody asked to change the address of your account.")
}

func (s *Server) verifyEmail(_ http.ResponseWriter, r *http.Request) (any, error) {
	account, email, err := s.sessions.Mail().VerifyAddress(r, r.PostFormValue("ticket"))
	if err != nil {
		return nil, err
	}
	if err := s.table.SetEmail(account, email); err != nil {
		return nil, err
	}
	// Now, so that no reset is left that was mailed to the former address.
	_, err = s.sessions.Sessions().RevokeAll(r.Context(), Org.Key(), account, auth.From(r.Context()).SessionID)
	return "This is your address now.", err
}

func (s *Server) enrol(_ http.ResponseWriter, r *http.Request) (any, error) {
	e, err := s.sessions.Factors().Enrol(r)
	email := s.table.Email(e.Account)
	return s.sessions.Factors().OTPAuth("Example", email, e.Secret), err
}

func (s *Server) confirm(w http.ResponseWriter, r *http.Request) (any, error) {
	codes, err := s.sessions.Factors().Confirm(w, r, r.PostFormValue("code"))
	return codes, err
}

func (s *Server) newRecovery(_ http.ResponseWriter, r *http.Request) (any, error) {
	codes, err := s.sessions.Factors().RenewRecovery(r, r.PostFormValue("code"))
	return codes, err
}

func (s *Server) factor(_ http.ResponseWriter, r *http.Request) (any, error) {
	return s.sessions.Factors().State(r.Context(), Org.Key(), auth.From(r.Context()).Account)
}

// resetFactor is for an administrator who has made sure who asks.
func (s *Server) resetFactor(_ http.ResponseWriter, r *http.Request) (any, error) {
	id := r.PathValue("id")
	if err := mayReset(auth.From(r.Context()), id); err != nil {
		return nil, err
	}
	if _, err := s.table.Account(r.Context(), Org.Key(), id); err != nil {
		return nil, err
	}
	return "reset", s.sessions.Factors().Reset(r.Context(), Org.Key(), id)
}

func mayReset(by auth.Principal, account string) error {
	if !by.HasRole("administrator") {
		return auth.ErrForbidden
	}
	// The password alone is then enough. With auth.RolesLimit, not every administrator may do
	// what the account may.
	return by.AsAdministrator(true).MayMake(auth.Everything(account))
}

// newToken makes an API token for whoever is signed in. It can do what its chains say,
// for an hour.
func (s *Server) newToken(_ http.ResponseWriter, r *http.Request) (any, error) {
	by := auth.From(r.Context())
	wish := bearer.Wish{Claims: token.Claims{
		Issuer:  App, // a session has no app of its own
		Subject: by.Account,
		Scope:   strings.Fields(r.PostFormValue("scope")),
		Expires: time.Now().Add(time.Hour),
	}}
	minted, _, err := s.tokens.Mint(r.Context(), by.AsAdministrator(by.HasRole("administrator")), auth.TenantFrom(r.Context()), wish)
	return string(minted), err // a Token prints REDACTED
}

// deleteOwn deletes the account of the session. From the first step on, nobody is
// admitted as the account. The others remove what is stored beside the table.
func (s *Server) deleteOwn(_ http.ResponseWriter, r *http.Request) (any, error) {
	account := auth.From(r.Context()).Account
	s.table.Delete(account) // in SQL: mark it, and delete it after the last step
	err := s.sessions.Factors().Reset(r.Context(), Org.Key(), account)
	return "deleted", err
}
