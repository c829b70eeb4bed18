package sqlstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
)

// Credentials keeps signing secrets, sealed, with the restrictions of their
// keys. A change holds at once, in every instance.
//
// Each look-up asks the database. What it has found is built into a
// signature.Credential once and returned again while the row is unchanged; the
// 8192 of them that are kept hold their secrets in memory.
type Credentials struct {
	store *Store
	built built
}

// Credentials returns the store's signing secrets, or ErrNoSealer. Call it once:
// each value remembers by itself what it has built.
func (s *Store) Credentials() (*Credentials, error) {
	if err := s.keepsSecrets(); err != nil {
		return nil, err
	}
	return &Credentials{store: s}, nil
}

var _ signature.Credentials = (*Credentials)(nil)

func secretPlace(org, clientKey string) place { return place{"signing secret", org, clientKey} }

// Create makes a client key with its secret, which is shown nowhere else.
// Restrictions are those of c, whose Key is ignored.
func (c *Credentials) Create(ctx context.Context, org string, restrictions signature.Credential) (clientKey string, secret signing.Secret, err error) {
	clientKey, secret = signing.Generate()
	if err := c.Put(ctx, org, clientKey, secret, restrictions); err != nil {
		return "", "", err
	}
	return clientKey, secret, nil
}

// Put keeps a credential that was made elsewhere, of the shape that
// signing.NewKey takes, in place of the one there was; no earlier secret
// verifies any more. The Key of restrictions is ignored.
func (c *Credentials) Put(ctx context.Context, org, clientKey string, secret signing.Secret, restrictions signature.Credential) error {
	if _, err := signing.NewKey(clientKey, secret); err != nil {
		return err
	}
	rules, err := json.Marshal(newRules(restrictions))
	if err != nil {
		return fmt.Errorf("sqlstore: put a credential: %w", err)
	}
	return c.write(ctx, "put a credential", `
		INSERT INTO {credentials} (client_key, org, version, sealed, restrictions) VALUES ($1, $3, $2, $4, $5)
		ON CONFLICT (client_key) DO UPDATE SET org = excluded.org, version = excluded.version, sealed = excluded.sealed,
			formers = '[]', restrictions = excluded.restrictions`,
		clientKey, org, c.store.seal(secretPlace(org, clientKey), []byte(secret)), string(rules))
}

// maxFormers bounds what a request may cost: one MAC for each live secret.
const maxFormers = 8

// Rotate gives a client key a new secret and returns it. The one before
// verifies for as long as grace, and those before it until the ends they have
// already, so that a rotation that is repeated locks nobody out. A grace of 0 or
// less means that no earlier secret verifies any more, which is right for one
// that was lost.
//
// At most 8 former secrets are kept; beyond that, the one with the earliest end
// verifies no longer. It returns auth.ErrNotFound for an unknown client key.
func (c *Credentials) Rotate(ctx context.Context, clientKey string, grace time.Duration) (signing.Secret, error) {
	_, secret := signing.Generate()
	err := c.change(ctx, clientKey, func(row *credentialRow) error {
		row.rotate(c.store.seal(secretPlace(row.org, clientKey), []byte(secret)), grace)
		return nil
	})
	if err != nil {
		return "", c.failed("rotate a secret", err)
	}
	return secret, nil
}

// Restrict changes the restrictions of a client key, in one atomic step. The
// function alters a copy of those there are, whose Key must stay as it is; it is
// called again after a change by others. Its error, if any, is returned as it is,
// and nothing has changed then. Restrict returns auth.ErrNotFound for an unknown
// client key.
func (c *Credentials) Restrict(ctx context.Context, clientKey string, alter func(*signature.Credential) error) error {
	var refused error
	err := c.change(ctx, clientKey, func(row *credentialRow) error {
		credential, err := c.built.credential(*row, func() (*signature.Credential, error) { return c.build(*row) })
		if err != nil {
			return err
		}
		altered := *credential // shared, and not to be altered
		if refused = alter(&altered); refused != nil {
			return refused
		}
		rules, err := json.Marshal(newRules(altered))
		row.rules = string(rules)
		return err
	})
	if refused != nil {
		return refused
	}
	return c.failed("restrict a credential", err)
}

