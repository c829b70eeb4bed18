package sqlstore

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"

	"github.com/tenantkit/tenantkit/token"
)

// Keys stores the key pairs with which apps sign tokens, one for each app, with sealed
// private keys. A replaced or deleted pair is unknown at once, in every instance that
// reads the database. With token.Cached in front, it is unknown within the time
// documented there.
type Keys struct{ store *Store }

// Keys returns the store's key pairs, or ErrNoSealer.
func (s *Store) Keys() (*Keys, error) {
	if err := s.keepsSecrets(); err != nil {
		return nil, err
	}
	return &Keys{s}, nil
}

var (
	_ token.Keys    = (*Keys)(nil)
	_ token.Signers = (*Keys)(nil)
	_ token.Exposed = (*Keys)(nil)
)

// pairBits is the size of the pairs that Generate makes.
const pairBits = 2048

func pairLocation(org, clientKey string) location { return location{"key pair", org, clientKey} }

// Generate replaces an app's pair by a new one of 2048 bits. That invalidates every
// token of the app. The app's key stays exposed if it was. Generate returns the new
// public key.
func (k *Keys) Generate(ctx context.Context, org, clientKey string) (*token.PublicKey, error) {
	pair, err := token.GeneratePair(pairBits)
	if err != nil {
		return nil, err
	}
	pair.ClientKey, pair.Org = clientKey, org
	if pair.Exposed, err = k.put(ctx, pair, `{keys}.exposed`); err != nil {
		return nil, err
	}
	return &pair.PublicKey, nil
}

// Put stores pair as the one pair of pair.ClientKey and replaces its present pair. It
// returns an error that matches token.ErrBadKey for an unfit pair and for a pair of
// another app. So it does if the Signer is no *rsa.PrivateKey, such as a key in an HSM.
func (k *Keys) Put(ctx context.Context, pair *token.KeyPair) error {
	_, err := k.put(ctx, pair, `excluded.exposed`)
	return err
}

