package bearer_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

const (
	appA = "acmeKey000000000000001"
	appB = "acmeKey000000000000002"
	appG = "globexKey0000000000001"
	note = "5b0000000000000000000001"
)

// The tests share keys, because making one takes longer than most tests.
var keys = [4]func() *rsa.PrivateKey{sync.OnceValue(newRSA), sync.OnceValue(newRSA), sync.OnceValue(newRSA), sync.OnceValue(newRSA)}

func newRSA() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
}

// world is a server with two orgs and three apps. The tests write its tokens by hand.
type world struct {
	*httptest.Server
	directory *auth.Memory
	keys      token.MemoryKeys
	ledger    token.Ledger
	mechanism *bearer.Mechanism
	guard     *auth.Guard
	mux       *auth.Mux
	last      atomic.Pointer[auth.Principal] // of the latest request that reached a handler
	handled   atomic.Int64
}

func newWorld(t testing.TB, alter ...func(*world)) *world {
	t.Helper()
	w := &world{directory: new(auth.Memory), ledger: token.NewMemoryLedger(nil)}
	for _, org := range []string{"acme", "globex"} {
		w.directory.PutOrg(auth.Org{Code: org})
	}
	w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"member"}})
	w.directory.PutAccount(auth.Account{ID: "root", Org: "acme", Roles: []string{"administrator"}})
	w.directory.PutAccount(auth.Account{ID: "off", Org: "acme", Disabled: true})
	w.directory.PutAccount(auth.Account{ID: "gus", Org: "globex"})
	w.directory.PutRole("acme", auth.Role{Name: "member"})
	w.directory.PutRole("acme", auth.Role{Name: "administrator"})
	w.directory.PutRole("acme", auth.Role{Name: "editor", Scope: []string{"object.update.c_note"}})
	w.directory.PutRole("acme", auth.Role{Name: "broken", Scope: []string{"object.raed", "admin.read"}})
	for i, app := range []auth.App{{ClientKey: appA, Org: "acme"}, {ClientKey: appB, Org: "acme"}, {ClientKey: appG, Org: "globex"}} {
		w.directory.PutApp(app)
		w.putPair(t, i, app.ClientKey, string(app.Org))
	}
	w.mechanism = &bearer.Mechanism{Keys: &w.keys, Signers: &w.keys, Ledger: w.ledger, Cache: &token.Cache{}}
	w.guard = &auth.Guard{
		Roles:      auth.RolesDoNotLimit,
		BaseURL:    "https://api.example.test",
		Directory:  w.directory,
		Mechanisms: []auth.Mechanism{w.mechanism},
	}
	for _, f := range alter {
		f(w)
	}
	w.mux = w.guard.Mux()
	w.mux.HandleFunc("GET /me", auth.Authenticated, w.answer)
	w.mux.Handle("GET /notes", auth.Some("object.read.c_note"), auth.PartHandler(func(rw http.ResponseWriter, r *http.Request, _ scope.Part) { w.answer(rw, r) }))
	w.mux.HandleFunc("DELETE /notes/{id}", auth.Allow("object.delete.c_note.{id}"), w.answer)
	jwk, pem := bearer.Certs(&w.keys)
	w.mux.Handle("GET /auth/certs/jwk", auth.Public, jwk)
	w.mux.Handle("GET /auth/certs/pem", auth.Public, pem)
	w.Server = httptest.NewServer(w.mux)
	t.Cleanup(w.Close)
	return w
}

func (w *world) putPair(t testing.TB, i int, clientKey, org string) {
	t.Helper()
	pair, err := token.NewPair(keys[i]())
	if err != nil {
		t.Fatal(err)
	}
	pair.ClientKey, pair.Org, pair.Exposed = clientKey, token.OrgKey(org), clientKey != appB
	if err := w.keys.Put(t.Context(), pair); err != nil {
		t.Fatal(err)
	}
}

func (w *world) answer(rw http.ResponseWriter, r *http.Request) {
	w.handled.Add(1)
	p := auth.From(r.Context())
	w.last.Store(&p)
	auth.Reply(rw, r, envelope.Result[string]{Data: p.Account})
}

