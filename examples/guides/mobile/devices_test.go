package mobile_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/examples/guides/mobile"
	"github.com/tenantkit/tenantkit/token"
)

const app = "mobileApp0000000000001"

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type world struct {
	authtest.Clients
	store *sqlstore.Store
	db    *sql.DB
	told  []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "mobile.db")+
		"?_txlock=immediate&_pragma=busy_timeout(2000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	check(t, err)
	t.Cleanup(func() { db.Close() })
	store, err := sqlstore.Open(t.Context(), db, sqlstore.SQLite, sqlstore.Options{UnsafeUnsealed: true})
	check(t, err)
	_, err = db.Exec(mobile.Table)
	check(t, err)
	keys, err := store.Keys()
	check(t, err)
	_, err = keys.Ensure(t.Context(), "acme", app)
	check(t, err)

	directory, memory := new(auth.Memory), new(session.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutApp(auth.App{ClientKey: app, Org: "acme"})
	w := &world{store: store, db: db}
	people := &session.Manager{Store: memory.Sessions(), Attempts: memory.Attempts()}
	tokens := &bearer.Mechanism{Keys: keys, Signers: keys, Ledger: store.Ledger()}
	guard := &auth.Guard{Roles: auth.RolesDoNotLimit, BaseURL: "https://api.example.com", Directory: directory,
		Mechanisms: []auth.Mechanism{people, tokens},
		Observe: mobile.Stolen(func(_ context.Context, org auth.OrgKey, account string) {
			w.told = append(w.told, string(org)+" "+account)
		})}
	mux := guard.Mux()
	(&mobile.Devices{DB: db, Store: store, Tokens: tokens, App: app}).Register(mux)
	mux.HandleFunc("POST /login/{account}", auth.Public, func(rw http.ResponseWriter, r *http.Request) {
		if _, err := people.Start(rw, r, r.PathValue("account"), session.Proof{At: time.Now()}); err != nil {
			auth.Fail(rw, r, err)
		}
	})
	for _, account := range []string{"ann", "bob"} {
		directory.PutAccount(auth.Account{ID: account, Org: "acme"})
	}
	w.Clients = authtest.Clients{Handler: mux, URL: "https://api.example.com/acme/v2", Guard: guard}
	return w
}

func (w *world) person(t *testing.T, account string) *http.Client {
	t.Helper()
	client, err := w.SignedIn("/login/"+account, nil)
	check(t, err)
	return client
}

func call[T any](t *testing.T, w *world, client *http.Client, method, path, body string, status int) (reply T) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.URL+path, strings.NewReader(body))
	check(t, err)
	if body == "" {
		r.Body = http.NoBody
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	got, err := client.Do(r)
	check(t, err)
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	check(t, err)
	if got.StatusCode != status {
		t.Fatalf("%s %s: %d, want %d: %s", method, path, got.StatusCode, status, text)
	}
	if status == 200 {
		check(t, json.Unmarshal(text, &reply))
	}
	return reply
}

type signedIn struct{ Token string }

func (s signedIn) client(w *world) *http.Client {
	return w.Bearer(token.Token(s.Token))
}

type device struct {
	ID, Name string
	This     bool
}

// TestAPhone signs in, renews its token, is listed by its name and signed out.
func TestAPhone(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.person(t, "ann"), w.person(t, "bob")
	first := call[signedIn](t, w, ann, "POST", "/devices", `{"name":"Ann's phone"}`, 200)
	call[signedIn](t, w, ann, "POST", "/devices", `{"name":"tablet"}`, 200)
	second := call[signedIn](t, w, first.client(w), "POST", "/devices/renew", "", 200)
	again := call[signedIn](t, w, first.client(w), "POST", "/devices/renew", "", 200) // the answer was lost
	var id string
	for _, phone := range []signedIn{first, second, again} {
		list := call[[]device](t, w, phone.client(w), "GET", "/devices", "", 200)
		if len(list) != 2 {
			t.Fatalf("devices %+v", list)
		}
		for _, d := range list {
			if d.This != (d.Name == "Ann's phone") {
				t.Errorf("devices %+v", list)
			}
			if d.This {
				id = d.ID
			}
		}
	}
	call[any](t, w, bob, "DELETE", "/devices/"+id, "", 404)
	call[any](t, w, ann, "DELETE", "/devices/"+id, "", 200)
	call[any](t, w, second.client(w), "GET", "/devices", "", 401)
	if list := call[[]device](t, w, ann, "GET", "/devices", "", 200); len(list) != 1 || list[0].Name != "tablet" {
		t.Errorf("devices %+v", list)
	}
	if len(w.told) != 0 {
		t.Errorf("told %q", w.told)
	}
}

// TestAStolenToken: whoever uses the copy after the minute ends both, and the owner is told.
func TestAStolenToken(t *testing.T) {
	w := newWorld(t)
	first := call[signedIn](t, w, w.person(t, "ann"), "POST", "/devices", `{"name":"phone"}`, 200)
	second := call[signedIn](t, w, first.client(w), "POST", "/devices/renew", "", 200)
	_, err := w.db.Exec("UPDATE tenantkit_v9_ledger SET graced = graced - 60000") // a minute later
	check(t, err)
	call[any](t, w, second.client(w), "GET", "/devices", "", 200)
	call[any](t, w, first.client(w), "GET", "/devices", "", 401)
	call[any](t, w, second.client(w), "GET", "/devices", "", 401)
	if len(w.told) != 1 || w.told[0] != "acme ann" {
		t.Errorf("told %q", w.told)
	}
}
