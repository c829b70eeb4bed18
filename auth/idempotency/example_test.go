package idempotency_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/idempotency"
	"github.com/tenantkit/tenantkit/scope"
)

// aesGCM is a Sealer with one key. The store of sqlstore needs none: it seals with the store's own, whose keys can be
// replaced.
type aesGCM struct{ cipher.AEAD }

func (s aesGCM) Seal(secret, bound []byte) []byte { return s.AEAD.Seal(nil, nil, secret, bound) }

func (s aesGCM) Open(sealed, bound []byte) ([]byte, error) {
	return s.AEAD.Open(nil, nil, sealed, bound)
}

func Example() {
	key := make([]byte, 32)
	rand.Read(key)
	block, _ := aes.NewCipher(key)
	aead, _ := cipher.NewGCMWithRandomNonce(block)
	keys := idempotency.New(idempotency.NewMemory(nil), idempotency.Options{Sealer: aesGCM{aead}})

	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	ann := auth.Principal{Account: "ann", Scope: scope.Unscoped()}
	guard := &auth.Guard{BaseURL: "https://api.example.com", Directory: directory, Roles: auth.RolesDoNotLimit,
		Mechanisms: []auth.Mechanism{authtest.As(ann)}}
	mux := guard.Mux()
	payments := 0
	mux.Handle("POST /payments", auth.Allow("object.create.c_payment"), keys.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		payments++
		w.Header().Set("Location", fmt.Sprint("/acme/v2/payments/", payments))
		w.WriteHeader(http.StatusCreated)
	})))

	for range 2 {
		r := httptest.NewRequest("POST", "/acme/v2/payments", nil)
		r.Header.Set("Idempotency-Key", "order-17")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Printf("%d %s again: %t\n", w.Code, w.Header().Get("Location"), w.Header().Get("Idempotent-Replayed") == "true")
	}
	// Output:
	// 201 /acme/v2/payments/1 again: false
	// 201 /acme/v2/payments/1 again: true
}

// The response shows a secret. Of it a reference is kept: a repetition gets 409 with the Location.
func ExampleReference() {
	var keys *idempotency.Keys
	createKey := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/acme/v2/keys/1")
		auth.Reply(w, r, map[string]any{"secret": rand.Text()})
	})
	_ = func(mux *auth.Mux) {
		mux.Handle("POST /keys", auth.Allow("admin.update"), keys.Required(createKey, idempotency.Reference))
	}
}

// The rows of the application and the response are one transaction.
func ExampleCommit() {
	var db interface {
		Begin() (*Tx, error)
	}
	_ = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		idempotency.NoEffect(r.Context()) // before Commit
		tx, err := db.Begin()
		if err != nil {
			auth.Fail(w, r, err)
			return
		}
		defer tx.Rollback()
		// Here the handler writes its rows in tx.
		err = idempotency.Commit(w, r, tx, func(w http.ResponseWriter) { auth.Reply(w, r, map[string]any{"object": "payment"}) })
		if err != nil {
			auth.Fail(w, r, err)
		}
	})
}

// Tx is a *sql.Tx.
type Tx struct{}

func (*Tx) Commit() error   { return nil }
func (*Tx) Rollback() error { return nil }

// A handler that finds before its first write that it cannot do what it was asked for.
func ExampleNoEffect() {
	_ = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			idempotency.NoEffect(r.Context()) // the client may correct its request and keep its key
			auth.Fail(w, r, &auth.Error{Detail: auth.DetailBody})
		}
	})
}