// claims returns the claims of an honest token of app A. Pairs replace claims; nil removes one.
func claims(pairs ...any) map[string]any {
	now := time.Now().Unix()
	c := map[string]any{"iss": appA, "sub": "ann", "aud": "https://api.example.test/acme/v2",
		"iat": now, "exp": now + 3600, "service/scp": []string{""}}
	for i := 0; i < len(pairs); i += 2 {
		c[pairs[i].(string)] = pairs[i+1]
	}
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// kidOf returns the key id of a shared key.
func kidOf(i int) (string, error) {
	pair, err := token.NewPair(keys[i]())
	if err != nil {
		return "", err
	}
	return pair.KeyID, nil
}

// signWith writes a token without package token.
func signWith(t testing.TB, i int, payload any) string {
	t.Helper()
	kid, err := kidOf(i)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	signed := b64([]byte(`{"alg":"RS256","kid":"`+kid+`","typ":"JWT"}`)) + "." + b64(body)
	digest := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(nil, keys[i](), crypto.SHA256, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + b64(signature)
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// honest returns a valid token of app A.
func honest(t testing.TB, pairs ...any) string { return signWith(t, 0, claims(pairs...)) }

// limited returns a token with a number of uses, and stores its record.
func (w *world) limited(t testing.TB, id string, uses int64, pairs ...any) string {
	t.Helper()
	c := claims(append([]any{"jti", id, "service/cnt", uses}, pairs...)...)
	kid, _ := kidOf(0)
	record := token.Record{ID: id, Org: "acme", ClientKey: appA, Subject: c["sub"].(string), KeyID: kid, MaxUses: uses,
		Issued: time.Unix(c["iat"].(int64), 0), Expires: time.Unix(c["exp"].(int64), 0)}
	if err := w.ledger.Issue(t.Context(), record, nil, 10); err != nil {
		t.Fatal(err)
	}
	return signWith(t, 0, c)
}

// uses returns the number of uses spent by the tokens of an account.
func (w *world) uses(t testing.TB, subject string) (n int64) {
	t.Helper()
	records, _, err := w.ledger.List(t.Context(), heldBy(appA, subject), token.Position{}, token.MaxPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		n += r.Uses
	}
	return n
}

type reply struct {
	status int
	header http.Header
	body   string
	fault  string // the detail, "" on success
}

// ask sends a request with header pairs.
func (w *world) ask(t testing.TB, method, path string, header ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header[header[i]] = append(r.Header[header[i]], header[i+1])
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
	var fault struct{ ErrCode string }
	_ = json.Unmarshal(body, &fault) // PEM and empty bodies have none
	return reply{response.StatusCode, response.Header, string(body), strings.TrimPrefix(fault.ErrCode, "service.")}
}

func (w *world) me(t testing.TB, raw string) reply {
	t.Helper()
	return w.ask(t, "GET", "/acme/v2/me", "Authorization", "Bearer "+raw)
}

func want(t testing.TB, got reply, status int, fault string) {
	t.Helper()
	if got.status != status || got.fault != fault {
		t.Errorf("got %d %q, want %d %q: %s", got.status, got.fault, status, fault, got.body)
	}
	challenge := got.header.Get("WWW-Authenticate")
	if status == 401 && !strings.HasPrefix(challenge, "Bearer") {
		t.Errorf("a 401 with the challenge %q", challenge)
	}
}

// broken is a directory that fails for accounts.
type broken struct{ auth.Directory }

func (broken) Account(context.Context, auth.OrgKey, string) (*auth.Account, error) {
	return nil, http.ErrServerClosed
}

// withoutRoles is a directory that fails for roles.
type withoutRoles struct{ auth.Directory }

func (withoutRoles) Roles(context.Context, auth.OrgKey, []string) ([]auth.Role, error) {
	return nil, http.ErrServerClosed
}

// withoutApps is a directory that fails for apps.
type withoutApps struct{ auth.Directory }

func (withoutApps) App(context.Context, string) (*auth.App, error) { return nil, http.ErrServerClosed }

func collect(events *[]auth.Event) func(context.Context, auth.Event) {
	return func(_ context.Context, e auth.Event) { *events = append(*events, e) }
}

// failing is a ledger that does not answer.
type failing struct{ token.Ledger }

func (failing) Spend(context.Context, token.Record) (token.Lineage, error) {
	return token.Lineage{}, http.ErrServerClosed
}

// heldBy is the holder of the tokens that an app of acme has issued for a subject.
func heldBy(clientKey, subject string) token.Holder {
	return token.Holder{Org: "acme", ClientKey: clientKey, Subject: subject}
}
