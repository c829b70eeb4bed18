// Package kms keeps the keys of a store in a KMS: the data key wrapped by the transit engine of Vault or
// OpenBao, and the private keys of tokens in an HSM.
package kms

import (
	"bytes"
	"context"
	"crypto"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/tenantkit/tenantkit/auth/sqlstore"
)

// Transit is a sqlstore.Wrapper. Its key must be of a type with associated data, such as
// aes256-gcm96, the engine's default.
type Transit struct {
	Client *http.Client // adds the token of Vault
	URL    string       // "https://vault.example.com/v1/transit"
	Key    string       // the name of the key
}

// Wrap implements sqlstore.Wrapper.
func (t *Transit) Wrap(ctx context.Context, key sqlstore.DataKey, bound string) ([]byte, error) {
	reply, err := t.call(ctx, "encrypt", transit{Plaintext: []byte(key), Bound: []byte(bound)})
	return []byte(reply.Ciphertext), err
}

// Unwrap implements sqlstore.Wrapper.
func (t *Transit) Unwrap(ctx context.Context, wrapped []byte, bound string) (sqlstore.DataKey, error) {
	reply, err := t.call(ctx, "decrypt", transit{Ciphertext: string(wrapped), Bound: []byte(bound)})
	return sqlstore.DataKey(reply.Plaintext), err
}

// transit is a request or a reply. encoding/json writes bytes in base64, as Vault reads them.
type transit struct {
	Plaintext  []byte `json:"plaintext,omitempty"`
	Ciphertext string `json:"ciphertext,omitempty"`
	Bound      []byte `json:"associated_data,omitempty"`
}

func (t *Transit) call(ctx context.Context, verb string, in transit) (out transit, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	r, err := http.NewRequestWithContext(ctx, "POST", t.URL+"/"+verb+"/"+t.Key, bytes.NewReader(body))
	if err != nil {
		return out, err
	}
	reply, err := t.Client.Do(r)
	if err != nil {
		return out, err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return out, fmt.Errorf("transit %s: %s", verb, reply.Status)
	}
	var data struct{ Data transit }
	if json.NewDecoder(io.LimitReader(reply.Body, 64<<10)).Decode(&data) != nil {
		return out, errors.New("transit " + verb + ": not the reply of Vault") // the decoder's error could quote the key
	}
	return data.Data, nil
}

// Modules are the keys in an HSM by their references, such as those that a PKCS #11 library has found.
type Modules map[string]crypto.Signer

// Open opens a store without a key in its configuration.
func Open(ctx context.Context, db *sql.DB, vault *Transit, modules Modules) (*sqlstore.Store, error) {
	sealer, err := sqlstore.NewWrappedSealer("2026", vault)
	if err != nil {
		return nil, err
	}
	return sqlstore.Open(ctx, db, sqlstore.SQLite, sqlstore.Options{
		Sealer: sealer,
		Signer: func(_ context.Context, reference string) (crypto.Signer, error) {
			return modules[reference], nil // nil: unknown
		},
	})
}

// Replace is the second step of replacing a data key. All instances run with
// before.WithOld(next) by then.
func Replace(ctx context.Context, db *sql.DB, before, next *sqlstore.Sealer) (*sqlstore.Store, error) {
	store, err := sqlstore.Open(ctx, db, sqlstore.SQLite, sqlstore.Options{Sealer: next.WithOld(before)})
	if err != nil {
		return nil, err
	}
	return store, store.Reseal(ctx) // once no instance seals with the key before
}