// put stores a pair and returns whether it is exposed. Calls of put run one at a time,
// because PostgreSQL does not see a row that a concurrent statement is inserting. It
// would then refuse the key id as a duplicate. But put must replace the pair of the
// same app, and return ErrBadKey for a pair of another app.
func (k *Keys) put(ctx context.Context, pair *token.KeyPair, exposed string) (isExposed bool, err error) {
	if err := pair.Validate(); err != nil {
		return false, err
	}
	private, ok := pair.Signer.(*rsa.PrivateKey)
	if !ok {
		return false, fmt.Errorf("%w: private key is not at hand", token.ErrBadKey)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return false, fmt.Errorf("%w: %v", token.ErrBadKey, err)
	}
	public, err := x509.MarshalPKIXPublicKey(pair.Key)
	if err != nil {
		return false, fmt.Errorf("%w: %v", token.ErrBadKey, err)
	}
	sealed := k.store.seal(pairLocation(pair.Org, pair.ClientKey), secret)
	err = k.store.transact(ctx, "key pairs", func(q conn) error {
		return q.one(ctx, `
			INSERT INTO {keys} (client_key, org, key_id, public, sealed, exposed)
			SELECT $1, $2, $3, CAST($4 AS {bytes}), CAST($5 AS {bytes}), CAST($6 AS bigint)
			WHERE NOT EXISTS (SELECT 1 FROM {keys} WHERE key_id = $3 AND client_key <> $1)
			ON CONFLICT (client_key) DO UPDATE SET org = excluded.org, key_id = excluded.key_id,
				public = excluded.public, sealed = excluded.sealed, exposed = `+exposed+`
			RETURNING exposed = 1`,
			[]any{pair.ClientKey, pair.Org, pair.KeyID, public, sealed, number(pair.Exposed)}, &isExposed)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, fmt.Errorf("%w: pair of another app", token.ErrBadKey)
	case err != nil:
		return false, failed("put a key pair", err)
	}
	return isExposed, nil
}

// Delete deletes an app's pair. That invalidates every token of the app. It returns
// token.ErrNotFound if the app has no pair.
func (k *Keys) Delete(ctx context.Context, clientKey string) error {
	return k.change(ctx, "delete a key pair", clientKey, `DELETE FROM {keys} WHERE client_key = $1`)
}

// Expose adds the app's public key to the exposed keys of its org, or removes it if
// exposed is false. It returns token.ErrNotFound if the app has no pair.
func (k *Keys) Expose(ctx context.Context, clientKey string, exposed bool) error {
	return k.change(ctx, "expose a key", clientKey, `UPDATE {keys} SET exposed = $2 WHERE client_key = $1`, number(exposed))
}

func (k *Keys) change(ctx context.Context, what, clientKey, statement string, args ...any) error {
	if !storable(clientKey) {
		return token.ErrNotFound
	}
	n, err := k.store.exec(ctx, statement, append([]any{clientKey}, args...)...)
	return failed(what, changed(n, err, token.ErrNotFound))
}

// Public implements token.Keys.
func (k *Keys) Public(ctx context.Context, kid string) (*token.PublicKey, error) {
	if !storable(kid) {
		return nil, token.ErrNotFound
	}
	var public *token.PublicKey
	err := k.store.read(ctx, func(q conn) (err error) {
		public, err = scanPublic(q.row(ctx, `SELECT `+publicText+` FROM {keys} WHERE key_id = $1`, kid).Scan)
		return err
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, token.ErrNotFound
	case err != nil:
		return nil, failed("find a key", err)
	}
	return public, nil
}

// Signer implements token.Signers.
func (k *Keys) Signer(ctx context.Context, clientKey string) (*token.KeyPair, error) {
	if !storable(clientKey) {
		return nil, token.ErrNoKeyPair
	}
	var public *token.PublicKey
	var sealed []byte
	err := k.store.read(ctx, func(q conn) (err error) {
		row := q.row(ctx, `SELECT `+publicText+`, sealed FROM {keys} WHERE client_key = $1`, clientKey)
		public, err = scanPublic(func(into ...any) error { return row.Scan(append(into, &sealed)...) })
		return err
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fmt.Errorf("%w: %q", token.ErrNoKeyPair, clientKey)
	case err != nil:
		return nil, failed("find a key pair", err)
	}
	return k.unsealed(public, sealed)
}

func (k *Keys) unsealed(public *token.PublicKey, sealed []byte) (*token.KeyPair, error) {
	secret, err := k.store.unseal(pairLocation(public.Org, public.ClientKey), sealed)
	if err != nil {
		return nil, err
	}
	private, err := x509.ParsePKCS8PrivateKey(secret)
	if err != nil {
		return nil, errors.New("sqlstore: a private key cannot be read")
	}
	signer, ok := private.(crypto.Signer)
	if !ok {
		return nil, errors.New("sqlstore: a private key cannot sign")
	}
	pair := &token.KeyPair{PublicKey: *public, Signer: signer}
	if !pair.Key.Equal(signer.Public()) {
		return nil, errors.New("sqlstore: a private key is not that of its public key")
	}
	return pair, nil
}

// Exposed implements token.Exposed. The keys are in the order of their client keys.
func (k *Keys) Exposed(ctx context.Context, org string) ([]token.PublicKey, error) {
	if !storable(org) {
		return []token.PublicKey{}, nil
	}
	keys, err := list(ctx, k.store, `SELECT `+publicText+` FROM {keys} WHERE org = $1 AND exposed = 1 ORDER BY client_key`, []any{org},
		func(rows *sql.Rows) (token.PublicKey, error) {
			public, err := scanPublic(rows.Scan)
			if err != nil {
				return token.PublicKey{}, err
			}
			return *public, nil
		})
	return keys, failed("list exposed keys", err)
}

const publicText = `client_key, org, key_id, exposed = 1, public`

func scanPublic(scan func(...any) error) (*token.PublicKey, error) {
	p := &token.PublicKey{}
	var der []byte
	if err := scan(&p.ClientKey, &p.Org, &p.KeyID, &p.Exposed, &der); err != nil {
		return nil, err
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, err
	}
	var ok bool
	if p.Key, ok = key.(*rsa.PublicKey); !ok {
		return nil, token.ErrBadKey
	}
	// Validate also checks the thumbprint: an altered row verifies nothing.
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return p, nil
}

func number(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}
