package oauth_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/oauth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/internal/testing/heard"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

const (
	acmeKey   = "acmeKey000000000000001"
	otherKey  = "acmeKey000000000000002" // another app of acme
	globexKey = "globexKey0000000000001"
	nobodyKey = "nobodysKey000000000001"

	acmeSecret   = signing.Secret("acmeSecret000000000000000000000000000000000000000000000000000001")
	otherSecret  = signing.Secret("acmeSecret000000000000000000000000000000000000000000000000000002")
	globexSecret = signing.Secret("globexSecret0000000000000000000000000000000000000000000000000001")
)

// The tests share keys, because making one takes longer than most tests.
var keys = [3]func() *rsa.PrivateKey{sync.OnceValue(newRSA), sync.OnceValue(newRSA), sync.OnceValue(newRSA)}

func newRSA() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
}

// world is a server of two orgs, with the OAuth endpoints and one route that a token opens.
type world struct {
	*httptest.Server
	directory   *auth.Memory
	credentials signature.Memory
	keys        token.MemoryKeys
	ledger      token.Ledger
	guard       *auth.Guard
	signature   *signature.Mechanism
	bearer      *bearer.Mechanism
	server      *oauth.Server

	mu     sync.Mutex
	events []auth.Event
	last   auth.Principal // of the latest request of /me
}

func newWorld(t testing.TB, alter ...func(*world)) *world {
	t.Helper()
	w := &world{directory: new(auth.Memory), credentials: signature.Memory{}, ledger: token.NewMemoryLedger(nil)}
	for _, org := range []string{"acme", "globex"} {
		w.directory.PutOrg(auth.Org{Code: org})
	}
	w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"member"}})
	w.directory.PutAccount(auth.Account{ID: "gus", Org: "globex"})
	w.directory.PutRole("acme", auth.Role{Name: "member"})
	w.directory.PutRole("acme", auth.Role{Name: "reader", Scope: []string{"object.read.c_note"}})
	w.putApp(t, 0, acmeKey, "acme", "ann", acmeSecret)
	w.putApp(t, 1, otherKey, "acme", "ann", otherSecret)
	w.putApp(t, 2, globexKey, "globex", "gus", globexSecret)
	w.signature = &signature.Mechanism{Credentials: w.credentials, Replays: signing.NewMemory(1000)}
	w.bearer = &bearer.Mechanism{
		Keys: &w.keys, Signers: &w.keys, Ledger: w.ledger, Cache: &token.Cache{}, ResourceMetadata: true,
	}
	w.server = new(oauth.Server)
	w.guard = &auth.Guard{
		Roles:      auth.RolesDoNotLimit,
		BaseURL:    "https://api.example.test/base",
		Directory:  w.directory,
		Mechanisms: []auth.Mechanism{w.signature, w.bearer},
		RequestID:  heard.RequestID,
		Observe: func(_ context.Context, e auth.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
		},
	}
	for _, f := range alter {
		f(w)
	}
	mux := w.guard.Mux()
	w.server.Register(mux)
	mux.HandleFunc("GET /me", auth.Authenticated, func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.last = auth.From(r.Context())
		w.mu.Unlock()
		auth.Reply(rw, r, map[string]string{"account": auth.From(r.Context()).Account})
	})
	site := http.NewServeMux()
	site.Handle("/.well-known/", w.server.Metadata(w.guard))
	site.Handle("/", http.StripPrefix("/base", mux))
	w.Server = httptest.NewServer(site)
	t.Cleanup(w.Close)
	return w
}

