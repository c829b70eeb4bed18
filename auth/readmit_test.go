package auth_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/bearer"
	sessions "github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// streaming is a server with a route whose handler runs between, and asks again after it.
type streaming struct {
	t           *testing.T
	clock       *authtest.Clock
	directory   *auth.Memory
	guard       *auth.Guard
	credentials signature.Memory
	replays     countedReplays
	sessions    *sessions.Memory
	manager     *sessions.Manager
	ledger      token.Ledger
	clients     authtest.Clients
	secret      signing.Secret

	need    auth.Need
	between func()
	again   auth.Principal
	err     error
}

const streamed = "exampleApp000000000001"

// streamedKeys has the key pair of the app. To make one takes long.
var streamedKeys = sync.OnceValue(func() *token.MemoryKeys {
	keys := new(token.MemoryKeys)
	if _, err := keys.Generate(context.Background(), "acme", streamed); err != nil {
		panic(err)
	}
	return keys
})

type countedReplays struct {
	signing.Replays
	claims int
}

func (c *countedReplays) Claim(ctx context.Context, u signing.Use) error {
	c.claims++
	return c.Replays.Claim(ctx, u)
}

func newStreaming(t *testing.T) *streaming {
	s := &streaming{t: t, clock: authtest.NewClock(time.Now().Truncate(time.Second).Add(time.Minute)), directory: new(auth.Memory), sessions: new(sessions.Memory),
		replays: countedReplays{Replays: signing.NewMemory(100)}, need: auth.Allow("admin.read"), between: func() {}}
	s.sessions.Now = s.clock.Now
	s.ledger = token.NewMemoryLedger(s.clock.Now)
	s.manager = &sessions.Manager{Store: s.sessions.Sessions(), Attempts: s.sessions.Attempts()}
	s.directory.PutOrg(auth.Org{Code: "acme"})
	s.directory.PutApp(auth.App{ClientKey: streamed, Org: "acme"})
	s.directory.PutRole("acme", auth.Role{Name: "admin", Scope: []string{"admin.read"}})
	s.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"admin"}})
	_, s.secret = signing.Generate()
	s.credentials = signature.Memory{streamed: {Key: s.key(s.secret), Account: "ann"}}
	s.guard = &auth.Guard{BaseURL: "https://api.example.test", Directory: s.directory, Roles: auth.RolesLimit, Now: s.clock.Now,
		Mechanisms: []auth.Mechanism{
			&signature.Mechanism{Credentials: s.credentials, Replays: &s.replays},
			&bearer.Mechanism{Keys: streamedKeys(), Ledger: s.ledger, Cache: &token.Cache{}},
			s.manager,
		}}
	mux := s.guard.Mux()
	mux.HandleFunc("POST /login", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		if _, err := s.manager.Start(w, r, "ann", sessions.Proof{At: s.clock.Now()}); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("GET /events", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) {
		s.between()
		s.again, s.err = s.guard.Readmit(r, s.need)
	})
	s.clients = authtest.Clients{Handler: mux, URL: "https://api.example.test/acme/v2", Guard: s.guard}
	return s
}

func (s *streaming) key(secret signing.Secret) *signing.Key {
	key, err := signing.NewKey(streamed, secret)
	if err != nil {
		s.t.Fatal(err)
	}
	return key
}

// client returns one with a credential of a mechanism. Tokens are for few uses.
func (s *streaming) client(mechanism string) *http.Client {
	switch mechanism {
	case signature.Name:
		return s.clients.Signed(streamed, s.secret)
	case sessions.Name:
		browser, err := s.clients.SignedIn("/login", nil)
		if err != nil {
			s.t.Fatal(err)
		}
		return browser
	}
	minter := token.Minter{Signers: streamedKeys(), Ledger: s.ledger, Now: s.clock.Now}
	raw, _, err := minter.Limited(s.t.Context(), token.Claims{Issuer: streamed, Subject: "ann", Audience: s.clients.URL, Roles: []string{"admin"}, MaxUses: 3})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.clients.Bearer(raw)
}

