package apikey_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/tenantkit/tenantkit/auth"
	lib "github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/examples/guides/apikey"
	"github.com/tenantkit/tenantkit/scope"
)

// world is the server of the guide, over one database.
type world struct {
	store *sqlstore.Store
	told  []lib.Record
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "store")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(1000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	store, err := sqlstore.Open(t.Context(), db, sqlstore.SQLite, sqlstore.Options{UnsafeUnsealed: true})
	if err != nil {
		t.Fatal(err)
	}
	return &world{store: store}
}

// mux returns the routes as a new process has them. With a principal, each request is its.
func (w *world) mux(by ...auth.Principal) *auth.Mux {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutAccount(auth.Account{ID: "partner", Org: "acme"})
	s := &apikey.Server{Store: w.store, Directory: directory, Tell: func(_ context.Context, r lib.Record) { w.told = append(w.told, r) }}
	for _, p := range by {
		s.Mechanisms = append(s.Mechanisms, authtest.As(p))
	}
	return s.Mux()
}

func administrator() auth.Principal {
	return auth.Principal{Org: "acme", Account: "root", Caller: "root", Scope: scope.Unscoped(), Granted: scope.Unscoped(), Authenticated: time.Now()}
}

func do(mux *auth.Mux, method, path, body, key string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/acme/v2"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

func data[T any](t *testing.T, w *httptest.ResponseRecorder) (of struct{ Data T }) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &of); err != nil || w.Code != 200 {
		t.Fatalf("%d %s, %v", w.Code, w.Body, err)
	}
	return of
}

type shown struct{ ID, Key, Name, From string }

func (w *world) make(t *testing.T) shown {
	t.Helper()
	return data[shown](t, do(w.mux(administrator()), "POST", "/keys", `{"account":"partner","name":"Partner Ltd","scope":["object.read.c_note"],"days":90}`, "")).Data
}

func TestTheFirstPartner(t *testing.T) {
	w := newWorld(t)
	made := w.make(t)
	if got := do(w.mux(), "GET", "/notes", "", made.Key); got.Code != 200 || !strings.Contains(got.Body.String(), "notes of partner") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := do(w.mux(), "GET", "/notes", "", made.Key[:30]); got.Code != 401 {
		t.Errorf("a part of the key: %d", got.Code)
	}
	for path, method := range map[string]string{"/keys": "POST", "/keys/" + made.ID: "DELETE"} {
		if got := do(w.mux(), method, path, `{}`, made.Key); got.Code != 403 {
			t.Errorf("a partner's %s %s: %d %s", method, path, got.Code, got.Body)
		}
	}
	page := do(w.mux(administrator()), "GET", "/keys", "", "")
	if keys := data[[]shown](t, page).Data; len(keys) != 1 || keys[0].ID != made.ID || keys[0].Name != "Partner Ltd" || keys[0].From != "192.0.2.0/24" || strings.Contains(page.Body.String(), made.Key) {
		t.Errorf("%s", page.Body)
	}
	if keys := data[[]shown](t, do(w.mux(administrator()), "GET", "/keys?ending", "", "")).Data; len(keys) != 0 {
		t.Errorf("%d keys end soon", len(keys))
	}

	next := data[shown](t, do(w.mux(administrator()), "POST", "/keys/"+made.ID+"/replace", `{"overlap":60,"days":10}`, "")).Data
	mux := w.mux()
	for _, key := range []string{made.Key, next.Key} {
		if got := do(mux, "GET", "/notes", "", key); got.Code != 200 {
			t.Errorf("during the overlap: %d", got.Code)
		}
	}
	if keys := data[[]shown](t, do(w.mux(administrator()), "GET", "/keys?ending", "", "")).Data; len(keys) != 2 {
		t.Errorf("%d keys end soon, want both", len(keys))
	}
	if got := do(w.mux(administrator()), "DELETE", "/keys/"+next.ID, "", ""); got.Code != 204 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := do(w.mux(), "GET", "/notes", "", next.Key); got.Code != 401 {
		t.Errorf("after it was revoked: %d", got.Code)
	}
}

