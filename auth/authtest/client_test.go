package authtest_test

import (
	"context"
	"crypto/fips140"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// service is a server with the three mechanisms of the library, a brand of its own, and tenants on
// subdomains.
type service struct {
	authtest.Clients
	clientKey string
	secret    signing.Secret
	keys      *token.MemoryKeys
	memory    *session.Memory
	clock     *authtest.Clock
	seen      *http.Request // the latest that reached a handler
}

func newService(t *testing.T) *service {
	t.Helper()
	clientKey, secret := signing.Generate()
	key, err := signing.NewKey(clientKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	s := &service{clientKey: clientKey, secret: secret, keys: new(token.MemoryKeys), memory: new(session.Memory),
		clock: authtest.NewClock(time.Now().Add(24 * time.Hour))}
	if _, err := s.keys.Generate(t.Context(), "acme", clientKey); err != nil {
		t.Fatal(err)
	}
	d := directory()
	d.PutApp(auth.App{ClientKey: clientKey, Org: "acme"})
	manager := &session.Manager{Store: s.memory.Sessions(), Attempts: s.memory.Attempts(), FactorStore: s.memory.Factors(),
		Hasher: session.PBKDF2{Iterations: 1000}, SHA256Codes: fips140.Enforced()}
	encoded, err := manager.Passwords().Hash(t.Context(), "open sesame")
	if err != nil {
		t.Fatal(err)
	}
	manager.PasswordStore = password(encoded)
	guard := &auth.Guard{
		Roles:     auth.RolesDoNotLimit,
		BaseURL:   "https://example.com",
		Directory: d,
		Brand:     auth.Brand{Header: "Acme-"},
		Now:       s.clock.Now,
		Versions:  []string{"v1"},
		Resolve: func(_ context.Context, r *http.Request) (auth.Address, error) {
			org, _, _ := strings.Cut(r.Host, ".")
			version, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
			return auth.Address{Org: org, Version: version, Rest: "/" + rest, Authority: r.Host}, nil
		},
		Mechanisms: []auth.Mechanism{
			&signature.Mechanism{Credentials: signature.Memory{clientKey: {Key: key, Account: "ann"}}, Replays: signing.NewMemory(0)},
			&bearer.Mechanism{Keys: s.keys, Ledger: token.NewMemoryLedger(nil)},
			manager,
		},
	}
	mux := guard.Mux()
	mux.HandleFunc("POST /login", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		s.seen = r
		var ask login
		_, err := body.Read(r, 1<<10, &ask)
		if err == nil {
			_, err = manager.Login(w, r, session.LoginForm{Login: ask.Login, Password: ask.Password, Code: ask.Code})
		}
		if err != nil {
			auth.Fail(w, r, err)
			return
		}
		auth.Reply(w, r, envelope.Result[string]{Data: "in"})
	})
	mux.HandleFunc("GET /whoami", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) {
		s.seen = r
		p := auth.From(r.Context())
		fmt.Fprint(w, p.Account, " by ", p.Mechanism)
	})
	s.Clients = authtest.Clients{Handler: mux, URL: "https://acme.example.com/v1", Guard: guard}
	return s
}

type password string

func (p password) Password(_ context.Context, org auth.OrgKey, login string) (account, encoded string, err error) {
	if org != "acme" || login != "ann@example.com" {
		return "", "", auth.ErrNotFound
	}
	return "ann", string(p), nil
}

type login struct {
	Login    string `json:"login"`
	Password string `json:"password"`
	Code     string `json:"code,omitempty"`
}

var ann = login{"ann@example.com", "open sesame", ""}

// get returns status and body.
func (s *service) get(t *testing.T, client *http.Client, address string) string {
	t.Helper()
	reply, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(reply.StatusCode, " ", string(body))
}