// events opens a stream, and returns the detail with which it ends; "" if it goes on.
func (s *streaming) events(mechanism string) string {
	s.t.Helper()
	reply, err := s.client(mechanism).Get(s.clients.URL + "/events")
	if err != nil || reply.StatusCode != 200 {
		s.t.Fatal(reply, err)
	}
	if s.err == nil {
		return ""
	}
	return s.err.(*auth.Error).Detail
}

// F27: a request that stays open ends with what admitted it.
func TestReadmit(t *testing.T) {
	all := []string{signature.Name, bearer.Name, sessions.Name}
	for name, c := range map[string]struct {
		of     []string
		change func(s *streaming)
		want   string
	}{
		"nothing changes":                  {all, func(*streaming) {}, ""},
		"half an hour later":               {[]string{signature.Name}, func(s *streaming) { s.clock.Advance(30 * time.Minute) }, ""},
		"more than an hour later":          {[]string{signature.Name}, func(s *streaming) { s.clock.Advance(61 * time.Minute) }, auth.DetailStaleSignature},
		"an idle session":                  {[]string{sessions.Name}, func(s *streaming) { s.clock.Advance(30 * time.Minute) }, auth.DetailSessionExpired},
		"the org is disabled":              {all, func(s *streaming) { s.directory.PutOrg(auth.Org{Code: "acme", Disabled: true}) }, auth.DetailUnknownOrg},
		"the account has no role any more": {all, func(s *streaming) { s.directory.PutAccount(auth.Account{ID: "ann", Org: "acme"}) }, ""},
		"its role has no such chain":       {all, func(s *streaming) { s.directory.PutRole("acme", auth.Role{Name: "admin"}) }, auth.DetailScope},
		"the app is disabled, signature":   {[]string{signature.Name}, func(s *streaming) { s.directory.PutApp(auth.App{ClientKey: streamed, Org: "acme", Disabled: true}) }, auth.DetailInvalidSignature},
		"the app is disabled, token":       {[]string{bearer.Name}, func(s *streaming) { s.directory.PutApp(auth.App{ClientKey: streamed, Org: "acme", Disabled: true}) }, auth.DetailInvalidToken},
		"another secret": {[]string{signature.Name}, func(s *streaming) {
			_, other := signing.Generate()
			s.credentials[streamed] = &signature.Credential{Key: s.key(other), Account: "ann"}
		}, auth.DetailInvalidSignature},
		"the credential is disabled": {[]string{signature.Name}, func(s *streaming) { s.credentials[streamed].Disabled = true }, auth.DetailInvalidSignature},
		"the credential is another's": {[]string{signature.Name}, func(s *streaming) {
			s.directory.PutAccount(auth.Account{ID: "bob", Org: "acme"})
			s.credentials[streamed].Account = "bob"
		}, auth.DetailPrincipal},
		"the token is revoked": {[]string{bearer.Name}, func(s *streaming) { revokeAll(s) }, auth.DetailInvalidToken},
		"the account's tokens begin later": {[]string{bearer.Name}, func(s *streaming) {
			s.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", TokensFrom: s.clock.Now().Add(time.Second)})
		}, auth.DetailInvalidToken},
		"the session is revoked":             {[]string{sessions.Name}, func(s *streaming) { s.manager.Sessions().RevokeAll(context.Background(), "acme", "ann", "") }, auth.DetailSessionExpired},
		"the account is disabled, signature": {[]string{signature.Name}, disable, auth.DetailInvalidSignature},
		"the account is disabled, token":     {[]string{bearer.Name}, disable, auth.DetailInvalidToken},
		"the account is disabled, session":   {[]string{sessions.Name}, disable, auth.DetailSessionExpired},
		"a proof that is no longer fresh":    {[]string{sessions.Name}, func(s *streaming) { s.need = s.need.Fresh(time.Minute); s.clock.Advance(2 * time.Minute) }, auth.DetailReauthenticate},
		"a misspelt mechanism":               {all, func(s *streaming) { s.need = s.need.Fresh(time.Minute, "sesion") }, auth.DetailInternal},
	} {
		for _, mechanism := range c.of {
			t.Run(name+", "+mechanism, func(t *testing.T) {
				s := newStreaming(t)
				s.between = func() { c.change(s) }
				want := c.want
				if name == "the account has no role any more" && mechanism != bearer.Name {
					want = auth.DetailScope // the token has the role itself
				}
				if got := s.events(mechanism); got != want {
					t.Errorf("ended by %q (%v), want %q", got, s.err, want)
				}
				if want == "" && (s.again.Account != "ann" || s.again.Mechanism != mechanism) || want != "" && s.again.Account != "" {
					t.Errorf("principal %+v", s.again)
				}
			})
		}
	}
}

