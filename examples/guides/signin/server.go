// Package signin lets people sign in with an OpenID provider, such as Google, Entra or Okta.
package signin

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"golang.org/x/oauth2"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
)

// People is the application's table of people.
type People interface {
	auth.Directory

	// ByIdentity returns the account that is bound to the identity, or auth.ErrNotFound.
	ByIdentity(ctx context.Context, id Identity) (account string, err error)

	// Joins returns the roles of people who join the org by signing in with this issuer. It returns
	// auth.ErrNotFound if nobody does, which is the default.
	Joins(ctx context.Context, org auth.OrgKey, issuer string) (roles []string, err error)

	// Bind binds the identity to an account that exists. It returns auth.ErrConflict if another
	// account has the identity.
	Bind(ctx context.Context, id Identity, account string) error

	// Add adds an account and binds it to the identity, in one step. If the identity is bound
	// already, Add returns the account that has it. The address is shown, and identifies nobody.
	Add(ctx context.Context, a auth.Account, id Identity, address string) (account string, err error)
}

// Server has the routes of single sign-on.
type Server struct {
	*auth.Mux
	people    People
	providers map[string]*Provider
	sessions  *session.Manager
}

// New returns a server. The providers have a name each, which is in the callback's URL.
func New(baseURL string, people People, store *session.Memory, providers map[string]*Provider) *Server {
	s := &Server{people: people, providers: providers}
	s.sessions = &session.Manager{Store: store.Sessions(), Attempts: store.Attempts(), FactorStore: store.Factors()}
	guard := &auth.Guard{BaseURL: baseURL, Directory: people, Roles: auth.RolesLimit, Mechanisms: []auth.Mechanism{s.sessions}}
	s.Mux = guard.Mux()
	signedIn := auth.Authenticated.By(session.Name)
	fresh := signedIn.Fresh(10*time.Minute, session.Name) // an identity opens sessions for as long as it is bound
	s.handle("POST /signin/{provider}", auth.Public, s.begin("callback"))
	s.handle("GET /signin/{provider}/callback", auth.Public, s.callback)
	s.handle("POST /signin/{provider}/connect", fresh, s.begin("connected"))
	s.handle("GET /signin/{provider}/connected", fresh, s.connected)
	s.handle("POST /enter", signedIn, s.enter)
	s.handle("GET /me", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) error {
		auth.Reply(w, r, envelope.Result[string]{Data: auth.From(r.Context()).Account})
		return nil
	})
	return s
}

func (s *Server) handle(pattern string, n auth.Need, do func(http.ResponseWriter, *http.Request) error) {
	s.HandleFunc(pattern, n, func(w http.ResponseWriter, r *http.Request) {
		err := do(w, r)
		if errors.Is(err, errToken) {
			err = &auth.Error{Detail: auth.DetailInvalidCredentials, Err: err}
		}
		if err != nil {
			auth.Fail(w, r, err)
		}
	})
}

// provider returns the provider of the URL.
func (s *Server) provider(r *http.Request) (*Provider, error) {
	p, ok := s.providers[r.PathValue("provider")]
	if !ok {
		return nil, auth.ErrNotFound
	}
	// No issuers in the policy means any. One org's provider could then vouch for people of all orgs.
	if !slices.Contains(auth.TenantFrom(r.Context()).Org.Session.Issuers, p.Issuer) {
		return nil, &auth.Error{Detail: auth.DetailForbidden, Err: session.ErrProof}
	}
	return p, nil
}

// callbackOf returns the path below /signin to which the provider sends people back, and its URL.
func callbackOf(r *http.Request, name string) (path, url string) {
	path = r.PathValue("provider") + "/" + name
	return path, auth.TenantFrom(r.Context()).URL() + "/signin/" + path
}