// change alters a row as it is, once more after each change by others, which it
// must not undo.
func (c *Credentials) change(ctx context.Context, clientKey string, alter func(*credentialRow) error) error {
	for {
		row, err := c.store.findCredential(ctx, clientKey)
		if err != nil {
			return err
		}
		if err := alter(&row); err != nil {
			return err
		}
		if done, err := c.store.replaceCredential(ctx, row); done || err != nil {
			return err
		}
	}
}

// Delete forgets a client key. It returns auth.ErrNotFound for an unknown one.
func (c *Credentials) Delete(ctx context.Context, clientKey string) error {
	err := c.store.write(ctx, func(q querier) error {
		return changed(q.ExecContext(ctx, c.store.text(`DELETE FROM {credentials} WHERE client_key = $1`), clientKey))
	})
	return c.failed("delete a credential", err)
}

// write runs a statement whose first two arguments are the client key and the
// version it gets: random, so that one that is made again is not taken for the
// one before.
func (c *Credentials) write(ctx context.Context, what, statement, clientKey string, args ...any) error {
	args = append([]any{clientKey, rand.Text()}, args...)
	err := c.store.write(ctx, func(q querier) error {
		return changed(q.ExecContext(ctx, c.store.text(statement), args...))
	})
	return c.failed(what, err)
}

func changed(result sql.Result, err error) error {
	n, err := affected(result, err)
	if err == nil && n == 0 {
		return auth.ErrNotFound
	}
	return err
}

func (c *Credentials) failed(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		err = auth.ErrNotFound
	}
	return fmt.Errorf("sqlstore: %s: %w", what, err)
}

// credentialRow is one as it is kept.
type credentialRow struct {
	clientKey, org, version string
	sealed                  []byte
	formers                 []former // that have not ended
	ended                   bool     // there are others, which have
	rules                   string
	now                     int64 // Unix milliseconds
}

// former is a secret that was rotated away.
type former struct {
	Until  int64  `json:"until"` // Unix milliseconds
	Sealed []byte `json:"sealed"`
}

const credentialText = `client_key, org, version, sealed, formers, restrictions, {now}`

func scanCredential(scan func(...any) error) (row credentialRow, err error) {
	var kept string
	if err := scan(&row.clientKey, &row.org, &row.version, &row.sealed, &kept, &row.rules, &row.now); err != nil {
		return row, err
	}
	if err := json.Unmarshal([]byte(kept), &row.formers); err != nil {
		return row, err
	}
	all := len(row.formers)
	row.formers = slices.DeleteFunc(row.formers, func(f former) bool { return f.Until <= row.now })
	row.ended = len(row.formers) < all
	return row, nil
}

// rotate puts a secret in the place of the one there is.
func (r *credentialRow) rotate(sealed []byte, grace time.Duration) {
	formers := []former{}
	if grace > 0 {
		formers = append(formers, former{r.now + grace.Milliseconds(), r.sealed})
		formers = append(formers, r.formers...)
	}
	slices.SortStableFunc(formers, func(a, b former) int { return cmp.Compare(b.Until, a.Until) })
	r.sealed, r.formers = sealed, formers[:min(len(formers), maxFormers)]
}

// findCredential returns sql.ErrNoRows for an unknown client key.
func (s *Store) findCredential(ctx context.Context, clientKey string) (row credentialRow, err error) {
	err = s.read(ctx, func(q querier) (err error) {
		row, err = scanCredential(q.QueryRowContext(ctx, s.text(`SELECT `+credentialText+` FROM {credentials} WHERE client_key = $1`), clientKey).Scan)
		return err
	})
	return row, err
}

// replaceCredential writes a row and gives it another version. It reports false if
// the row is not of the version that was read any more.
func (s *Store) replaceCredential(ctx context.Context, row credentialRow) (done bool, err error) {
	formers, err := json.Marshal(row.formers)
	if err != nil {
		return false, err
	}
	err = s.write(ctx, func(q querier) error {
		n, err := affected(q.ExecContext(ctx, s.text(`
			UPDATE {credentials} SET version = $3, sealed = $4, formers = $5, restrictions = $6
			WHERE client_key = $1 AND version = $2`),
			row.clientKey, row.version, rand.Text(), row.sealed, string(formers), row.rules))
		done = n > 0
		return err
	})
	return done, err
}

