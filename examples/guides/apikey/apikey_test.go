package apikey_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/openapi"
	"github.com/tenantkit/tenantkit/examples/guides/apikey"
	"github.com/tenantkit/tenantkit/scope"
)

// table is a store in memory.
type table struct {
	mu      sync.Mutex
	records map[string]apikey.Record
	looked  int
	broken  atomic.Bool
}

func (s *table) Record(ctx context.Context, id string) (apikey.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked++
	if err := ctx.Err(); err != nil || s.broken.Load() {
		return apikey.Record{}, errors.New("broken")
	}
	record, ok := s.records[id]
	if !ok {
		return apikey.Record{}, auth.ErrNotFound
	}
	return record, nil
}

func (s *table) Save(_ context.Context, r apikey.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.records == nil {
		s.records = map[string]apikey.Record{}
	}
	s.records[r.ID] = r
	return nil
}

// issue makes a key of ann, and stores its record after alter.
func (s *table) issue(t *testing.T, alter func(*apikey.Record)) string {
	t.Helper()
	key, record := apikey.New("acme", "ann", []string{"object.read.c_note"}, time.Now().Add(time.Hour))
	alter(&record)
	if err := s.Save(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	return string(key)
}

func asItIs(*apikey.Record) {}

func directory() *auth.Memory {
	d := new(auth.Memory)
	d.PutOrg(auth.Org{Code: "acme"})
	d.PutOrg(auth.Org{Code: "globex"})
	d.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"member"}})
	return d
}

func with(key string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Acme-Key", key) }
}

func TestMechanismKeepsTheContract(t *testing.T) {
	store := new(table)
	never, _ := apikey.New("acme", "ann", nil, time.Time{})
	authtest.CheckMechanism(t, authtest.Candidate{
		Mechanism: &apikey.Mechanism{Store: store},
		Directory: directory(), Org: "acme", Other: "globex",
		Present: with(store.issue(t, asItIs)),
		Refused: map[string]func(*http.Request){
			"never issued":   with(string(never)),
			"malformed":      with("acme_x"),
			"disabled":       with(store.issue(t, func(r *apikey.Record) { r.Disabled = true })),
			"ended":          with(store.issue(t, func(r *apikey.Record) { r.Expires = time.Now() })),
			"another secret": with(store.issue(t, func(r *apikey.Record) { r.Hash[31] ^= 1 })),
			"another org":    with(store.issue(t, func(r *apikey.Record) { r.Org = "globex" })),
		},
		Break:     store.broken.Store,
		Ends:      true,
		Configure: func(g *auth.Guard) { g.Brand.Header = "Acme-" },
	})
}

// server has a route for the scope of a key, and As for the account that makes one.
func server(store *table, mechanisms ...auth.Mechanism) *auth.Mux {
	guard := &auth.Guard{Roles: auth.RolesLimit, BaseURL: "https://api.example.com", Directory: directory(), Brand: auth.Brand{Header: "Acme-"},
		Mechanisms: append(mechanisms, &apikey.Mechanism{Store: store})}
	mux := guard.Mux()
	mux.HandleFunc("GET /notes", auth.Allow("object.read.c_note"), func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, auth.From(r.Context()).Roles)
	})
	mux.HandleFunc("DELETE /notes/{id}", auth.Allow("object.delete.c_note.{id}"), func(http.ResponseWriter, *http.Request) {})
	apikey.Register(mux, store)
	return mux
}

func do(h http.Handler, method, path, body, key string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/acme/v2"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Acme-Key", key)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestAScopeBoundsAKey(t *testing.T) {
	store := new(table)
	mux := server(store)
	reader, nothing := store.issue(t, asItIs), store.issue(t, func(r *apikey.Record) { r.Scope = nil })
	for _, test := range []struct {
		method, path, key string
		status            int
	}{
		{"GET", "/notes", reader, 200},
		{"DELETE", "/notes/000000000000000000000001", reader, 403},
		{"GET", "/notes", nothing, 403},
		{"GET", "/notes", "", 401},
		{"POST", "/keys", reader, 403}, // not fresh
	} {
		if w := do(mux, test.method, test.path, "", test.key); w.Code != test.status {
			t.Errorf("%s %s: got %d %s, want %d", test.method, test.path, w.Code, w.Body, test.status)
		}
	}
	if got := do(mux, "GET", "/notes", "", reader).Body.String(); got != "[member]" {
		t.Errorf("roles %s", got)
	}
}

