package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

const (
	acme   = "https://acme.example.test/v1"
	globex = "https://globex.example.test/v1"

	acmeID   = "aaaaaaaa-0000-4000-8000-000000000001"
	globexID = "bbbbbbbb-0000-4000-8000-000000000001"

	anvils   = "aaaaaaaa-0000-4000-8000-000000000101"
	doomsday = "bbbbbbbb-0000-4000-8000-000000000101" // of globex
)

// world is a service with the demo data.
type world struct {
	*service
	source  string
	key     []byte
	dialect sqlstore.Dialect
	server  *auth.Guard
	mux     *auth.Mux
	ahead   *atomic.Int64 // how far the clock of the service is ahead, as a time.Duration
}

// pairs are the key pairs of the demo's tenants in every world, because making one is slow.
var pairs = sync.OnceValue(func() (pairs [2]*token.KeyPair) {
	for i := range pairs {
		pairs[i], _ = token.GeneratePair(2048) // a size that it accepts
	}
	return pairs
})

// onEachEngine runs a test on SQLite and on PostgreSQL.
func onEachEngine(t *testing.T, test func(t *testing.T, w *world)) {
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, newWorld(t, filepath.Join(t.TempDir(), "adopt.db")))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, newWorld(t, postgresSource(t)))
	})
}

func newWorld(t *testing.T, source string) *world {
	t.Helper()
	db, dialect, err := openDB(source)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := createDemo(t.Context(), db, dialect); err != nil {
		t.Fatal(err)
	}
	encoded, err := cheap.Hash("correct horse")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "UPDATE users SET password_hash = $1", encoded); err != nil {
		t.Fatal(err)
	}
	key := make([]byte, 32)
	rand.Read(key)
	w := instance(t, source, key)
	for i, id := range []string{acmeID, globexID} {
		pair := *pairs()[i]
		pair.Org, pair.ClientKey = token.OrgKey(id), issuer(id)
		if err := w.keys.Put(t.Context(), &pair); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.addIssuers(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// cheap makes the hashes of the tests, because the race detector makes others slow.
var cheap = oldHasher{bcrypt.MinCost}

// instance starts the service over a database that has the demo.
func instance(t *testing.T, source string, key []byte) *world {
	t.Helper()
	db, dialect, err := openDB(source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s, err := newService(t.Context(), db, dialect, key, auth.Proxies{Header: "X-Forwarded-For", Networks: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}})
	if err != nil {
		t.Fatal(err)
	}
	s.sessions.Hasher = session.Migrating(cheap, session.PBKDF2{Iterations: 1000})
	base, err := url.Parse("https://example.test")
	if err != nil {
		t.Fatal(err)
	}
	guard, ahead := s.guard(base), new(atomic.Int64)
	if err := notes.Check(t.Context(), db, dialect, guard.Scopes); err != nil {
		t.Fatal(err)
	}
	guard.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	return &world{s, source, key, dialect, guard, s.routes(guard), ahead}
}

// at makes clients of a tenant.
func (w *world) at(tenant string) authtest.Clients {
	return authtest.Clients{Handler: w.mux, URL: tenant, Guard: w.server}
}

// login returns the browser of a signed-in person.
func (w *world) login(t *testing.T, tenant, email string) *http.Client {
	t.Helper()
	b, err := w.at(tenant).SignedIn("/login", map[string]string{"email": email, "password": "correct horse"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// moved returns a browser at another tenant, with the cookies of one at acme.
func (w *world) moved(t *testing.T, from *http.Client, tenant string) *http.Client {
	t.Helper()
	source, err := url.Parse(acme)
	if err != nil {
		t.Fatal(err)
	}
	return w.at(tenant).Browser(from.Jar.Cookies(source)...)
}

// partner returns a client that signs with a new key that olga makes.
func (w *world) partner(t *testing.T, wish map[string]any) (client *http.Client, clientKey string, secret signing.Secret) {
	t.Helper()
	made := mustCall(t, w.login(t, acme, "olga@acme.example"), "POST", acme+"/keys", wish, 200)
	clientKey, secret = made["clientKey"].(string), signing.Secret(made["secret"].(string))
	return w.at(acme).Signed(clientKey, secret), clientKey, secret
}

// holder returns a client with a new token of a person.
func (w *world) holder(t *testing.T, person *http.Client, chains ...string) (client *http.Client, minted token.Token) {
	t.Helper()
	made := mustCall(t, person, "POST", acme+"/tokens", map[string]any{"scope": chains}, 200)
	minted = token.Token(made["token"].(string))
	return w.at(acme).Bearer(minted), minted
}

// call returns the status and the body of a reply.
func call(t *testing.T, c *http.Client, method, address string, body any) (int, map[string]any) {
	t.Helper()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		content = strings.NewReader(string(text))
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address, content)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	reply, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	var got map[string]any
	if err := json.NewDecoder(reply.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, got
}

func mustCall(t *testing.T, c *http.Client, method, address string, body any, want int) map[string]any {
	t.Helper()
	status, got := call(t, c, method, address, body)
	if status != want {
		t.Fatalf("%s %s: %d %v, want %d", method, address, status, got, want)
	}
	return got
}

// exec changes a table behind the back of the service.
func (w *world) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	if _, err := w.db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

func one[T any](t *testing.T, db *sql.DB, query string, args ...any) (v T) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// totp is the code of an enrolled secret.
func totp(t *testing.T, secret any, at time.Time) string {
	t.Helper()
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret.(string))
	if err != nil {
		t.Fatal(err)
	}
	return authtest.TOTP(session.FactorSecret(key), at)
}

// signByHand sets the headers of a signed request, with nothing but the standard library.
func signByHand(r *http.Request, command, clientKey, secret string) {
	stamp := fmt.Sprint(time.Now().UnixMilli())
	mac := hmac.New(sha256.New, []byte(clientKey+secret))
	io.WriteString(mac, command+";"+r.Method+";"+stamp)
	r.Header.Set("Acme-Client-Key", clientKey)
	r.Header.Set("Acme-Client-Timestamp", stamp)
	r.Header.Set("Acme-Client-Nonce", rand.Text()[:16])
	r.Header.Set("Acme-Client-Signature", hex.EncodeToString(mac.Sum(nil)))
}