func TestABodyCannotAskForMore(t *testing.T) {
	w := newWorld(t)
	small := administrator()
	granted, err := scope.Compile("test", "admin", "object.read.c_note")
	if err != nil {
		t.Fatal(err)
	}
	small.Scope, small.Granted = granted, granted
	for body, status := range map[string]int{
		`{"account":"partner","name":"x","scope":["object"],"days":1}`:      403,
		`{"account":"nobody","name":"x","scope":[],"days":1}`:               404,
		`{"account":"partner","name":"x","scope":["object.raed"],"days":1}`: 400,
		`{"account":"partner","name":"x","scope":[],"days":0}`:              400,
	} {
		if got := do(w.mux(small), "POST", "/keys", body, ""); got.Code != status {
			t.Errorf("%s: %d %s, want %d", body, got.Code, got.Body, status)
		}
	}
}

// TestM26AMemberMakesNoKey: whoever is signed in, and has no role of an administrator, is none.
func TestM26AMemberMakesNoKey(t *testing.T) {
	w, memory := newWorld(t), new(session.Memory)
	manager := &session.Manager{Store: memory.Sessions(), Attempts: memory.Attempts()}
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutAccount(auth.Account{ID: "partner", Org: "acme"})
	directory.PutAccount(auth.Account{ID: "root", Org: "acme", Roles: []string{"administrator"}})
	directory.PutAccount(auth.Account{ID: "member", Org: "acme"})
	directory.PutRole("acme", auth.Role{Name: "administrator", Scope: []string{"admin", "object"}})
	mux := (&apikey.Server{Store: w.store, Directory: directory, Mechanisms: []auth.Mechanism{manager}}).Mux()
	mux.HandleFunc("POST /login/{account}", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		if _, err := manager.Start(w, r, r.PathValue("account"), session.Proof{At: time.Now(), Methods: []string{session.MethodPassword}}); err != nil {
			auth.Fail(w, r, err)
		}
	})
	web := httptest.NewTLSServer(mux)
	defer web.Close()
	for account, status := range map[string]int{"root": 200, "member": 403} {
		client := web.Client()
		client.Jar, _ = cookiejar.New(nil)
		var last int
		for _, ask := range [][2]string{{"/login/" + account, ""}, {"/keys", `{"account":"partner","name":"x","scope":["object"],"days":1}`}} {
			got, err := client.Post(web.URL+"/acme/v2"+ask[0], "application/json", strings.NewReader(ask[1]))
			if err != nil {
				t.Fatal(err)
			}
			got.Body.Close()
			last = got.StatusCode
		}
		if last != status {
			t.Errorf("%s makes a key: %d, want %d", account, last, status)
		}
	}
}

func TestAReportOfALeakEndsTheKey(t *testing.T) {
	w := newWorld(t)
	made, mux := w.make(t), w.mux()
	report := func(key string) int { return do(mux, "POST", "/leaks", `{"key":"`+key+`"}`, "").Code }
	if got := do(mux, "GET", "/notes", "", made.Key); got.Code != 200 {
		t.Fatal(got.Code)
	}
	for _, part := range []string{made.ID, made.Key[:50], strings.Repeat("a", 59)} {
		if got := report(part); got != 404 {
			t.Errorf("a report of a part: %d", got)
		}
	}
	if got := report(made.Key); got != 200 || len(w.told) != 1 || w.told[0].Account != "partner" {
		t.Errorf("%d, told %+v", got, w.told)
	}
	if got := do(mux, "GET", "/notes", "", made.Key); got.Code != 401 {
		t.Errorf("after the report: %d", got.Code)
	}
}

func TestTheRulesOfGitleaksAreTheFormats(t *testing.T) {
	rules, err := os.ReadFile("gitleaks.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range apikey.Formats {
		if want := "regex = '''" + f.Regexp().String() + "'''\nkeywords = [\"" + f.Prefix + "_\"]"; strings.Count(string(rules), want) != 1 {
			t.Errorf("no rule with %s", want)
		}
	}
}