func TestATypoCostsNoLookup(t *testing.T) {
	store := new(table)
	mux, key := server(store), store.issue(t, asItIs)
	typos := []string{key[:len(key)-1], key + "0", key + " x", strings.ToUpper(key), "x" + key[1:], key[5:], "acme_"}
	for i := range key {
		other := byte('a')
		if key[i] == other {
			other = 'b'
		}
		typos = append(typos, key[:i]+string(other)+key[i+1:])
	}
	for _, typo := range typos {
		if w := do(mux, "GET", "/notes", "", typo); w.Code != 401 {
			t.Errorf("%d: got %d", len(typo), w.Code)
		}
	}
	if store.looked != 0 {
		t.Errorf("%d look-ups", store.looked)
	}
}

func TestScannersFindKeysAndNothingPrintsThem(t *testing.T) {
	found := regexp.MustCompile(`^acme_[a-z2-7]{56}[0-9a-f]{8}$`)
	var last string
	for range 100 {
		key, record := apikey.New("acme", "ann", nil, time.Time{})
		if text := string(key); !found.MatchString(text) || text == last || len(record.ID) != 16 {
			t.Fatalf("a key of %d characters, with the id %q", len(text), record.ID)
		}
		last = string(key)
		encoded, _ := json.Marshal(struct{ K apikey.Key }{key})
		var logged strings.Builder
		slog.New(slog.NewTextHandler(&logged, nil)).Info("made", "key", key)
		printed := fmt.Sprintf("%s %v %q %x %d %+v", key, key, key, key, key, record) + string(encoded) + logged.String()
		if strings.Contains(printed, last[21:61]) {
			t.Fatal(strings.ReplaceAll(printed, last, "the key"))
		}
	}
}

func TestMaking(t *testing.T) {
	store := new(table)
	notes, err := scope.Compile("test", "object.read.c_note")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		by     auth.Principal
		body   string
		status int
	}{
		"of one's own":        {auth.Principal{Authenticated: time.Now()}, `{"scope":["object.read.c_note"],"days":30}`, 200},
		"beyond one's scope":  {auth.Principal{Authenticated: time.Now()}, `{"scope":["object.read"],"days":30}`, 403},
		"beyond one's end":    {auth.Principal{Authenticated: time.Now(), Expires: time.Now().Add(time.Hour)}, `{"scope":[],"days":30}`, 403},
		"without a new proof": {auth.Principal{}, `{"scope":[],"days":1}`, 403},
		"without an end":      {auth.Principal{Authenticated: time.Now()}, `{"scope":[],"days":0}`, 400},
		"no chain":            {auth.Principal{Authenticated: time.Now()}, `{"scope":["object.raed"],"days":1}`, 400},
	} {
		test.by.Account, test.by.Scope, test.by.Granted = "ann", notes, notes
		w := do(server(store, authtest.As(test.by)), "POST", "/keys", test.body, "")
		if w.Code != test.status {
			t.Errorf("%s: got %d %s, want %d", name, w.Code, w.Body, test.status)
		}
		if w.Code != 200 {
			continue
		}
		var made struct{ Data string }
		if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil {
			t.Fatal(err)
		}
		if got := do(server(store), "GET", "/notes", "", made.Data); got.Code != 200 {
			t.Errorf("%s: the key is answered with %d %s", name, got.Code, got.Body)
		}
	}
	if records := len(store.records); records != 1 {
		t.Errorf("%d records", records)
	}
}

func TestAStoreIsRequired(t *testing.T) {
	if err := (&auth.Guard{Roles: auth.RolesLimit, BaseURL: "https://api.example.com", Directory: directory(),
		Mechanisms: []auth.Mechanism{&apikey.Mechanism{}}}).Validate(); err == nil || !strings.Contains(err.Error(), "Store") {
		t.Errorf("a Guard without a store of keys: %v", err)
	}
}

func TestTheDocumentHasTheHeader(t *testing.T) {
	g := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.net",
		Directory:  &auth.Memory{},
		Mechanisms: []auth.Mechanism{&apikey.Mechanism{Store: new(table)}},
		Brand:      auth.Brand{Header: "Acme-"},
	}
	text, err := (&openapi.Document{Mux: g.Mux(), Title: "x", Version: "1"}).JSON()
	if err != nil || !strings.Contains(string(text), `{"in":"header","name":"Acme-Key","type":"apiKey"}`) {
		t.Errorf("%s %v", text, err)
	}
}