func disable(s *streaming) {
	s.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Disabled: true})
}

func revokeAll(s *streaming) {
	if _, err := s.ledger.RevokeSubject(context.Background(), token.Holder{Org: "acme", ClientKey: streamed, Subject: "ann"}); err != nil {
		s.t.Error(err)
	}
}

// Readmit records nothing: no nonce, no use, no use of a session.
func TestReadmitRecordsNothing(t *testing.T) {
	s := newStreaming(t)
	for range 3 {
		s.events(signature.Name)
	}
	if s.replays.claims != 3 {
		t.Errorf("%d claims of 3 requests", s.replays.claims)
	}
	client := s.client(bearer.Name)
	for i, want := range []int{200, 200, 200, 401} { // three uses, also with a Readmit in each
		reply, err := client.Get(s.clients.URL + "/events")
		if err != nil || reply.StatusCode != want {
			t.Errorf("use %d: %v, %v", i+1, reply.Status, err)
		}
	}
	browser := s.client(sessions.Name)
	s.between = func() { s.clock.Advance(20 * time.Minute) }
	if reply, err := browser.Get(s.clients.URL + "/events"); err != nil || reply.StatusCode != 200 || s.err != nil {
		t.Error(reply.Status, err, s.err)
	}
	s.clock.Advance(20 * time.Minute) // 40 in all, and 20 since Readmit
	if reply, err := browser.Get(s.clients.URL + "/events"); err != nil || reply.StatusCode != 401 {
		t.Errorf("%v, %v: Readmit has kept the session from becoming idle", reply.Status, err)
	}
}

// What cannot be decided again is refused.
func TestReadmitFailsClosed(t *testing.T) {
	for name, c := range map[string]struct {
		mechanism auth.Mechanism
		need      auth.Need
		want      string
	}{
		"no Readmitter":      {letter{name: "Wax", presence: auth.InHeader}, auth.Authenticated, auth.DetailInternal},
		"an anonymous":       {authtest.As(auth.Principal{Account: "ann"}), auth.Public, auth.DetailInternal},
		"its store is down":  {fallen{authtest.As(auth.Principal{Account: "ann"}), auth.ErrUnavailable}, auth.Authenticated, auth.DetailUnavailable},
		"an untyped failure": {fallen{authtest.As(auth.Principal{Account: "ann"}), errors.New("bug")}, auth.Authenticated, auth.DetailInternal},
	} {
		t.Run(name, func(t *testing.T) {
			g := guard()
			g.Mechanisms = []auth.Mechanism{c.mechanism}
			mux := g.Mux()
			ran := false
			mux.HandleFunc("GET /events", c.need, func(_ http.ResponseWriter, r *http.Request) {
				ran = true
				p, err := g.Readmit(r, auth.Authenticated)
				if e, ok := err.(*auth.Error); !ok || e.Fault().Detail != c.want || p.Account != "" {
					t.Errorf("%+v, %v", p, err)
				}
			})
			if do(mux, "GET", "/acme/v2/events", "Letter-Wax", "ann"); !ran {
				t.Error("not admitted")
			}
		})
	}
	r := httptest.NewRequest("GET", "/", strings.NewReader(""))
	if _, err := guard().Readmit(r, auth.Authenticated); err == nil {
		t.Error("a request outside of the Guard is admitted")
	}
}