// Credential implements signature.Credentials.
func (c *Credentials) Credential(ctx context.Context, clientKey string) (*signature.Credential, error) {
	if !storable(clientKey) {
		return nil, auth.ErrNotFound
	}
	row, err := c.store.findCredential(ctx, clientKey)
	if err != nil {
		return nil, c.failed("find a credential", err)
	}
	return c.built.credential(row, func() (*signature.Credential, error) { return c.build(row) })
}

func (c *Credentials) build(row credentialRow) (*signature.Credential, error) {
	var rules rules
	if err := json.Unmarshal([]byte(row.rules), &rules); err != nil {
		return nil, fmt.Errorf("sqlstore: find a credential: %w", err)
	}
	secret, err := c.store.unseal(secretPlace(row.org, row.clientKey), row.sealed)
	if err != nil {
		return nil, err
	}
	key, err := signing.NewKey(row.clientKey, signing.Secret(secret))
	for _, former := range row.formers {
		if err != nil {
			return nil, err
		}
		if secret, err = c.store.unseal(secretPlace(row.org, row.clientKey), former.Sealed); err == nil {
			key, err = key.WithFormer(signing.Secret(secret), time.UnixMilli(former.Until))
		}
	}
	if err != nil {
		return nil, err
	}
	return rules.credential(key), nil
}

// rules are restrictions as text. A nil list stays null: it means another
// thing than an empty one.
type rules struct {
	Account   string         `json:"account,omitempty"`
	Accounts  []string       `json:"accounts"`
	Scope     []string       `json:"scope"`
	NotBefore *time.Time     `json:"notBefore,omitempty"`
	NotAfter  *time.Time     `json:"notAfter,omitempty"`
	Networks  []netip.Prefix `json:"networks"`
	Disabled  bool           `json:"disabled,omitempty"`
}

func newRules(c signature.Credential) rules {
	r := rules{Account: c.Account, Accounts: c.Accounts, Scope: c.Scope, Networks: c.Networks, Disabled: c.Disabled}
	if !c.NotBefore.IsZero() {
		r.NotBefore = &c.NotBefore
	}
	if !c.NotAfter.IsZero() {
		r.NotAfter = &c.NotAfter
	}
	return r
}

func (r rules) credential(key *signing.Key) *signature.Credential {
	c := &signature.Credential{
		Key: key, Account: r.Account, Accounts: r.Accounts, Scope: r.Scope, Networks: r.Networks, Disabled: r.Disabled,
	}
	if r.NotBefore != nil {
		c.NotBefore = *r.NotBefore
	}
	if r.NotAfter != nil {
		c.NotAfter = *r.NotAfter
	}
	return c
}

// built remembers what rows were built into.
type built struct {
	mu    sync.RWMutex
	found map[string]builtRow // by client key
}

// builtRow is what a row of a version was built into while some of its former
// secrets had not ended. Their number tells which: of one version, those that
// end sooner are always missing first.
type builtRow struct {
	version string
	formers int
	*signature.Credential
}

const maxBuilt = 8192

func (b *built) credential(row credentialRow, build func() (*signature.Credential, error)) (*signature.Credential, error) {
	b.mu.RLock()
	known := b.found[row.clientKey]
	b.mu.RUnlock()
	if known.is(row) {
		return known.Credential, nil
	}
	credential, err := build()
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	// Another call may have been first: all get the same pointer.
	if known := b.found[row.clientKey]; known.is(row) {
		return known.Credential, nil
	}
	if b.found == nil {
		b.found = map[string]builtRow{}
	}
	for key := range b.found {
		if len(b.found) < maxBuilt {
			break
		}
		delete(b.found, key)
	}
	b.found[row.clientKey] = builtRow{row.version, len(row.formers), credential}
	return credential, nil
}

func (b builtRow) is(row credentialRow) bool {
	return b.Credential != nil && b.version == row.version && b.formers == len(row.formers)
}
