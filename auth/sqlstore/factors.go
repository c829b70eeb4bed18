package sqlstore

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

type factors struct{ store *Store }

// Factors returns the store's second factors, whose secrets are sealed, or ErrNoSealer.
func (s *Store) Factors() (session.FactorStore, error) {
	if err := s.keepsSecrets(); err != nil {
		return nil, err
	}
	return &factors{s}, nil
}

func factorLocation(org auth.OrgKey, account string) location {
	return location{"second factor", org, account}
}

// Factor implements session.FactorStore.
func (f *factors) Factor(ctx context.Context, org auth.OrgKey, account string) (session.Factor, error) {
	factor, err := get(ctx, f.store, factorText, []any{org, account}, f.scan(org, account))
	return factor, failed("find a second factor", found(err, nil))
}

const factorText = `SELECT version, sealed, step, recovery FROM {factors} WHERE ` + ofAccountText

// scan returns what scans the columns of factorText.
func (f *factors) scan(org auth.OrgKey, account string) func(*sql.Rows) (session.Factor, error) {
	return func(rows *sql.Rows) (none session.Factor, err error) {
		var factor session.Factor
		var secrets, recovery []byte
		err = rows.Scan(&factor.Version, &secrets, &factor.Step, &recovery)
		if err == nil {
			secrets, err = f.store.unseal(factorLocation(org, account), secrets)
		}
		if err == nil {
			factor.Secret, secrets, err = cutSecret(secrets)
		}
		if err == nil {
			factor.Pending, _, err = cutSecret(secrets)
		}
		if err != nil {
			return none, err
		}
		for ; len(recovery) >= 32; recovery = recovery[32:] {
			factor.Recovery = append(factor.Recovery, [32]byte(recovery))
		}
		return factor, nil
	}
}

// appendSecret appends a secret after its length. The length 0 means no secret.
func appendSecret(to []byte, secret session.FactorSecret) []byte {
	text := secret.Reveal()
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

func cutSecret(from []byte) (secret session.FactorSecret, rest []byte, err error) {
	n, size := binary.Uvarint(from)
	if size <= 0 || n > uint64(len(from)-size) {
		return secret, nil, errors.New("a secret has another form than this package writes")
	}
	from = from[size:]
	return session.NewFactorSecret(from[:n]), from[n:], nil
}

// Save implements session.FactorStore.
func (f *factors) Save(ctx context.Context, org auth.OrgKey, account string, factor session.Factor) error {
	recovery := []byte{}
	for _, hash := range factor.Recovery {
		recovery = append(recovery, hash[:]...)
	}
	n, err := f.store.exec(ctx, saveText(factor.Version), org, account, factor.Version, f.seal(org, account, factor), factor.Step, recovery)
	return failed("save a second factor", changed(n, err, session.ErrConflict))
}

func (f *factors) seal(org auth.OrgKey, account string, factor session.Factor) []byte {
	return f.store.seal(factorLocation(org, account), appendSecret(appendSecret(nil, factor.Secret), factor.Pending))
}

// saveText returns the one statement that saves a factor. Of concurrent calls for the
// same version, one wins.
func saveText(version int64) string {
	if version == 0 {
		return `INSERT INTO {factors} (org, account, version, sealed, step, recovery) VALUES ($1, $2, CAST($3 AS bigint) + 1, $4, $5, $6)
			ON CONFLICT (org, account) DO NOTHING`
	}
	return `UPDATE {factors} SET version = version + 1, sealed = $4, step = $5, recovery = $6
		WHERE org = $1 AND account = $2 AND version = $3`
}
