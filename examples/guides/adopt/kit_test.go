package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/tls"
	"database/sql"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

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

var parse = url.Parse

// world is a service with the demo data, and the transport that reaches it under every name.
type world struct {
	*service
	dialect sqlstore.Dialect
	base    *http.Transport
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
	t.Cleanup(func() { db.Close() })
	if err := createDemo(t.Context(), db, dialect); err != nil {
		t.Fatal(err)
	}
	key := make([]byte, 32)
	rand.Read(key)
	s, err := newService(t.Context(), db, dialect, key)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{acmeID, globexID} {
		pair := *pairs()[i]
		pair.Org, pair.ClientKey = id, issuer(id)
		if err := s.keys.Put(t.Context(), &pair); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.addIssuers(t.Context()); err != nil {
		t.Fatal(err)
	}
	base, err := parse("https://example.test")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(s.handler(base))
	t.Cleanup(server.Close)
	trusted := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	return &world{s, dialect, &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
		},
		TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: "example.com"},
	}}
}

// browser returns a client with cookies, of nobody.
func (w *world) browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: w.base, Jar: jar}
}

// login returns the browser of a signed-in person.
func (w *world) login(t *testing.T, tenant, email string) *http.Client {
	t.Helper()
	b := w.browser(t)
	mustCall(t, b, "POST", tenant+"/login", map[string]string{"email": email, "password": "correct horse"}, 200)
	return b
}

// partner returns a client that signs with a new key that olga makes.
func (w *world) partner(t *testing.T, wish map[string]any) (client *http.Client, clientKey, secret string) {
	t.Helper()
	made := mustCall(t, w.login(t, acme, "olga@acme.example"), "POST", acme+"/keys", wish, 200)
	clientKey, secret = made["clientKey"].(string), made["secret"].(string)
	return w.signer(acme, clientKey, secret), clientKey, secret
}

func (w *world) signer(tenant, clientKey, secret string) *http.Client {
	return &http.Client{Transport: &signing.Transport{
		BaseURL: tenant, ClientKey: clientKey, Secret: signing.Secret(secret), Header: "Acme-", Base: w.base,
	}}
}

func (w *world) holder(tenant string, minted map[string]any) *http.Client {
	source := token.Token(minted["token"].(string))
	return &http.Client{Transport: &token.Transport{BaseURL: tenant, Source: source, Base: w.base}}
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

// totp is the code of RFC 6238 at a time.
func totp(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha1.New, key)
	binary.Write(mac, binary.BigEndian, at.Unix()/30)
	sum := mac.Sum(nil)
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[sum[19]&15:])&0x7fffffff%1_000_000)
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