// begin sends the browser to the provider.
func (s *Server) begin(name string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := s.sessions.SameOrigin(r); err != nil {
			return err
		}
		p, err := s.provider(r)
		if err != nil {
			return err
		}
		path, callback := callbackOf(r, name)
		config, _, err := p.config(r.Context(), callback)
		if err != nil {
			return err
		}
		org := auth.TenantFrom(r.Context()).Org
		b := begin(path, r.PostFormValue("page"))
		b.keep(w, string(org.Key()))
		options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(b.Verifier), oauth2.SetAuthURLParam("nonce", b.Nonce)}
		if age := org.Session.ProofAge; age > 0 { // the provider then asks again, instead of Start refusing
			options = append(options, oauth2.SetAuthURLParam("max_age", strconv.Itoa(int(age.Seconds()))))
		}
		http.Redirect(w, r, config.AuthCodeURL(b.State, options...), http.StatusSeeOther)
		return nil
	}
}

// verified is what the provider has said about who sits at this browser.
type verified struct {
	Identity
	claims
	proof session.Proof
	page  string
}

// verify checks that the response is for what this browser began, and returns what it says. So it may
// come by GET.
func (s *Server) verify(w http.ResponseWriter, r *http.Request, name string) (v verified, err error) {
	p, err := s.provider(r)
	if err != nil {
		return v, err
	}
	org := auth.TenantFrom(r.Context()).Org.Key()
	b, err := take(w, r, string(org))
	if err != nil {
		return v, err
	}
	path, callback := callbackOf(r, name)
	query := r.URL.Query()
	issuer := query.Get("iss") // RFC 9207, if the provider sends it
	if b.Callback != path || !same(query.Get("state"), b.State) || issuer != "" && issuer != p.Issuer {
		return v, errToken
	}
	id, c, err := p.redeem(r.Context(), callback, query.Get("code"), b)
	if err != nil {
		return v, err
	}
	return verified{Identity{org, p.Issuer, id.Subject}, c, p.proof(id, c), b.Page}, nil
}

// callback opens a session.
func (s *Server) callback(w http.ResponseWriter, r *http.Request) error {
	v, err := s.verify(w, r, "callback")
	if err != nil {
		return err
	}
	account, err := s.account(r, v.Identity, v.claims)
	if err != nil {
		return err
	}
	_, err = s.sessions.Start(w, r, account, v.proof)
	if errors.Is(err, session.ErrSecondFactor) { // the cookie of the ticket is sent
		v.page, err = "/code", nil
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, ownPage(v.page), http.StatusSeeOther)
	return nil
}

// connected binds the identity to the account that is signed in.
func (s *Server) connected(w http.ResponseWriter, r *http.Request) error {
	v, err := s.verify(w, r, "connected")
	if err != nil {
		return err
	}
	if err := s.people.Bind(r.Context(), v.Identity, auth.From(r.Context()).Account); err != nil {
		return err
	}
	http.Redirect(w, r, ownPage(v.page), http.StatusSeeOther)
	return nil
}

// account returns the account that is bound to the identity. Whoever has none joins only if the org
// says so. An account with the same address is not theirs, verified or not.
func (s *Server) account(r *http.Request, id Identity, c claims) (string, error) {
	account, err := s.people.ByIdentity(r.Context(), id)
	if !errors.Is(err, auth.ErrNotFound) {
		return account, err
	}
	roles, err := s.people.Joins(r.Context(), id.Org, id.Issuer)
	if errors.Is(err, auth.ErrNotFound) {
		return "", &auth.Error{Detail: auth.DetailInvalidCredentials, Err: session.ErrCredentials}
	} else if err != nil {
		return "", err
	}
	if !c.Verified {
		c.Email = ""
	}
	return s.people.Add(r.Context(), auth.Account{ID: rand.Text(), Org: id.Org, Roles: roles}, id, c.Email)
}

// enter opens a session at another org of the person, if that org says that it is entered with this
// proof and this issuer.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) error {
	p, err := s.sessions.Enter(w, r, r.PostFormValue("org"))
	if err == nil {
		auth.Reply(w, r, envelope.Result[string]{Data: p.Account})
	}
	return err
}
