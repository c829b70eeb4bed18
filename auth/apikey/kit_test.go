package apikey_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

const (
	app  = "acmeKey000000000000001"
	note = "5b0000000000000000000001"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// counting is a Store that counts its calls, and can be away.
type counting struct {
	apikey.Store
	gets, uses atomic.Int64
	away       atomic.Bool
}

var errAway = errors.New("away")

func (c *counting) Get(ctx context.Context, id string) (apikey.Record, error) {
	c.gets.Add(1)
	if c.away.Load() {
		return apikey.Record{}, errAway
	}
	return c.Store.Get(ctx, id)
}

func (c *counting) Use(ctx context.Context, id string, at time.Time, from netip.Prefix) error {
	c.uses.Add(1)
	if c.away.Load() {
		return errAway
	}
	return c.Store.Use(ctx, id, at, from)
}

// world is a server with API keys beside tokens.
type world struct {
	directory *auth.Memory
	store     *counting
	mechanism *apikey.Mechanism
	tokens    *bearer.Mechanism
	guard     *auth.Guard
	mux       *auth.Mux
	clock     *authtest.Clock
	tenant    *auth.Tenant
	last      atomic.Pointer[auth.Principal]
}

// sharedPair is made once: that takes longer than most tests.
var sharedPair = sync.OnceValue(func() *token.KeyPair {
	pair, err := token.GeneratePair(2048)
	if err != nil {
		panic(err)
	}
	pair.ClientKey, pair.Org = app, "acme"
	return pair
})

func newWorld(t testing.TB, alter ...func(*world)) *world {
	t.Helper()
	w := &world{directory: directory(), store: &counting{Store: apikey.NewMemory()}, clock: authtest.NewClock(noon)}
	keys := &token.MemoryKeys{Now: w.clock.Now}
	if err := keys.Put(t.Context(), sharedPair()); err != nil {
		t.Fatal(err)
	}
	w.tokens = &bearer.Mechanism{Keys: keys, Signers: keys, Ledger: token.NewMemoryLedger(w.clock.Now), Cache: &token.Cache{}}
	w.mechanism = &apikey.Mechanism{Store: w.store, Header: "X-Api-Key",
		Formats: []apikey.Format{{Prefix: "acme_live"}, {Prefix: "acme_test"}}}
	w.guard = &auth.Guard{Roles: auth.RolesDoNotLimit, BaseURL: "https://api.example.test", Directory: w.directory, Now: w.clock.Now,
		Mechanisms: []auth.Mechanism{w.tokens, w.mechanism}, Ceiling: true}
	for _, f := range alter {
		f(w)
	}
	w.mux = w.guard.Mux()
	answer := func(_ http.ResponseWriter, r *http.Request) {
		p := auth.From(r.Context())
		w.last.Store(&p)
	}
	w.mux.HandleFunc("GET /me", auth.Authenticated, answer)
	w.mux.HandleFunc("GET /maybe", auth.Optional, answer)
	w.mux.HandleFunc("GET /fresh", auth.Authenticated.Fresh(time.Minute), answer)
	w.mux.HandleFunc("GET /notes", auth.Allow("object.read.c_note"), answer)
	w.mux.HandleFunc("DELETE /notes/{id}", auth.Allow("object.delete.c_note.{id}"), answer)
	w.mux.HandleFunc("GET /tenant", auth.Public, func(_ http.ResponseWriter, r *http.Request) { w.tenant = auth.TenantFrom(r.Context()) })
	w.send(t, "GET", "/tenant", nil)
	return w
}

func directory() *auth.Memory {
	d := new(auth.Memory)
	d.PutOrg(auth.Org{Code: "acme"})
	d.PutOrg(auth.Org{Code: "globex"})
	d.PutAccount(auth.Account{ID: "ann", Org: "acme"})
	d.PutAccount(auth.Account{ID: "bot", Org: "acme", Roles: []string{"editor"}})
	d.PutAccount(auth.Account{ID: "root", Org: "acme"})
	d.PutAccount(auth.Account{ID: "off", Org: "acme", Disabled: true})
	d.PutRole("acme", auth.Role{Name: "editor", Scope: []string{"object.update.c_note"}})
	d.PutApp(auth.App{ClientKey: app, Org: "acme"})
	d.PutApp(auth.App{ClientKey: "globexKey", Org: "globex"})
	return d
}

// session returns the principal of an account that has logged in.
func session(account string) auth.Principal {
	return auth.Principal{Org: "acme", Account: account, Caller: account, Mechanism: "session",
		Scope: scope.Unscoped(), Granted: scope.Unscoped(), Authenticated: noon}
}

func administrator() auth.Principal { return session("root").AsAdministrator(true) }

// make makes a key of ann that reads notes.
func (w *world) make(t testing.TB, alter func(*apikey.Grant)) (string, apikey.Record) {
	t.Helper()
	g := apikey.Grant{Account: "ann", Name: "partner", Scope: []string{"object.read.c_note"}}
	if alter != nil {
		alter(&g)
	}
	key, r, err := w.mechanism.Keys().Make(t.Context(), administrator(), w.tenant, g)
	if err != nil {
		t.Fatal(err)
	}
	return string(key), r
}

// send returns the answer to a request of the client address 192.0.2.1.
func (w *world) send(t testing.TB, method, path string, header map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, "/acme/v2"+path, nil)
	for name, value := range header {
		r.Header[name] = append(r.Header[name], value)
	}
	got := httptest.NewRecorder()
	w.mux.ServeHTTP(got, r)
	return got
}

func bearing(key string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + key}
}

// want sends a key, and fails unless the status is right.
func (w *world) want(t testing.TB, what, key string, status int) *httptest.ResponseRecorder {
	t.Helper()
	got := w.send(t, "GET", "/notes", bearing(key))
	if got.Code != status {
		t.Errorf("%s: %d %s, want %d", what, got.Code, got.Body, status)
	}
	return got
}