func TestClients(t *testing.T) {
	s := newService(t)
	minter := token.Minter{Signers: s.keys, Now: s.clock.Now}
	raw, _, err := minter.Ephemeral(t.Context(), token.Claims{
		Issuer: s.clientKey, Subject: "ann", Audience: "https://example.com/acme/v1", Scope: []string{"object.read"}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	browser, err := s.SignedIn("/login", ann)
	if err != nil {
		t.Fatal(err)
	}
	whoami := s.URL + "/whoami"
	for want, client := range map[string]*http.Client{
		"200 ann by signature": s.Signed(s.clientKey, s.secret),
		"200 ann by bearer":    s.Bearer(raw),
		"200 ann by session":   browser,
	} {
		if got := s.get(t, client, whoami); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	s.get(t, browser, whoami)
	cookies := s.seen.Cookies()
	if len(cookies) != 1 || cookies[0].Name != "__Host-session-acme" {
		t.Fatalf("cookies %v", cookies)
	}
	if got := s.get(t, s.Browser(cookies...), whoami); got != "200 ann by session" {
		t.Errorf("with the cookies of another browser: %s", got)
	}
	if got := s.get(t, s.Browser(), whoami); !strings.HasPrefix(got, "401 ") {
		t.Errorf("without cookies: %s", got)
	}
	if _, err := s.SignedIn("/login", login{ann.Login, "open barley", ""}); err == nil || strings.Contains(err.Error(), "barley") {
		t.Errorf("a wrong password: %v", err)
	}
}

// TestClientsSendNothingElsewhere: a slip in a test's URL must not pass for a refusal.
func TestClientsSendNothingElsewhere(t *testing.T) {
	s := newService(t)
	for name, client := range map[string]*http.Client{"signed": s.Signed(s.clientKey, s.secret), "bearer": s.Bearer(token.Token("a.b.c"))} {
		if _, err := client.Get("https://globex.example.com/v1/whoami"); err == nil {
			t.Errorf("%s: sent to another host", name)
		}
	}
}

// TestRequestsArriveAsFromANetwork compares with what net/http tells handlers.
func TestRequestsArriveAsFromANetwork(t *testing.T) {
	s := newService(t)
	if _, err := s.SignedIn("/login", ann); err != nil {
		t.Fatal(err)
	}
	if r := s.seen; r.Host != "acme.example.com" || r.RequestURI != "/v1/login" || r.TLS == nil || r.ContentLength <= 0 {
		t.Errorf("host %q, target %q, TLS %v, %d bytes", r.Host, r.RequestURI, r.TLS != nil, r.ContentLength)
	}
	var got *http.Request
	c := authtest.Clients{URL: "http://localhost:8080/acme/v2", Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r })}
	if _, err := c.Browser(&http.Cookie{Name: "a", Value: "b"}).Get(c.URL + "/x%2Fy?z=1"); err != nil {
		t.Fatal(err)
	}
	if got.TLS != nil || got.URL.String() != "/acme/v2/x%2Fy?z=1" || got.Host != "localhost:8080" || got.Header.Get("Cookie") != "a=b" {
		t.Errorf("%+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, _ := http.NewRequestWithContext(ctx, "GET", c.URL, nil)
	if _, err := c.Browser().Do(r); err == nil {
		t.Error("sent although its context had ended")
	}
}

// TestTOTP uses the times and codes of RFC 6238, appendix B. The codes there have eight digits.
// Ours are their last six, because both are one number modulo a power of ten.
func TestTOTP(t *testing.T) {
	for _, c := range []struct {
		unix         int64
		sha1, sha256 string
	}{
		{59, "94287082", "46119246"},
		{1111111109, "07081804", "68084774"},
		{1111111111, "14050471", "67062674"},
		{1234567890, "89005924", "91819424"},
		{2000000000, "69279037", "90698825"},
		{20000000000, "65353130", "77737706"},
	} {
		at := time.Unix(c.unix, 0)
		if got := authtest.TOTP(session.FactorSecret("12345678901234567890"), at); got != c.sha1[2:] {
			t.Errorf("SHA-1 at %d: %s, want %s", c.unix, got, c.sha1[2:])
		}
		if got := authtest.TOTP(session.FactorSecret("12345678901234567890123456789012"), at); got != c.sha256[2:] {
			t.Errorf("SHA-256 at %d: %s, want %s", c.unix, got, c.sha256[2:])
		}
	}
}

func TestTOTPIsWhatAServerAccepts(t *testing.T) {
	s := newService(t)
	secret := session.FactorSecret(strings.Repeat("s", 32))
	if !fips140.Enforced() {
		secret = session.FactorSecret(secret[:20])
	}
	if err := s.memory.Factors().Save(t.Context(), "acme", "ann", session.Factor{Secret: secret}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SignedIn("/login", ann); err == nil {
		t.Error("in without a code")
	}
	ann := ann
	ann.Code = authtest.TOTP(secret, s.clock.Now())
	if _, err := s.SignedIn("/login", ann); err != nil {
		t.Error(err)
	}
}
