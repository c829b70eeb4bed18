package sqlstore

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/verbs"
	"github.com/tenantkit/tenantkit/token"
)

// Keys stores the key pairs with which apps sign tokens, one for each app, with sealed
// private keys, and former public keys that still verify. A replaced or deleted pair is
// unknown at once, in every instance that reads the database, and so are the former keys
// of its app. With token.Cached in front, it is unknown within the time documented
// there. A client key belongs to the org that gave it a pair first, until Delete; to all
// other orgs it does not exist.
type Keys struct{ store *Store }

// Keys returns the store's key pairs, or ErrNoSealer.
func (s *Store) Keys() (*Keys, error) { return sealing(s, &Keys{s}) }

var (
	_ token.Keys    = (*Keys)(nil)
	_ token.Signers = (*Keys)(nil)
	_ token.Exposed = (*Keys)(nil)
)

// pairBits is the size of the pairs that Generate makes.
const pairBits = 2048

// Generate gives an app a new pair of 2048 bits in place of its present pair and of all
// former keys. That invalidates every token of the app. The app's key stays exposed if it
// was. Generate returns the new public key. The error matches token.ErrBadKey for a
// client key of another shape, or of another org; nothing is changed then.
func (k *Keys) Generate(ctx context.Context, org auth.OrgKey, clientKey string) (*token.PublicKey, error) {
	pair, err := token.GeneratePair(pairBits)
	return k.replace(ctx, org, clientKey, pair, err)
}

func (k *Keys) replace(ctx context.Context, org auth.OrgKey, clientKey string, pair *token.KeyPair, err error) (*token.PublicKey, error) {
	if err != nil {
		return nil, err
	}
	pair.ClientKey, pair.Org = clientKey, org
	if pair.Exposed, err = k.put(ctx, pair, `{keys}.exposed`); err != nil {
		return nil, err
	}
	return &pair.PublicKey, nil
}

// Ensure returns the public key of an app's present pair, and gives the app a new pair of 2048 bits
// if it has none. It is one atomic step: of all calls for an app without a pair one makes it, and
// all return the same key. It never ends a token. The error matches token.ErrBadKey for a client key
// of another shape, or of another org.
func (k *Keys) Ensure(ctx context.Context, org auth.OrgKey, clientKey string) (*token.PublicKey, error) {
	public, err := k.present(ctx, org, clientKey)
	if public != nil || err != nil {
		return public, failed("find a key pair", err)
	}
	pair, err := token.GeneratePair(pairBits)
	if err != nil {
		return nil, err
	}
	pair.ClientKey, pair.Org = clientKey, org
	der, sealed, err := k.encode(pair)
	for public == nil && err == nil {
		// No other app can have this key id: the pair is new. So pairsLock is not needed.
		_, err = k.store.record(ctx, auth.Event{Verb: verbs.KeyPairMade, Org: org, App: clientKey}, `
			INSERT INTO {keys} (client_key, org, key_id, public, sealed, exposed) VALUES ($1, $2, $3, $4, $5, 0)
			ON CONFLICT (client_key) DO NOTHING`, clientKey, org, pair.KeyID, der, sealed)
		if err == nil {
			public, err = k.present(ctx, org, clientKey) // none if it was deleted since
		}
	}
	return public, failed("ensure a key pair", err)
}

// present returns the present key of an app, or nil if it has none.
func (k *Keys) present(ctx context.Context, org auth.OrgKey, clientKey string) (public *token.PublicKey, err error) {
	p, err := get(ctx, k.store, presentText+`WHERE k.client_key = $1`, []any{clientKey}, onePublic)
	switch {
	case err != nil:
		return nil, found(err, nil)
	case p.Org != org:
		return nil, fmt.Errorf("%w: client key of another org", token.ErrBadKey)
	}
	return &p, nil
}

// Put stores pair as the one pair of pair.ClientKey, in place of its present pair and of
// all former keys. That invalidates every token of the app. It changes nothing and
// returns an error that matches token.ErrBadKey for an unfit pair, for a pair of another
// app, and for a client key of another org. So it does if the Signer is no
// *rsa.PrivateKey: for a key in an HSM, use PutReference.
func (k *Keys) Put(ctx context.Context, pair *token.KeyPair) error {
	_, err := k.put(ctx, pair, `excluded.exposed`)
	return err
}