// fallen fails when it is asked again.
type fallen struct {
	auth.Mechanism
	err error
}

func (f fallen) Readmit(context.Context, *http.Request, *auth.Tenant) (auth.Principal, error) {
	return auth.Principal{}, f.err
}

// OnAdmit decides about a request, too. Readmit does not run it again, and does not admit what it
// has refused or what it was never asked about.
func TestReadmitOfWhatOnAdmitHasNotAdmitted(t *testing.T) {
	for name, c := range map[string]struct {
		need   auth.Need
		err    error
		detail string
	}{
		"admitted":       {auth.Authenticated, nil, ""},
		"refused":        {auth.Authenticated, &auth.Error{Detail: auth.DetailForbidden}, auth.DetailInternal},
		"an unmet need":  {auth.Authenticated.Fresh(time.Minute), nil, auth.DetailInternal},
		"no other check": {auth.Public, nil, auth.DetailInternal},
	} {
		t.Run(name, func(t *testing.T) {
			g := guard()
			g.Mechanisms = []auth.Mechanism{readmitted{stamped{presence: auth.InHeader,
				do: func(context.Context, *http.Request) error { return c.err }}}}
			mux := g.Mux()
			mux.HandleFunc("GET /events", auth.Public, func(_ http.ResponseWriter, r *http.Request) {
				_, _ = g.Check(r, c.need)
				p, err := g.Readmit(r, auth.Authenticated)
				detail := ""
				if err != nil {
					detail = err.(*auth.Error).Fault().Detail
				}
				if detail != c.detail || (p.Account == "ann") != (detail == "") {
					t.Errorf("%+v, %v", p, err)
				}
			})
			do(mux, "GET", "/acme/v2/events")
		})
	}
}

type readmitted struct{ stamped }

func (m readmitted) Readmit(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	return m.Authenticate(ctx, r, t)
}

// A code may be given to another org while a request to it is still being answered.
func TestReadmitAtTheCodeOfAnotherOrg(t *testing.T) {
	g, directory := guard(), new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme", ID: "1"})
	g.Directory, g.OrgIDs = directory, true
	g.Mechanisms = []auth.Mechanism{authtest.As(auth.Principal{Account: "ann"})}
	mux := g.Mux()
	mux.HandleFunc("GET /events", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) {
		if p, err := g.Readmit(r, auth.Authenticated); err != nil || p.Org != "1" {
			t.Errorf("%+v, %v", p, err)
		}
		directory.PutOrg(auth.Org{Code: "older", ID: "1"})
		directory.PutOrg(auth.Org{Code: "acme", ID: "2"})
		p, err := g.Readmit(r, auth.Authenticated)
		if e, ok := err.(*auth.Error); !ok || e.Detail != auth.DetailPrincipal || p.Account != "" {
			t.Errorf("%+v, %v", p, err)
		}
	})
	if rec := do(mux, "GET", "/acme/v2/events"); rec.Code != 200 {
		t.Error(rec.Code, rec.Body)
	}
}

// A token that is used up would not be admitted again.
func TestReadmitWithTheLastUse(t *testing.T) {
	s := newStreaming(t)
	client := s.client(bearer.Name)
	for use, want := range []bool{true, true, false} {
		if reply, err := client.Get(s.clients.URL + "/events"); err != nil || reply.StatusCode != 200 || (s.err == nil) != want {
			t.Errorf("use %d: %v, %v, and then %v", use+1, reply.Status, err, s.err)
		}
	}
}
