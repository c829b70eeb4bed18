package issuer_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
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
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/issuer"
	"github.com/tenantkit/tenantkit/token"
)

const (
	otherURL = "https://id.example.test/realms/acme"
	otherAud = "notes"
	setURL   = "https://id.example.test/keys"
)

var ecKey = sync.OnceValue(func() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
})

var edKey = ed25519.NewKeyFromSeed([]byte("another issuer's key, 32 bytes .."[:32]))

// site stands for the web: documents by URL. It counts requests.
type site struct {
	mu    sync.Mutex
	pages map[string]func(*http.Request) (*http.Response, error)
	asked []string
}

func (s *site) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.String())
	page := s.pages[r.URL.String()]
	s.mu.Unlock()
	if page == nil {
		return nil, errors.New("no such host")
	}
	return page(r)
}

func (s *site) put(url string, page func(*http.Request) (*http.Response, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pages == nil {
		s.pages = map[string]func(*http.Request) (*http.Response, error){}
	}
	s.pages[url] = page
}

func (s *site) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

func respond(status int, body string, header ...string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

// jwk returns a key as a JWK, written by hand.
func jwk(kid string, public crypto.PublicKey, pairs ...any) map[string]any {
	b := func(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
	var m map[string]any
	switch k := public.(type) {
	case *rsa.PublicKey:
		m = map[string]any{"kty": "RSA", "n": b(k.N.Bytes()), "e": "AQAB"}
	case *ecdsa.PublicKey:
		point, err := k.Bytes()
		if err != nil {
			panic(err)
		}
		m = map[string]any{"kty": "EC", "crv": "P-256", "x": b(point[1:33]), "y": b(point[33:])}
	case ed25519.PublicKey:
		m = map[string]any{"kty": "OKP", "crv": "Ed25519", "x": b(k)}
	}
	m["kid"], m["use"] = kid, "sig"
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

func keySet(keys ...map[string]any) string { return asJSON(map[string]any{"keys": keys}) }

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// otherSet is the honest key set of the other issuer.
func otherSet() string {
	return keySet(jwk("rsa", &keys[3]().PublicKey, "alg", "RS256"), jwk("ec", &ecKey().PublicKey), jwk("ed", edKey.Public()))
}

// foreign returns the claims of an honest token of the other issuer. Pairs replace claims.
func foreign(pairs ...any) map[string]any {
	c := claims("iss", otherURL, "aud", otherAud, "service/scp", nil)
	for i := 0; i < len(pairs); i += 2 {
		c[pairs[i].(string)] = pairs[i+1]
	}
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// by signs a token with a key of the test's, without code of the library. key is an
// *rsa.PrivateKey, an *ecdsa.PrivateKey or an ed25519.PrivateKey.
func by(key crypto.Signer, header, payload any) string {
	signed := b64([]byte(asJSON(header))) + "." + b64([]byte(asJSON(payload)))
	digest := sha256.Sum256([]byte(signed))
	var signature []byte
	var err error
	switch k := key.(type) {
	case *rsa.PrivateKey:
		signature, err = rsa.SignPKCS1v15(nil, k, crypto.SHA256, digest[:])
	case *ecdsa.PrivateKey:
		r, s, failed := ecdsa.Sign(rand.Reader, k, digest[:])
		if err = failed; err == nil {
			size := (k.Params().BitSize + 7) / 8
			signature = append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...)
		}
	case ed25519.PrivateKey:
		signature = ed25519.Sign(k, []byte(signed))
	}
	if err != nil {
		panic(err)
	}
	return signed + "." + b64(signature)
}

// header returns the header of an honest token. Pairs add members, and replace them.
func header(alg, kid string, pairs ...any) map[string]any {
	h := map[string]any{"alg": alg, "kid": kid, "typ": "JWT"}
	for i := 0; i < len(pairs); i += 2 {
		h[pairs[i].(string)] = pairs[i+1]
	}
	maps.DeleteFunc(h, func(_ string, v any) bool { return v == nil })
	return h
}

// ofOther returns a valid token of the other issuer.
func ofOther(pairs ...any) string { return by(edKey, header("EdDSA", "ed"), foreign(pairs...)) }

var readsNotes = []string{"object.read.c_note"}

// subject is a Map: the account is the sub.
func subject(_ context.Context, _ *auth.Tenant, f *issuer.Foreign) (issuer.Identity, error) {
	return issuer.Identity{Account: f.Text("sub"), App: appA, Scope: readsNotes}, nil
}

// newOther returns a world that accepts the other issuer in acme, with a clock and its web.
func newOther(t testing.TB, alter ...func(*world, *issuer.Issuer)) (*world, *site, *fakeClock) {
	t.Helper()
	web, clock := new(site), &fakeClock{now: time.Now()}
	web.put(setURL, respond(200, otherSet()))
	w := newWorld(t, func(w *world) {
		i := &issuer.Issuer{Org: "acme", URL: otherURL, Audience: otherAud, JWKS: setURL, Base: web, Map: subject}
		w.mechanism.Issuers = []*issuer.Issuer{i}
		w.guard.Now = clock.Now
		for _, f := range alter {
			f(w, i)
		}
	})
	return w, web, clock
}

type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

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

// world is a server with two orgs and three apps, whose own tokens are accepted beside others'.
type world struct {
	directory *auth.Memory
	keys      token.MemoryKeys
	bearer    *bearer.Mechanism
	mechanism *issuer.Mechanism
	guard     *auth.Guard
	mux       *auth.Mux
	last      atomic.Pointer[auth.Principal] // of the latest request that reached a handler
}

func newWorld(t testing.TB, alter ...func(*world)) *world {
	t.Helper()
	w := &world{directory: new(auth.Memory), mechanism: new(issuer.Mechanism)}
	for _, org := range []string{"acme", "globex"} {
		w.directory.PutOrg(auth.Org{Code: org})
	}
	w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"member"}})
	w.directory.PutAccount(auth.Account{ID: "root", Org: "acme"})
	w.directory.PutAccount(auth.Account{ID: "off", Org: "acme", Disabled: true})
	w.directory.PutAccount(auth.Account{ID: "gus", Org: "globex"})
	w.directory.PutRole("acme", auth.Role{Name: "member"})
	w.directory.PutRole("acme", auth.Role{Name: "editor", Scope: []string{"object.update.c_note"}})
	for i, app := range []auth.App{{ClientKey: appA, Org: "acme"}, {ClientKey: appB, Org: "acme"}, {ClientKey: appG, Org: "globex"}} {
		w.directory.PutApp(app)
		pair, err := token.NewPair(keys[i]())
		if err != nil {
			t.Fatal(err)
		}
		pair.ClientKey, pair.Org = app.ClientKey, app.Org
		if err := w.keys.Put(t.Context(), pair); err != nil {
			t.Fatal(err)
		}
	}
	w.bearer = &bearer.Mechanism{Keys: &w.keys, Signers: &w.keys, Ledger: token.NewMemoryLedger(nil), Cache: &token.Cache{}}
	w.guard = &auth.Guard{
		Roles:      auth.RolesDoNotLimit,
		BaseURL:    "https://api.example.test",
		Directory:  w.directory,
		Mechanisms: []auth.Mechanism{w.bearer, w.mechanism},
	}
	for _, f := range alter {
		f(w)
	}
	w.mux = w.guard.Mux()
	w.mux.HandleFunc("GET /me", auth.Authenticated, w.answer)
	w.mux.HandleFunc("GET /open", auth.Optional, w.answer)
	w.mux.HandleFunc("GET /notes", auth.Allow("object.read.c_note"), w.answer)
	w.mux.HandleFunc("DELETE /notes/{id}", auth.Allow("object.delete.c_note.{id}"), w.answer)
	return w
}

func (w *world) answer(rw http.ResponseWriter, r *http.Request) {
	p := auth.From(r.Context())
	w.last.Store(&p)
	auth.Reply(rw, r, p.Account)
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

// signWith signs with the key of an own app.
func signWith(t testing.TB, i int, payload any) string {
	t.Helper()
	pair, err := token.NewPair(keys[i]())
	if err != nil {
		t.Fatal(err)
	}
	return by(keys[i](), header("RS256", pair.KeyID), payload)
}

// honest returns a valid token of app A.
func honest(t testing.TB, pairs ...any) string { return signWith(t, 0, claims(pairs...)) }

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

type reply struct {
	status int
	header http.Header
	body   string
	fault  string // the detail, "" on success
}

// ask sends a request with header pairs.
func (w *world) ask(t testing.TB, method, path string, header ...string) reply {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header[header[i]] = append(r.Header[header[i]], header[i+1])
	}
	got := httptest.NewRecorder()
	w.mux.ServeHTTP(got, r)
	var fault struct{ ErrCode string }
	json.Unmarshal(got.Body.Bytes(), &fault)
	return reply{got.Code, got.Header(), got.Body.String(), strings.TrimPrefix(fault.ErrCode, "service.")}
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
	challenges := got.header.Values("WWW-Authenticate")
	if status == 401 && (len(challenges) != 1 || !strings.HasPrefix(challenges[0], "Bearer")) {
		t.Errorf("a 401 with the challenges %q", challenges)
	}
}

func TestForeignTokensKeepTheContract(t *testing.T) {
	w, _, _ := newOther(t)
	web := new(site)
	web.put(setURL, respond(200, otherSet()))
	var broken atomic.Bool
	i := &issuer.Issuer{Org: "acme", URL: otherURL, Audience: otherAud, JWKS: setURL, Base: web}
	i.Map = func(ctx context.Context, t *auth.Tenant, f *issuer.Foreign) (issuer.Identity, error) {
		if broken.Load() {
			return issuer.Identity{}, errors.New("broken")
		}
		return subject(ctx, t, f)
	}
	with := func(raw string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+raw) }
	}
	authtest.CheckMechanism(t, authtest.Candidate{
		Mechanism: &issuer.Mechanism{Issuers: []*issuer.Issuer{i}},
		Directory: w.directory, Org: "acme",
		Present: with(ofOther()),
		Refused: map[string]func(*http.Request){
			"another key":     with(by(keys[2](), header("RS256", "rsa"), foreign())),
			"another issuer":  with(ofOther("iss", "https://other.example.test")),
			"another account": with(ofOther("sub", "nobody")),
		},
		Break: broken.Store,
		Ends:  true,
	})
}