// encode returns a pair as the columns of {keys} hold it.
func (k *Keys) encode(pair *token.KeyPair) (public, sealed []byte, err error) {
	if err := pair.Validate(); err != nil {
		return nil, nil, err
	}
	var secret []byte
	switch signer := pair.Signer.(type) {
	case *referenced:
		secret = append(bytes.Clone(referencePrefix), signer.reference...)
	case *rsa.PrivateKey:
		secret, err = x509.MarshalPKCS8PrivateKey(signer)
	default:
		err = errors.New("private key is not at hand")
	}
	if err == nil {
		public, err = x509.MarshalPKIXPublicKey(pair.Key)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %v", token.ErrBadKey, err)
	}
	return public, k.store.seal(location{keyPair, pair.Org, pair.ClientKey}, secret), nil
}

// isOf is the condition that the row f of {former_keys} verifies beside the row k.
const isOf = `f.client_key = k.client_key AND f.present = k.key_id AND f.ends > {now}`

// put stores a pair and returns whether it is exposed.
func (k *Keys) put(ctx context.Context, pair *token.KeyPair, exposed string) (isExposed bool, err error) {
	public, sealed, err := k.encode(pair)
	if err != nil {
		return false, err
	}
	err = k.store.noted(ctx, auth.Event{Verb: verbs.KeyPairMade, Org: pair.Org, App: pair.ClientKey}, func(q conn) error {
		if err := k.keepReference(ctx, q, pair); err != nil {
			return err
		}
		err := q.one(ctx, `
			INSERT INTO {keys} (client_key, org, key_id, public, sealed, exposed)
			SELECT $1, $2, $3, CAST($4 AS {bytes}), CAST($5 AS {bytes}), CAST($6 AS bigint)
			WHERE NOT EXISTS (SELECT 1 FROM {keys} WHERE key_id = $3 AND client_key <> $1)
			AND NOT EXISTS (SELECT 1 FROM {former_keys} AS f JOIN {keys} AS k ON `+isOf+` WHERE f.key_id = $3 AND f.client_key <> $1)
			ON CONFLICT (client_key) DO UPDATE SET key_id = excluded.key_id,
				public = excluded.public, sealed = excluded.sealed, exposed = `+exposed+` WHERE {keys}.org = excluded.org
			RETURNING exposed = 1`,
			[]any{pair.ClientKey, pair.Org, pair.KeyID, public, sealed, number(pair.Exposed)}, &isExposed)
		if err != nil {
			return found(err, fmt.Errorf("%w: pair of another app, or client key of another org", token.ErrBadKey))
		}
		_, err = q.exec(ctx, `DELETE FROM {former_keys} WHERE client_key = $1 OR key_id = $2`, pair.ClientKey, pair.KeyID)
		return err
	}, pairsLock)
	return isExposed, failed("put a key pair", err)
}

// pairsLock is the name of the lock of all changes of key pairs. They run one at a time, because
// PostgreSQL does not see a row that a concurrent statement is inserting. It would then refuse the key id
// as a duplicate. But put must replace the pair of the same app, and return ErrBadKey for
// a pair of another app.
const pairsLock = "key pairs"

// Rotate gives an app a new pair of 2048 bits, which signs from now on. The public key of
// its present pair becomes a former key: it verifies until overlap has passed, by the
// engine's clock. The app's keys stay exposed if they were. Rotate is one atomic step. It
// returns the new public key, and changes nothing if it returns one of these errors:
//
//   - token.ErrOverlap if overlap is not 1 second to token.MaxOverlap; for no overlap,
//     use Generate;
//   - token.ErrNotFound if the org has no app of this client key with a pair;
//   - token.ErrFormers if the app has token.MaxFormers former keys that still verify. To
//     drop one of them would invalidate tokens before the stated end.
//
// It costs what token.GeneratePair costs, and so does Generate.
func (k *Keys) Rotate(ctx context.Context, org auth.OrgKey, clientKey string, overlap time.Duration) (*token.PublicKey, error) {
	return k.rotate(ctx, org, clientKey, overlap, func() (*token.KeyPair, error) { return token.GeneratePair(pairBits) })
}

