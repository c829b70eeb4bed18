package sqlstore

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/internal/face"
	"github.com/tenantkit/tenantkit/signing"
)

// storedCredential is a credential as it is stored, with its former secrets that have not ended.
// Each change gives the row a new random version. So a client key that is deleted and
// created again never has a version from before.
type storedCredential struct {
	*signature.Credential
	org     auth.OrgKey
	version string
}

// rowsText selects a row for each former secret of a credential, or one row if there is
// none.
const rowsText = `
	SELECT c.client_key, c.org, c.version, c.sealed, c.restrictions, nullif(c.seen, 0), c.seen_from, f.ends, f.sealed
	FROM {credentials} AS c LEFT JOIN {formers} AS f ON f.client_key = c.client_key AND f.ends > {now} `

const (
	credentialText = rowsText + `WHERE c.client_key = $1`
	ofOrgText      = rowsText + `WHERE c.client_key IN (
		SELECT client_key FROM {credentials} WHERE org = $1 AND client_key > $2 ORDER BY client_key LIMIT $3)
	ORDER BY c.client_key`
)

// stored returns the credentials of a statement that selects rowsText. The rows of one
// client key follow each other.
func (c *Credentials) stored(ctx context.Context, text string, args ...any) (all []storedCredential, err error) {
	err = c.store.read(ctx, func(q conn) error {
		all = nil
		return q.each(ctx, text, args, func(rows *sql.Rows) (err error) {
			var row struct { // one allocation: each request that is signed comes here
				storedCredential
				clientKey, rules string
				sealed, former   []byte
				ends             time.Time
				use              face.Use
			}
			err = rows.Scan(&row.clientKey, &row.org, &row.version, &row.sealed, &row.rules,
				millis(&row.use.Seen), parsed(row.use.From.UnmarshalText), millis(&row.ends), &row.former)
			if err != nil {
				return err
			}
			at := location{signingSecret, row.org, row.clientKey}
			if len(all) == 0 || all[len(all)-1].Key.ClientKey() != row.clientKey {
				if row.Credential, err = c.build(at, row.rules, row.sealed); err != nil {
					return err
				}
				row.Use = row.use
				all = append(all, row.storedCredential)
			}
			if last := all[len(all)-1]; row.former != nil {
				last.Key, err = c.withFormer(last.Key, at, row.former, row.ends)
			}
			return err
		})
	})
	return all, err
}

// build returns the credential of a row without its former secrets.
func (c *Credentials) build(at location, rules string, sealed []byte) (*signature.Credential, error) {
	built, err := restrictionsOf(rules)
	if err != nil {
		return nil, err
	}
	secret, err := c.store.unseal(at, sealed)
	if err == nil {
		built.Key, err = newKey(at.id, secret)
	}
	return built, err
}

func (c *Credentials) withFormer(key *signing.Key, at location, sealed []byte, ends time.Time) (*signing.Key, error) {
	secret, err := c.store.unseal(at, sealed)
	switch {
	case err != nil:
		return nil, err
	case isPublic(secret): // somebody has copied the row, and everybody knows the text
		return nil, errPublic
	}
	return key.WithFormer(signing.Secret(secret), ends)
}

// restrictionsOf returns a credential without its Key. It refuses a text that restrictionsText would not
// write: without a restriction of a later release, one that is there twice or one that is lost, more
// would be permitted.
func restrictionsOf(text string) (*signature.Credential, error) {
	c := &signature.Credential{}
	err := json.Unmarshal([]byte(text), c)
	if again, _ := json.Marshal(c); err == nil && string(again) != text {
		err = errRestrictions
	}
	return c, err
}

var errRestrictions = errors.New("sqlstore: restrictions are not as this release writes them, or have no printable name")

// restrictionsText returns what the store keeps of a credential beside its Key. It refuses restrictions that
// would come back as others: JSON has no text that is not UTF-8.
func restrictionsText(c signature.Credential) (string, error) {
	text, err := json.Marshal(c)
	if !face.IsName(c.Name) {
		err = errRestrictions
	}
	if err == nil {
		_, err = restrictionsOf(string(text))
	}
	return string(text), err
}

// publicPrefix begins the text of public keys. No secret begins with it, because a
// secret has only letters and digits.
const publicPrefix = "ed25519:"

var errPublic = errors.New("sqlstore: public keys are not rotated as secrets are")

func publicKeysText(keys []ed25519.PublicKey) string {
	return publicPrefix + base64.StdEncoding.EncodeToString(slices.Concat(keys...))
}

func isPublic(text []byte) bool { return strings.HasPrefix(string(text), publicPrefix) }

// newKey makes the key of a secret, or of public keys.
func newKey(clientKey string, text []byte) (*signing.Key, error) {
	if !isPublic(text) {
		return signing.NewKey(clientKey, signing.Secret(text))
	}
	all, err := base64.StdEncoding.DecodeString(string(text[len(publicPrefix):]))
	if err != nil {
		return nil, err
	}
	return signing.NewPublicKey(clientKey, slices.Collect(slices.Chunk(ed25519.PublicKey(all), ed25519.PublicKeySize))...)
}