func (w *world) putApp(t testing.TB, i int, clientKey, org, account string, secret signing.Secret) {
	t.Helper()
	w.directory.PutApp(auth.App{ClientKey: clientKey, Org: auth.OrgKey(org)})
	key, err := signing.NewKey(clientKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	w.credentials[clientKey] = &signature.Credential{Key: key, Account: account}
	pair, err := token.NewPair(keys[i]())
	if err != nil {
		t.Fatal(err)
	}
	pair.ClientKey, pair.Org = clientKey, token.OrgKey(org)
	if err := w.keys.Put(t.Context(), pair); err != nil {
		t.Fatal(err)
	}
}

// question is a request, to be changed by the cases of a table.
type question struct {
	method, path string
	header       http.Header
	body         string
}

// ask returns a question of a client that sends a form.
func ask(path, clientKey string, secret signing.Secret, pairs ...string) question {
	q := question{method: "POST", path: path, header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}}
	if clientKey != "" {
		r := &http.Request{Header: q.header}
		r.SetBasicAuth(url.QueryEscape(clientKey), url.QueryEscape(string(secret)))
	}
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	q.body = values.Encode()
	return q
}

// askToken returns a question for a token, of acme's app.
func askToken(pairs ...string) question {
	return ask("/base/acme/v2/oauth/token", acmeKey, acmeSecret, append([]string{"grant_type", "client_credentials"}, pairs...)...)
}

type answer struct {
	status int
	header http.Header
	text   string
	Error  string `json:"error"`
	Token  string `json:"access_token"`
	Type   string `json:"token_type"`
	Ends   int64  `json:"expires_in"`
	Scope  string `json:"scope"`
	Active bool   `json:"active"`
}

func (w *world) send(t testing.TB, q question) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), q.method, w.URL+q.path, strings.NewReader(q.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = q.header
	if r.Header == nil {
		r.Header = http.Header{}
	}
	response, err := w.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{status: response.StatusCode, header: response.Header, text: string(body)}
	if bytes.HasPrefix(body, []byte("{")) {
		_ = json.Unmarshal(body, &a) // a fault has other members
	}
	return a
}

// want checks an OAuth error, which no cache may store, and which has a challenge only if Basic was
// tried and refused.
func want(t testing.TB, got answer, status int, code string) {
	t.Helper()
	if got.status != status || got.Error != code {
		t.Fatalf("got %d %q, want %d %q: %s", got.status, got.Error, status, code, got.text)
	}
	if got.header.Get("Cache-Control") != "no-store" || got.header.Get("Pragma") != "no-cache" {
		t.Errorf("a cache may store the reply: %v", got.header)
	}
	if got.header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Errorf("the type is %q", got.header.Get("Content-Type"))
	}
	for _, secret := range []signing.Secret{acmeSecret, otherSecret, globexSecret} {
		if strings.Contains(got.text, string(secret)) {
			t.Errorf("the reply has a secret")
		}
	}
}

// token returns a token of acme's app for its own account.
func (w *world) token(t testing.TB, pairs ...string) answer {
	t.Helper()
	a := w.send(t, askToken(pairs...))
	want(t, a, 200, "")
	return a
}

// record mints a token with a jti, as a route of the application would.
func (w *world) record(t testing.TB, app, org, account string, uses int64, alter ...func(*token.Claims)) string {
	t.Helper()
	c := token.Claims{Issuer: app, Subject: account, Audience: "https://api.example.test/base/" + org + "/v2", Scope: []string{""}}
	for _, f := range alter {
		f(&c)
	}
	m := &token.Minter{Signers: &w.keys, Ledger: w.ledger, Now: w.guard.Now}
	mint := m.Permanent
	if c.MaxUses = uses; uses > 0 {
		mint = m.Limited
	}
	signed, _, err := mint(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return string(signed)
}

// me asks with a token, and returns the status.
func (w *world) me(t testing.TB, org, raw string) int {
	t.Helper()
	return w.send(t, question{method: "GET", path: "/base/" + org + "/v2/me", header: http.Header{"Authorization": {"Bearer " + raw}}}).status
}

// change replaces a credential by a changed copy.
func (w *world) change(clientKey string, alter func(*signature.Credential)) {
	c := *w.credentials[clientKey]
	alter(&c)
	w.credentials[clientKey] = &c
}

func past() time.Time { return time.Now().Add(-time.Minute) }
