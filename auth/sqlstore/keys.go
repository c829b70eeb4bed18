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

// Keys keeps the key pairs that apps sign tokens with, one for each app, the
// private keys sealed. A pair that is replaced or deleted is unknown at once,
// in every instance that asks the database; put token.Cached in front, and it
// is unknown within the time stated there.
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

// pairBits is the size of what Generate makes.
const pairBits = 2048

func pairPlace(org, clientKey string) place { return place{"key pair", org, clientKey} }

// Generate gives an app a new pair of 2048 bits in place of the one it had,
// which invalidates every token of the app. Whether the app's key is exposed
// stays as it was. It returns the new public key.
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

// Put gives pair.ClientKey this pair in place of the one it had. It returns an
// error matching token.ErrBadKey for a pair that is not fit, that another app
// has, or whose private key is held elsewhere and cannot be kept here.
func (k *Keys) Put(ctx context.Context, pair *token.KeyPair) error {
	_, err := k.put(ctx, pair, `excluded.exposed`)
	return err
}

// put writes a pair, and returns whether it is exposed. One pair is put at a
// time: PostgreSQL takes a row that another statement is about to insert for
// none, and then refuses the same key id as a duplicate of that row's, where
// this app's pair is to be replaced or another app's is to be named.
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
	sealed := k.store.seal(pairPlace(pair.Org, pair.ClientKey), secret)
	err = k.store.transact(ctx, "key pairs", func(q querier) error {
		return one(ctx, q, k.store.text(`
			INSERT INTO {keys} (client_key, org, key_id, public, sealed, exposed)
			SELECT $1, $2, $3, CAST($4 AS {bytes}), CAST($5 AS {bytes}), CAST($6 AS bigint)
			WHERE NOT EXISTS (SELECT 1 FROM {keys} WHERE key_id = $3 AND client_key <> $1)
			ON CONFLICT (client_key) DO UPDATE SET org = excluded.org, key_id = excluded.key_id,
				public = excluded.public, sealed = excluded.sealed, exposed = `+exposed+`
			RETURNING exposed = 1`),
			[]any{pair.ClientKey, pair.Org, pair.KeyID, public, sealed, number(pair.Exposed)}, &isExposed)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, fmt.Errorf("%w: pair of another app", token.ErrBadKey)
	case err != nil:
		return false, fmt.Errorf("sqlstore: put a key pair: %w", err)
	}
	return isExposed, nil
}

// Delete forgets the pair of an app, which invalidates every token of the app.
// It returns token.ErrNotFound when there is none.
func (k *Keys) Delete(ctx context.Context, clientKey string) error {
	return k.change(ctx, "delete a key pair", clientKey, `DELETE FROM {keys} WHERE client_key = $1`)
}

// Expose lists the app's public key among those of its org, or no longer. It
// returns token.ErrNotFound when the app has no pair.
func (k *Keys) Expose(ctx context.Context, clientKey string, exposed bool) error {
	return k.change(ctx, "expose a key", clientKey, `UPDATE {keys} SET exposed = $2 WHERE client_key = $1`, number(exposed))
}

func (k *Keys) change(ctx context.Context, what, clientKey, statement string, args ...any) error {
	if !storable(clientKey) {
		return token.ErrNotFound
	}
	err := k.store.write(ctx, func(q querier) error {
		n, err := affected(q.ExecContext(ctx, k.store.text(statement), append([]any{clientKey}, args...)...))
		if err == nil && n == 0 {
			return token.ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlstore: %s: %w", what, err)
	}
	return nil
}

// Public implements token.Keys.
func (k *Keys) Public(ctx context.Context, kid string) (*token.PublicKey, error) {
	if !storable(kid) {
		return nil, token.ErrNotFound
	}
	var public *token.PublicKey
	err := k.store.read(ctx, func(q querier) (err error) {
		public, err = scanPublic(q.QueryRowContext(ctx, k.store.text(`SELECT `+publicText+` FROM {keys} WHERE key_id = $1`), kid).Scan)
		return err
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, token.ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("sqlstore: find a key: %w", err)
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
	err := k.store.read(ctx, func(q querier) (err error) {
		row := q.QueryRowContext(ctx, k.store.text(`SELECT `+publicText+`, sealed FROM {keys} WHERE client_key = $1`), clientKey)
		public, err = scanPublic(func(into ...any) error { return row.Scan(append(into, &sealed)...) })
		return err
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fmt.Errorf("%w: %q", token.ErrNoKeyPair, clientKey)
	case err != nil:
		return nil, fmt.Errorf("sqlstore: find a key pair: %w", err)
	}
	return k.unsealed(public, sealed)
}

func (k *Keys) unsealed(public *token.PublicKey, sealed []byte) (*token.KeyPair, error) {
	secret, err := k.store.unseal(pairPlace(public.Org, public.ClientKey), sealed)
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

// Exposed implements token.Exposed. The keys come in the order of their client
// keys.
func (k *Keys) Exposed(ctx context.Context, org string) ([]token.PublicKey, error) {
	keys := []token.PublicKey{}
	if !storable(org) {
		return keys, nil
	}
	err := k.store.read(ctx, func(q querier) error {
		keys = keys[:0]
		return each(ctx, q, k.store.text(`SELECT `+publicText+` FROM {keys} WHERE org = $1 AND exposed = 1 ORDER BY client_key`), []any{org},
			func(rows *sql.Rows) error {
				public, err := scanPublic(rows.Scan)
				if err == nil {
					keys = append(keys, *public)
				}
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: list exposed keys: %w", err)
	}
	return keys, nil
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
	// The thumbprint too: a row that was altered verifies nothing.
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
