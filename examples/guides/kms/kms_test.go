package kms_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/examples/guides/kms"
	"github.com/tenantkit/tenantkit/token"
)

const app = "sKfhQKJTXnDrGRjGPQYVkW"

// vault answers as the transit engine does, as far as Transit asks.
func vault(t *testing.T) *httptest.Server {
	t.Helper()
	master := make([]byte, 32)
	rand.Read(master)
	block, err := aes.NewCipher(master)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Plaintext  []byte `json:"plaintext"`
			Ciphertext string `json:"ciphertext"`
			Bound      []byte `json:"associated_data"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		out := map[string]any{}
		switch r.URL.Path {
		case "/v1/transit/encrypt/tenantkit":
			out["ciphertext"] = "vault:v1:" + base64.StdEncoding.EncodeToString(gcm.Seal(nil, nil, in.Plaintext, in.Bound))
		case "/v1/transit/decrypt/tenantkit":
			sealed, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(in.Ciphertext, "vault:v1:"))
			if out["plaintext"], err = gcm.Open(nil, nil, sealed, in.Bound); err != nil {
				http.Error(w, `{"errors":["cipher: message authentication failed"]}`, http.StatusBadRequest)
				return
			}
		default:
			http.Error(w, `{"errors":["permission denied"]}`, http.StatusForbidden)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": out})
	}))
	t.Cleanup(server.Close)
	return server
}

func database(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "store")+"?_pragma=busy_timeout(250)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestKeysInAKMS(t *testing.T) {
	server, db := vault(t), database(t)
	transit := &kms.Transit{Client: server.Client(), URL: server.URL + "/v1/transit", Key: "tenantkit"}
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	modules := kms.Modules{"acme-1": private}
	for range 2 { // the second start unwraps what the first has wrapped
		store, err := kms.Open(t.Context(), db, transit, modules)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := store.Keys()
		if err != nil {
			t.Fatal(err)
		}
		public, err := keys.PutReference(t.Context(), "acme", app, "acme-1")
		if err != nil {
			t.Fatal(err)
		}
		minter := token.Minter{Signers: keys}
		minted, _, err := minter.Ephemeral(t.Context(), token.Claims{Issuer: app, Subject: "ann", Audience: "https://api.example.com/acme/v2"}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := jwt.Parse(string(minted), func(*jwt.Token) (any, error) { return public.Key, nil }, jwt.WithValidMethods([]string{"RS256"})); err != nil {
			t.Error(err)
		}
		if _, err := keys.PutReference(t.Context(), "acme", app, "acme-2"); !errors.Is(err, auth.ErrUnavailable) {
			t.Errorf("an unknown reference: %v", err)
		}
	}

	before, _ := sqlstore.NewWrappedSealer("2026", transit)
	next, _ := sqlstore.NewWrappedSealer("2027", transit)
	if _, err := kms.Replace(t.Context(), db, before, next); err != nil {
		t.Error(err)
	}
	if _, err := sqlstore.Open(t.Context(), db, sqlstore.SQLite, sqlstore.Options{Sealer: next}); err != nil {
		t.Errorf("with the next key alone: %v", err)
	}
	denied := &kms.Transit{Client: server.Client(), URL: server.URL + "/v1/transit", Key: "other"}
	if _, err := kms.Open(t.Context(), db, denied, nil); !errors.Is(err, auth.ErrUnavailable) || !strings.Contains(err.Error(), "403 Forbidden") {
		t.Errorf("without the right to the key: %v", err)
	}
	server.Close()
	if _, err := kms.Open(t.Context(), db, transit, nil); !errors.Is(err, auth.ErrUnavailable) {
		t.Errorf("without Vault: %v", err)
	}
}
