package idempotency_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/idempotency"
	"github.com/tenantkit/tenantkit/scope"
)

// sealer seals with AES-256-GCM.
type sealer struct{ cipher.AEAD }

func newSealer(key string) sealer {
	block, err := aes.NewCipher([]byte(strings.Repeat(key, 32)[:32]))
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return sealer{aead}
}

func (s sealer) Seal(secret, bound []byte) []byte { return s.AEAD.Seal(nil, nil, secret, bound) }

func (s sealer) Open(sealed, bound []byte) ([]byte, error) {
	return s.AEAD.Open(nil, nil, sealed, bound)
}

// who is a caller, by the header Who.
type who map[string]auth.Principal

func (who) Name() string                         { return "who" }
func (who) Challenge(*auth.Tenant, error) string { return "" }
func (who) Bind(*auth.Settings) error            { return nil }
func (w who) Presented(r *http.Request) auth.Presence {
	if r.Header.Get("Who") == "" {
		return auth.Absent
	}
	return auth.InHeader
}

func (w who) Authenticate(_ context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	p, ok := w[r.Header.Get("Who")]
	if p.Org == "" {
		p.Org = t.Org.Key()
	}
	if p.Mechanism = "who"; !ok || p.Org != t.Org.Key() {
		return auth.Principal{}, &auth.Error{Detail: auth.DetailInvalidCredentials}
	}
	return p, nil
}

func chains(texts ...string) scope.Set {
	set, err := scope.Compile("test", texts...)
	if err != nil {
		panic(err)
	}
	return set
}

// spy is a Store that counts its calls, can be away, and can lose an End.
type spy struct {
	idempotency.Store
	mu           sync.Mutex
	begins, ends int
	away, lost   bool
	stored       []idempotency.Entry
	swap         func(idempotency.Entry) idempotency.Entry // what Begin returns
}

func (s *spy) Begin(ctx context.Context, e idempotency.Entry, o idempotency.Options) (idempotency.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begins++
	if s.away {
		return idempotency.Entry{}, auth.Unavailable(context.DeadlineExceeded)
	}
	s.stored = append(s.stored, e)
	held, err := s.Store.Begin(ctx, e, o)
	if s.swap != nil {
		held = s.swap(held)
	}
	return held, err
}

func (s *spy) End(ctx context.Context, e idempotency.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends++
	if s.lost {
		return auth.Unavailable(context.DeadlineExceeded)
	}
	s.stored = append(s.stored, e)
	return s.Store.End(ctx, e)
}

// world is a server whose handlers count their runs.
type world struct {
	t     *testing.T
	clock *authtest.Clock
	store *spy
	who   who
	keys  *idempotency.Keys
	mux   *auth.Mux
	mu    sync.Mutex
	runs  int
}

func newWorld(t *testing.T, alter ...func(*idempotency.Options)) *world {
	t.Helper()
	w := &world{t: t, clock: authtest.NewClock(time.Now()), who: who{
		"ann":       {Account: "ann", Caller: "ann", App: "app", Roles: []string{"b", "a"}, Scope: chains("object.read.c_note", "object.update.c_note")},
		"bob":       {Account: "bob", Caller: "bob", App: "app", Scope: scope.Unscoped()},
		"elsewhere": {Org: "globex", Account: "ann", Caller: "ann", App: "app", Roles: []string{"b", "a"}, Scope: chains("object.read.c_note", "object.update.c_note")},
	}}
	w.store = &spy{Store: idempotency.NewMemory(w.clock.Now)}
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutOrg(auth.Org{Code: "globex"})
	guard := &auth.Guard{BaseURL: "https://api.example.com", Directory: directory, Mechanisms: []auth.Mechanism{w.who}, Roles: auth.RolesDoNotLimit}
	o := idempotency.Options{Sealer: newSealer("k")}
	for _, f := range alter {
		f(&o)
	}
	w.keys, w.mux = idempotency.New(w.store, o), guard.Mux()
	return w
}

// run counts a run of a handler, and returns its number.
func (w *world) run() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs++
	return w.runs
}

func (w *world) ran(want int) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs != want {
		w.t.Errorf("the handler ran %d times, want %d", w.runs, want)
	}
}

// request is one of a client. Its zero value is a POST of ann.
type request struct {
	who, method, path, body, kind string
	key                           []string
}

func (w *world) do(q request) *httptest.ResponseRecorder {
	if q.who == "" {
		q.who = "ann"
	}
	if q.method == "" {
		q.method = "POST"
	}
	if q.path == "" {
		q.path = "/acme/v2/notes"
	}
	if q.key == nil {
		q.key = []string{"key"}
	}
	r := httptest.NewRequest(q.method, q.path, io.MultiReader(strings.NewReader(q.body)))
	r.Header.Set("Who", q.who)
	if q.who == "nobody" {
		r.Header.Del("Who")
	}
	for _, key := range q.key {
		r.Header.Add("Idempotency-Key", key)
	}
	if q.kind != "" {
		r.Header.Set("Content-Type", q.kind)
	}
	res := httptest.NewRecorder()
	w.mux.ServeHTTP(res, r)
	return res
}

func (w *world) expect(what string, res *httptest.ResponseRecorder, status int, contains string) {
	w.t.Helper()
	if res.Code != status || !strings.Contains(res.Body.String(), contains) {
		w.t.Errorf("%s: %d %s, want %d with %q", what, res.Code, res.Body, status, contains)
	}
}

func (w *world) replayed(what string, res *httptest.ResponseRecorder, is bool) {
	w.t.Helper()
	if got := res.Header().Get("Idempotent-Replayed"); (got == "true") != is {
		w.t.Errorf("%s: Idempotent-Replayed %q, want %v", what, got, is)
	}
}