func (k *Keys) rotate(ctx context.Context, org auth.OrgKey, clientKey string, overlap time.Duration, next func() (*token.KeyPair, error)) (*token.PublicKey, error) {
	if err := token.CheckOverlap(overlap); err != nil {
		return nil, err
	}
	pair, err := next()
	if err != nil {
		return nil, err
	}
	pair.ClientKey, pair.Org = clientKey, org
	public, sealed, err := k.encode(pair)
	if err != nil {
		return nil, token.ErrNotFound // no app has a client key of this shape
	}
	err = k.store.noted(ctx, auth.Event{Verb: verbs.KeyPairRotated, Org: org, App: clientKey}, func(q conn) error {
		if err := k.makeFormer(ctx, q, pair, overlap); err != nil {
			return err
		}
		_, err := q.exec(ctx, `UPDATE {keys} SET key_id = $2, public = $3, sealed = $4 WHERE client_key = $1`, clientKey, pair.KeyID, public, sealed)
		return err
	}, pairsLock)
	if err != nil {
		return nil, failed("rotate a key pair", err)
	}
	return &pair.PublicKey, nil
}

// makeFormer makes the app's present key a former one of pair, and exposes pair if that key is exposed.
func (k *Keys) makeFormer(ctx context.Context, q conn, pair *token.KeyPair, overlap time.Duration) error {
	if err := k.keepReference(ctx, q, pair); err != nil {
		return err
	}
	// This statement comes before other changes because it locks the row, also against a program that
	// does not hold pairsLock.
	var present string
	var public []byte
	err := q.one(ctx, `UPDATE {keys} SET exposed = exposed WHERE client_key = $1 AND org = $2 RETURNING key_id, exposed = 1, public`,
		[]any{pair.ClientKey, pair.Org}, &present, &pair.Exposed, &public)
	if err != nil {
		return found(err, token.ErrNotFound)
	}
	// Delete what does not verify any more. A key that was beside another pair must not
	// verify again beside the new one.
	var n int64
	_, err = q.exec(ctx, `DELETE FROM {former_keys} WHERE client_key = $1 AND (ends <= {now} OR present <> $2)`, pair.ClientKey, present)
	if err == nil {
		n, err = q.exec(ctx, `UPDATE {former_keys} SET present = $2 WHERE client_key = $1`, pair.ClientKey, pair.KeyID)
	}
	if err == nil && n >= token.MaxFormers {
		err = token.ErrFormers
	}
	if err == nil {
		_, err = q.exec(ctx, `INSERT INTO {former_keys} (key_id, client_key, present, public, ends) VALUES ($1, $2, $3, $4, {now} + $5)`,
			present, pair.ClientKey, pair.KeyID, public, overlap.Milliseconds())
	}
	return err
}

// Delete deletes an app's pair and its former keys. That invalidates every token of the
// app. It returns token.ErrNotFound if the org has no app of this client key with a pair.
func (k *Keys) Delete(ctx context.Context, org auth.OrgKey, clientKey string) error {
	return failed("delete a key pair", k.store.noted(ctx, auth.Event{Verb: verbs.KeyPairDeleted, Org: org, App: clientKey}, func(q conn) error {
		n, err := q.exec(ctx, `DELETE FROM {keys} WHERE client_key = $1 AND org = $2`, clientKey, org)
		if err := changed(n, err, token.ErrNotFound); err != nil {
			return err
		}
		_, err = q.exec(ctx, `DELETE FROM {former_keys} WHERE client_key = $1`, clientKey)
		return err
	}, pairsLock))
}

