package sqlstore

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/internal/face"
	"github.com/tenantkit/tenantkit/internal/verbs"
	"github.com/tenantkit/tenantkit/signing"
)

// Credentials stores sealed signing secrets and public keys, with the restrictions of
// their client keys. A change is effective at once, in every instance. A client key belongs to the
// org that has put it, until Delete; to all other orgs it does not exist.
//
// Each look-up reads the database and opens the secrets, which are kept nowhere.
type Credentials struct{ store *Store }

// Credentials returns the store's signing secrets, or ErrNoSealer.
func (s *Store) Credentials() (*Credentials, error) { return sealing(s, &Credentials{s}) }

var _ signature.Credentials = (*Credentials)(nil)

// Create makes a client key and its secret. The secret is returned only here.
// Restrictions are those of the argument, whose Key is ignored.
func (c *Credentials) Create(ctx context.Context, org auth.OrgKey, restrictions signature.Credential) (clientKey string, secret signing.Secret, err error) {
	clientKey, secret = signing.Generate()
	if err := c.Put(ctx, org, clientKey, secret, restrictions); err != nil {
		return "", "", err
	}
	return clientKey, secret, nil
}

// Put stores a credential that was made elsewhere; signing.NewKey must accept its
// client key and secret. It replaces the client key's present credential: no earlier
// secret verifies any more. The Key of restrictions is ignored. If another org has the
// client key, Put changes nothing and returns auth.ErrConflict.
func (c *Credentials) Put(ctx context.Context, org auth.OrgKey, clientKey string, secret signing.Secret, restrictions signature.Credential) error {
	if _, err := signing.NewKey(clientKey, secret); err != nil {
		return err
	}
	return c.put(ctx, org, clientKey, string(secret), restrictions)
}

// PutPublicKey stores a credential whose client signs with Ed25519 keys, and of which
// the store keeps no secret. Make the client key with signing.Generate. There is more
// than one public key during a rotation, which Restrict begins and ends without a change
// of the restrictions. Otherwise PutPublicKey does what Put does.
func (c *Credentials) PutPublicKey(ctx context.Context, org auth.OrgKey, clientKey string, restrictions signature.Credential, keys ...ed25519.PublicKey) error {
	_, any := signing.Generate()
	if _, err := signing.NewKey(clientKey, any); err != nil { // the shape of the client key
		return err
	}
	if _, err := signing.NewPublicKey(clientKey, keys...); err != nil {
		return err
	}
	return c.put(ctx, org, clientKey, publicKeysText(keys), restrictions)
}

// put stores the text of a secret, or that of public keys. Public keys are sealed too:
// nobody who can only write to the database can give a client key another one.
func (c *Credentials) put(ctx context.Context, org auth.OrgKey, clientKey, text string, restrictions signature.Credential) error {
	if restrictions.Created.IsZero() {
		restrictions.Created = time.Now()
	}
	restrictions.Created = restrictions.Created.UTC().Truncate(time.Millisecond)
	rules, err := restrictionsText(restrictions)
	if err != nil {
		return failed("put a credential", err)
	}
	sealed := c.store.seal(location{signingSecret, org, clientKey}, []byte(text))
	return c.replace(ctx, "put a credential", auth.Event{Verb: verbs.CredentialMade, Org: org, Account: restrictions.Account}, auth.ErrConflict, `
		INSERT INTO {credentials} (client_key, org, version, sealed, restrictions) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (client_key) DO UPDATE SET version = excluded.version, sealed = excluded.sealed,
			restrictions = excluded.restrictions, seen = 0, seen_from = '' WHERE {credentials}.org = excluded.org`,
		clientKey, org, rand.Text(), sealed, rules)
}

// maxFormers limits the cost of a request: one MAC for each live secret.
const maxFormers = 8

