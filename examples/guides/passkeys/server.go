// Package passkeys lets people sign in with a passkey, as the second factor or as the only one.
package passkeys

import (
	_ "embed"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
)

// Script is the part that runs in the browser.
//
//go:embed passkeys.mjs
var Script []byte

// Server has the routes of passkeys.
type Server struct {
	*auth.Mux
	table      *Table
	relying    *webauthn.WebAuthn
	sessions   *session.Manager
	ceremonies ceremonies
}

// New returns a server. Passkeys belong to the host of the URL: they are lost when it changes.
func New(baseURL string, table *Table, store *session.Memory) (*Server, error) {
	base, err := url.Parse(baseURL)
	if err != nil {
		return nil, err
	}
	relying, err := webauthn.New(&webauthn.Config{RPID: base.Hostname(), RPDisplayName: "Example", RPOrigins: []string{baseURL}})
	if err != nil {
		return nil, err
	}
	s := &Server{table: table, relying: relying}
	s.sessions = &session.Manager{Store: store.Sessions(), Attempts: store.Attempts(), FactorStore: store.Factors(), PasswordStore: table}
	guard := &auth.Guard{BaseURL: baseURL, Directory: table, Roles: auth.RolesLimit, Mechanisms: []auth.Mechanism{s.sessions}}
	s.Mux = guard.Mux()
	// A passkey opens sessions for as long as it exists. So whoever adds one has just signed in.
	fresh := auth.Authenticated.Fresh(10*time.Minute, session.Name).By(session.Name)
	s.handle("POST /passkeys/begin", fresh, s.beginAdding)
	s.handle("POST /passkeys", fresh, s.add)
	s.handle("POST /signin/begin", auth.Public, s.begin)
	s.handle("POST /signin", auth.Public, s.signIn)
	s.handle("POST /login", auth.Public, func(w http.ResponseWriter, r *http.Request) (any, error) {
		p, err := s.sessions.Login(w, r, session.LoginForm{Login: r.PostFormValue("login"), Password: r.PostFormValue("password")})
		return p.Account, err
	})
	s.handle("POST /logout", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) (any, error) {
		return nil, s.sessions.Logout(w, r)
	})
	s.handle("GET /me", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) (any, error) {
		return auth.From(r.Context()).Account, nil
	})
	return s, nil
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

// beginAdding returns the options of navigator.credentials.create.
func (s *Server) beginAdding(_ http.ResponseWriter, r *http.Request) (any, error) {
	p := auth.From(r.Context())
	owner, err := s.table.Owner(p.Org, p.Account)
	if err != nil {
		return nil, err
	}
	// The authenticator keeps the account, so that people need not enter a name to sign in.
	options, data, err := s.relying.BeginRegistration(owner,
		webauthn.WithResidentKeyRequirement(protocol.ResidentKeyRequirementRequired),
		webauthn.WithExclusions(webauthn.Credentials(owner.Passkeys).CredentialDescriptors()))
	if err != nil {
		return nil, err
	}
	return options, s.ceremonies.add(p.Org, data)
}

// add stores the passkey that the browser has created.
func (s *Server) add(w http.ResponseWriter, r *http.Request) (any, error) {
	p := auth.From(r.Context())
	owner, err := s.table.Owner(p.Org, p.Account)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		return nil, err
	}
	response, err := protocol.ParseCredentialCreationResponseBytes(text)
	if err != nil {
		return nil, &auth.Error{Detail: auth.DetailBody, Err: err}
	}
	c, ok := s.ceremonies.take(p.Org, response.Response.CollectedClientData.Challenge)
	if !ok {
		return nil, &auth.Error{Detail: auth.DetailInvalidCode}
	}
	passkey, err := s.relying.CreateCredential(owner, c.SessionData, response) // also compares the owner with the ceremony's
	if err != nil {
		return nil, &auth.Error{Detail: auth.DetailInvalidCode, Err: err}
	}
	return "added", s.table.Save(p.Org, p.Account, *passkey)
}

// begin returns the options of navigator.credentials.get. They name no passkeys, so nobody learns who
// has some.
func (s *Server) begin(_ http.ResponseWriter, r *http.Request) (any, error) {
	if err := s.sessions.SameOrigin(r); err != nil {
		return nil, err
	}
	options, data, err := s.relying.BeginDiscoverableLogin()
	if err != nil {
		return nil, err
	}
	return options, s.ceremonies.add(auth.TenantFrom(r.Context()).Org.Key(), data)
}

// signIn opens a session for the owner of the passkey.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) (any, error) {
	if err := s.sessions.SameOrigin(r); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		return nil, err
	}
	owner, proof, err := s.verify(auth.TenantFrom(r.Context()).Org.Key(), text)
	if err != nil {
		return nil, &auth.Error{Detail: auth.DetailInvalidCredentials, Err: err}
	}
	p, err := s.sessions.Start(w, r, owner.Account, proof)
	return p.Account, err
}

// verify returns who has signed the challenge, and what that proves.
func (s *Server) verify(org auth.OrgKey, text []byte) (owner Owner, _ session.Proof, err error) {
	response, err := protocol.ParseCredentialRequestResponseBytes(text)
	if err != nil {
		return owner, session.Proof{}, err
	}
	c, ok := s.ceremonies.take(org, response.Response.CollectedClientData.Challenge)
	if !ok {
		return owner, session.Proof{}, session.ErrCode
	}
	find := func(_, handle []byte) (webauthn.User, error) {
		owner, err = s.table.ByHandle(org, handle)
		return owner, err
	}
	_, passkey, err := s.relying.ValidatePasskeyLogin(find, c.SessionData, response)
	if err != nil {
		return owner, session.Proof{}, err
	}
	if passkey.Authenticator.CloneWarning { // its counter went back
		return owner, session.Proof{}, session.ErrCredentials
	}
	methods := []string{session.MethodPasskey}
	// The flag of this response. That of the stored passkey says that the user was verified some day.
	if response.Response.AuthenticatorData.Flags.HasUserVerified() {
		methods = append(methods, "uv")
	}
	// The time of the challenge: the response is not older.
	return owner, session.Proof{At: c.at, Methods: methods}, s.table.Save(org, owner.Account, *passkey)
}