// Expose adds the app's public keys, the present one and the former ones, to the exposed
// keys of its org, or removes them if exposed is false. It returns token.ErrNotFound if
// the org has no app of this client key with a pair.
func (k *Keys) Expose(ctx context.Context, org auth.OrgKey, clientKey string, exposed bool) error {
	e := auth.Event{Verb: verbs.KeyPairExposed, Org: org, App: clientKey}
	if !exposed {
		e.Reason = "hidden"
	}
	n, err := k.store.record(ctx, e, `UPDATE {keys} SET exposed = $3 WHERE client_key = $1 AND org = $2`, clientKey, org, number(exposed))
	return failed("expose a key", changed(n, err, token.ErrNotFound))
}

const (
	presentText = `SELECT k.client_key, k.org, k.key_id, k.exposed = 1, k.public, NULL AS ends FROM {keys} AS k `
	formerText  = `SELECT k.client_key, k.org, f.key_id, k.exposed = 1, f.public, f.ends FROM {former_keys} AS f JOIN {keys} AS k ON ` + isOf + ` `

	publicText = presentText + `WHERE k.key_id = $1 UNION ALL ` + formerText + `WHERE f.key_id = $1`
	signerText = `
		SELECT k.client_key, k.org, k.key_id, k.exposed = 1, k.public, NULL, k.sealed, f.key_id
		FROM {keys} AS k LEFT JOIN {former_keys} AS f ON ` + isOf + ` WHERE k.client_key = $1`
	exposedText = presentText + `WHERE k.org = $1 AND k.exposed = 1 UNION ALL ` + formerText + `WHERE k.org = $1 AND k.exposed = 1
		ORDER BY 1, 6 DESC NULLS FIRST, 3`
)

// Public implements token.Keys.
func (k *Keys) Public(ctx context.Context, kid string) (*token.PublicKey, error) {
	p, err := get(ctx, k.store, publicText, []any{kid}, onePublic)
	if err != nil {
		return nil, failed("find a key", found(err, token.ErrNotFound))
	}
	return &p, nil
}

// Signer implements token.Signers.
func (k *Keys) Signer(ctx context.Context, clientKey string) (*token.KeyPair, error) {
	pair := &token.KeyPair{}
	var sealed []byte // as the pair, the same in each row
	formers, err := list(ctx, k.store, signerText, []any{clientKey}, func(rows *sql.Rows) (former sql.NullString, err error) {
		pair.PublicKey, err = publicOf(rows, &sealed, &former)
		return former, err
	})
	switch {
	case err != nil:
		return nil, failed("find a key pair", err)
	case len(formers) == 0:
		return nil, fmt.Errorf("%w: %q", token.ErrNoKeyPair, clientKey)
	}
	for _, former := range formers {
		if former.Valid {
			pair.Former = append(pair.Former, former.String)
		}
	}
	secret, err := k.store.unseal(location{keyPair, pair.Org, pair.ClientKey}, sealed)
	if err == nil {
		pair.Signer, err = k.signerIn(ctx, secret)
	}
	if err == nil && !pair.Key.Equal(pair.Signer.Public()) {
		err = fmt.Errorf("the private key of %q is not that of its public key", pair.ClientKey)
	}
	if err != nil {
		return nil, failed("find a key pair", err)
	}
	return pair, nil
}

// Exposed implements token.Exposed. The keys are in the order of their client keys. The
// present key of an app comes first, and then its former keys, the latest end first.
func (k *Keys) Exposed(ctx context.Context, org auth.OrgKey) ([]token.PublicKey, error) {
	keys, err := list(ctx, k.store, exposedText, []any{org}, onePublic)
	return keys, failed("list exposed keys", err)
}

// publicOf scans the columns of presentText, and then more.
func publicOf(rows *sql.Rows, more ...any) (p token.PublicKey, err error) {
	var der []byte
	if err := rows.Scan(append([]any{&p.ClientKey, &p.Org, &p.KeyID, &p.Exposed, &der, millis(&p.Ends)}, more...)...); err != nil {
		return p, err
	}
	key, _ := x509.ParsePKIXPublicKey(der)
	p.Key, _ = key.(*rsa.PublicKey)
	return p, p.Validate() // no other key is valid; also checks the thumbprint: an altered row verifies nothing
}

func onePublic(rows *sql.Rows) (token.PublicKey, error) { return publicOf(rows) }

func number(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}