// Rotate gives a client key a new secret and returns it. The present secret becomes a
// former one and verifies for grace longer. Earlier former secrets keep their ends, so
// a repeated rotation locks no client out. With a grace of 0 or less no earlier secret
// verifies any more, which is right after a leak.
//
// A client key keeps at most 8 former secrets; beyond that, the former secret with the
// earliest end is dropped. Rotate returns auth.ErrNotFound if the org has no such client
// key, and an error for one with public keys: Restrict replaces those.
func (c *Credentials) Rotate(ctx context.Context, org auth.OrgKey, clientKey string, grace time.Duration) (signing.Secret, error) {
	_, secret := signing.Generate()
	formers := maxFormers
	if grace <= 0 {
		formers = 0
	}
	err := c.change(ctx, "rotate a secret", auth.Event{Verb: verbs.CredentialReplaced, Org: org}, clientKey, func(q conn) error {
		version := rand.Text()
		var sealed []byte
		// This is the first statement because it locks the row. A concurrent Reseal then
		// comes before it or after it.
		err := q.one(ctx, `UPDATE {credentials} SET version = $2 WHERE client_key = $1 AND org = $3 RETURNING sealed`,
			[]any{clientKey, version, org}, &sealed)
		if err != nil {
			return found(err, auth.ErrNotFound)
		}
		former, err := c.store.unseal(location{signingSecret, org, clientKey}, sealed)
		if err == nil && isPublic(former) { // one that cannot be opened is no secret either
			return errPublic
		}
		_, err = q.exec(ctx, `INSERT INTO {formers} (client_key, id, org, ends, sealed) VALUES ($1, $2, $3, {now} + $4, $5)`,
			clientKey, version, org, grace.Milliseconds(), sealed)
		if err == nil {
			_, err = q.exec(ctx, `UPDATE {credentials} SET sealed = $2 WHERE client_key = $1`,
				clientKey, c.store.seal(location{signingSecret, org, clientKey}, []byte(secret)))
		}
		if err != nil {
			return err
		}
		return keepFormers(ctx, q, clientKey, formers)
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

// keepFormers deletes the client key's former secrets that have ended. Of the others it
// keeps those with the latest ends, at most most.
func keepFormers(ctx context.Context, q conn, clientKey string, most int) error {
	_, err := q.exec(ctx, `
		DELETE FROM {formers} WHERE client_key = $1 AND id NOT IN (
			SELECT id FROM {formers} WHERE client_key = $1 AND ends > {now} ORDER BY ends DESC LIMIT $2)`,
		clientKey, most)
	return err
}

// Restrict changes the restrictions of a client key in one atomic step. alter changes a
// copy of the present credential. It leaves the Key as it is, or replaces it by one of
// signing.NewPublicKey. No earlier secret or public key then verifies any more. Restrict
// calls alter again if another call has changed the row meanwhile. If alter fails,
// Restrict returns its error unchanged and changes nothing. Restrict returns
// auth.ErrNotFound if the org has no such client key.
func (c *Credentials) Restrict(ctx context.Context, org auth.OrgKey, clientKey string, alter func(*signature.Credential) error) error {
	for {
		before, err := c.find(ctx, clientKey)
		if err == nil && before.org != org {
			err = auth.ErrNotFound
		}
		if err != nil {
			return failed("restrict a credential", err)
		}
		after := *before.Credential
		if err := alter(&after); err != nil {
			return err
		}
		err = c.restrict(ctx, before, after)
		if !errors.Is(err, errChanged) {
			return failed("restrict a credential", err)
		}
	}
}

var errChanged = errors.New("another call has changed the row")

// restrict updates the row only if it still has its version, and so the same org.
// Otherwise it returns errChanged. A Key that alter has set to nil stays what it is.
func (c *Credentials) restrict(ctx context.Context, before storedCredential, after signature.Credential) error {
	const text = `UPDATE {credentials} SET version = $3, restrictions = $4 WHERE client_key = $1 AND version = $2`
	rules, err := restrictionsText(after)
	if err != nil {
		return err
	}
	clientKey, replaced := before.Key.ClientKey(), after.Key != nil && after.Key != before.Key
	e := auth.Event{Verb: verbs.CredentialRestricted, Org: before.org, App: clientKey, Account: after.Account}
	if !replaced {
		n, err := c.store.record(ctx, e, text, clientKey, before.version, rand.Text(), rules)
		return changed(n, err, errChanged)
	}
	keys := after.Key.PublicKeys()
	if len(keys) == 0 || after.Key.ClientKey() != clientKey {
		return errors.New("a Key may only be replaced by public keys of the same client key")
	}
	e.Verb = verbs.CredentialReplaced
	sealed := c.store.seal(location{signingSecret, before.org, clientKey}, []byte(publicKeysText(keys)))
	return c.replace(ctx, "replace a key", e, errChanged, strings.Replace(text, "SET ", "SET sealed = $5, ", 1),
		clientKey, before.version, rand.Text(), rules, sealed)
}

// Delete deletes a client key with its secrets. It returns auth.ErrNotFound if the org
// has no such client key.
func (c *Credentials) Delete(ctx context.Context, org auth.OrgKey, clientKey string) error {
	return c.replace(ctx, "delete a credential", auth.Event{Verb: verbs.CredentialEnded, Org: org}, auth.ErrNotFound,
		`DELETE FROM {credentials} WHERE client_key = $1 AND org = $2`, clientKey, org)
}

// replace runs a statement about a client key, its first argument, and deletes the former secrets. If
// the statement changes no row, replace returns none.
func (c *Credentials) replace(ctx context.Context, what string, e auth.Event, none error, text string, args ...any) error {
	clientKey := args[0].(string)
	return c.change(ctx, what, e, clientKey, func(q conn) error {
		n, err := q.exec(ctx, text, args...)
		if err := changed(n, err, none); err != nil {
			return err
		}
		return keepFormers(ctx, q, clientKey, 0)
	})
}

// change runs f in a transaction, whose audit entry is e. Transactions for one client key run one at a time.
func (c *Credentials) change(ctx context.Context, what string, e auth.Event, clientKey string, f func(conn) error) error {
	e.App = clientKey
	return failed(what, c.store.noted(ctx, e, f, "credential\x00"+clientKey))
}

// Credential implements signature.Credentials.
func (c *Credentials) Credential(ctx context.Context, clientKey string) (*signature.Credential, error) {
	found, err := c.find(ctx, clientKey)
	return found.Credential, failed("find a credential", err)
}

// See implements signature.Seeing.
func (c *Credentials) See(ctx context.Context, clientKey string, at time.Time, from netip.Addr) {
	c.store.see(ctx, `UPDATE {credentials} SET seen = $2, seen_from = $3 WHERE client_key = $4 AND seen <= $1`, face.At(at, from), clientKey)
}

// find returns a credential, or auth.ErrNotFound.
func (c *Credentials) find(ctx context.Context, clientKey string) (storedCredential, error) {
	all, err := c.stored(ctx, credentialText, clientKey)
	if err != nil || len(all) == 0 {
		return storedCredential{}, cmp.Or(err, auth.ErrNotFound)
	}
	return all[0], nil
}

// maxList limits what one List reads and unseals.
const maxList = 1000

// List returns credentials of an org in the order of their client keys, byte by byte. It
// begins after the client key after, or with the first one if after is empty, and
// returns at most limit of them: 1 to 1000. For the next ones, call it again with the
// last client key. The credentials hold their secrets, which print REDACTED. If one cannot
// be read, List returns its error and no credential.
func (c *Credentials) List(ctx context.Context, org auth.OrgKey, after string, limit int) ([]*signature.Credential, error) {
	if limit < 1 || limit > maxList {
		return nil, errors.New("sqlstore: list credentials: the limit is not 1 to 1000")
	}
	all, err := c.stored(ctx, ofOrgText, org, after, limit)
	if err != nil {
		return nil, failed("list credentials", err)
	}
	list := make([]*signature.Credential, len(all))
	for i, one := range all {
		list[i] = one.Credential
	}
	return list, nil
}
