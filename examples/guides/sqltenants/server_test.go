package sqltenants_test

import (
	"crypto/rand"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/examples/guides/sqltenants"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/token"
)

const (
	ann = "11111111-1111-4111-8111-111111111111"
	ben = "22222222-2222-4222-8222-222222222222"
	cas = "33333333-3333-4333-8333-333333333333"
	dan = "44444444-4444-4444-8444-444444444444"
)

// world is a server with two companies, and what a test needs to call it as ann, a
// manager of acme.
type world struct {
	authtest.Clients
	signed    *http.Client
	minter    token.Minter
	clientKey string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ctx := t.Context()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "service.db")+
		"?_pragma=busy_timeout(250)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	key := make([]byte, 32)
	rand.Read(key)
	store, err := sqltenants.OpenStore(ctx, db, key)
	if err != nil {
		t.Fatal(err)
	}
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(ctx, statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(sqltenants.Tables)
	exec(sqltenants.View)
	indexes, err := sqltenants.Indexes()
	if err != nil {
		t.Fatal(err)
	}
	for _, index := range indexes {
		exec(index)
	}
	exec(`INSERT INTO companies (slug, closed) VALUES ('acme', 0), ('globex', 0), ('gone', 1)`)
	exec(`INSERT INTO users (id, company, name, email, role, active) VALUES
		($1, 'acme', 'Ann', 'ann@acme.example', 'manager', 1), ($2, 'acme', 'Ben', NULL, 'staff', 1),
		($3, 'acme', 'Cas', 'cas@acme.example', 'staff', 0), ($4, 'globex', 'Dan', NULL, 'manager', 1)`, ann, ben, cas, dan)

	credentials, err := store.Credentials()
	if err != nil {
		t.Fatal(err)
	}
	keys, err := store.Keys()
	if err != nil {
		t.Fatal(err)
	}
	clientKey, secret, err := sqltenants.Clients{DB: db, Credentials: credentials, Keys: keys}.Create(ctx, "acme", "test", ann)
	if err != nil {
		t.Fatal(err)
	}

	handler, err := sqltenants.NewHandler(db, store, "https://api.example.com")
	if err != nil {
		t.Fatal(err)
	}
	clients := authtest.Clients{Handler: handler, URL: "https://api.example.com/acme/v2"}
	return &world{
		Clients:   clients,
		signed:    clients.Signed(clientKey, secret),
		minter:    token.Minter{Signers: keys},
		clientKey: clientKey,
	}
}

// as returns a client with a token for an account.
func (w *world) as(t *testing.T, account string, chains ...string) *http.Client {
	t.Helper()
	raw, _, err := w.minter.Ephemeral(t.Context(), token.Claims{
		Issuer: w.clientKey, Subject: account, Audience: "https://api.example.com/acme/v2", Scope: chains,
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	everywhere := w.Clients
	everywhere.URL = "https://api.example.com"
	return everywhere.Bearer(raw)
}

func get(t *testing.T, client *http.Client, address string) string {
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

func list(more bool, items ...string) string {
	return fmt.Sprintf(`200 {"object":"list","data":[%s],"hasMore":%v}`, strings.Join(items, ","), more)
}

func item(id, rest string) string { return `{"_id":"` + id + `","object":"user"` + rest + `}` }

func TestUsers(t *testing.T) {
	w := newWorld(t)
	unread := url.Values{"where": {`{"email":"ann@acme.example"}`}}.Encode()
	for _, test := range []struct {
		name   string
		client *http.Client
		query  string
		want   string // the beginning of the reply
	}{
		{"those of the own company that are active", w.signed, "", list(false, item(ann, ""), item(ben, ""))},
		{"with properties", w.signed, "paths[]=name&paths[]=email",
			list(false, item(ann, `,"name":"Ann","email":"ann@acme.example"`), item(ben, `,"name":"Ben","email":null`))},
		{"a page", w.signed, "limit=1&sort=name&paths[]=name", list(true, item(ann, `,"name":"Ann"`))},
		{"by object", w.signed, url.Values{"where": {`{"object":"user"}`}, "limit": {"1"}}.Encode(), list(true, item(ann, ""))},
		{"the company cannot be asked for", w.signed, url.Values{"where": {`{"company":"globex"}`}}.Encode(), "400 "},
		{"a token for one user", w.as(t, ben, "object.read.user."+ben+".email"), "paths[]=email&paths[]=name",
			// The role staff adds the names of all users.
			list(false, item(ann, `,"name":"Ann"`), item(ben, `,"name":"Ben","email":null`))},
		{"a filter by what the token cannot read", w.as(t, ben), unread, "400 "},
		{"the same filter by a manager's", w.as(t, ann), unread, list(false, item(ann, ""))},
		{"a token of a disabled user", w.as(t, cas), "", "401 "},
		{"a token for a user of another company", w.as(t, dan), "", "401 "},
	} {
		if got := get(t, test.client, w.URL+"/users?"+test.query); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

// A page after a cursor reads a range of an index, also through the view.
func TestPagesUseTheIndex(t *testing.T) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "service.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	indexes, err := sqltenants.Indexes()
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range append([]string{sqltenants.Tables, sqltenants.View}, indexes...) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	q := paging.Query{Where: paging.Gt("_id", ann), Limit: 2}
	text, args, err := sqlpage.Statement(q, sqltenants.Table, sqlpage.RowScope{Tenant: "acme", AllIDs: true}, sqlpage.SQLite)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(detail, "users_company__id (company=? AND id>?)") {
			t.Error(detail)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

func TestOtherCompanies(t *testing.T) {
	w := newWorld(t)
	for org, want := range map[string]string{"globex": "401 ", "gone": "404 ", "ACME": "404 ", "none": "404 "} {
		if got := get(t, w.as(t, ann), "https://api.example.com/"+org+"/v2/users"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", org, got, want)
		}
	}
}

// If the database does not answer, a request is refused.
func TestDown(t *testing.T) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "service.db"))
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	guard := &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  auth.Cached(sqltenants.Directory{DB: db}, 0),
		Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{Account: ann})},
	}
	mux := guard.Mux()
	mux.HandleFunc("GET /users", auth.Authenticated, func(http.ResponseWriter, *http.Request) {})
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/acme/v2/users", nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
