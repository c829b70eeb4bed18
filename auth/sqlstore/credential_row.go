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

// credentialRow is a stored credential with its former secrets that have not ended.
// Each change gives the row a new random version. So a client key that is deleted and
// created again never has a version from before.
type credentialRow struct {
	clientKey, org, version string
	sealed                  []byte
	formers                 []former
	rules                   string
	use                     face.Use
}

// former is a secret that a rotation has replaced.
type former struct {
	ends   time.Time
	sealed []byte
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

// rows returns the credentials of a statement that selects rowsText. The rows of one
// client key follow each other.
func (c *Credentials) rows(ctx context.Context, text string, args ...any) (all []credentialRow, err error) {
	err = c.store.read(ctx, func(q conn) error {
		all = nil
		return q.each(ctx, text, args, func(rows *sql.Rows) error {
			var row credentialRow
			var f former
			err := rows.Scan(&row.clientKey, &row.org, &row.version, &row.sealed, &row.rules, millis(&row.use.Seen), parsed(row.use.From.UnmarshalText), millis(&f.ends), &f.sealed)
			if len(all) == 0 || all[len(all)-1].clientKey != row.clientKey {
				all = append(all, row)
			}
			if last := &all[len(all)-1]; f.sealed != nil {
				last.formers = append(last.formers, f)
			}
			return err
		})
	})
	return all, err
}

func (c *Credentials) build(row credentialRow) (*signature.Credential, error) {
	built, err := restrictionsOf(row.rules)
	if err != nil {
		return nil, err
	}
	at := secretLocation(auth.OrgKey(row.org), row.clientKey)
	secret, err := c.store.unseal(at, row.sealed)
	if err != nil {
		return nil, err
	}
	key, err := newKey(row.clientKey, secret)
	if err != nil {
		return nil, err
	}
	for _, former := range row.formers {
		if secret, err = c.store.unseal(at, former.sealed); err != nil {
			return nil, err
		}
		if isPublic(secret) { // somebody has copied the row, and everybody knows the text
			return nil, errPublic
		}
		if key, err = key.WithFormer(signing.Secret(secret), former.ends); err != nil {
			return nil, err
		}
	}
	built.Key, built.Use = key, row.use
	return built, nil
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
	var keys []ed25519.PublicKey
	for key := range slices.Chunk(all, ed25519.PublicKeySize) {
		keys = append(keys, key)
	}
	return signing.NewPublicKey(clientKey, keys...)
}
