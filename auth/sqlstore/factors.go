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
func (s *Store) Factors() (session.Factors, error) {
	if err := s.keepsSecrets(); err != nil {
		return nil, err
	}
	return &factors{s}, nil
}

func factorLocation(org auth.OrgKey, account string) location {
	return location{"second factor", org, account}
}

// Factor implements session.Factors.
func (f *factors) Factor(ctx context.Context, org auth.OrgKey, account string) (session.Factor, error) {
	var factor session.Factor
	if !storable(string(org), account) {
		return factor, nil
	}
	var sealed, recovery []byte
	err := f.store.find(ctx, `SELECT version, sealed, step, recovery FROM {factors} WHERE org = $1 AND account = $2`,
		[]any{org, account}, &factor.Version, &sealed, &factor.Step, &recovery)
	if errors.Is(err, sql.ErrNoRows) {
		return session.Factor{}, nil
	}
	if err == nil {
		err = f.read(&factor, factorLocation(org, account), sealed, recovery)
	}
	if err != nil {
		return session.Factor{}, failed("find a second factor", err)
	}
	return factor, nil
}

func (f *factors) read(factor *session.Factor, at location, sealed, recovery []byte) error {
	secrets, err := f.store.unseal(at, sealed)
	if err != nil {
		return err
	}
	if factor.Secret, secrets, err = cutSecret(secrets); err != nil {
		return err
	}
	if factor.Pending, _, err = cutSecret(secrets); err != nil {
		return err
	}
	for ; len(recovery) >= 32; recovery = recovery[32:] {
		factor.Recovery = append(factor.Recovery, [32]byte(recovery))
	}
	return nil
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

// Save implements session.Factors.
func (f *factors) Save(ctx context.Context, org auth.OrgKey, account string, factor session.Factor) error {
	if !storable(string(org), account) {
		return errors.New("sqlstore: save a second factor: a name is not UTF-8 or has a zero byte")
	}
	sealed := f.store.seal(factorLocation(org, account), appendSecret(appendSecret(nil, factor.Secret), factor.Pending))
	recovery := []byte{}
	for _, hash := range factor.Recovery {
		recovery = append(recovery, hash[:]...)
	}
	n, err := f.store.exec(ctx, saveText(factor.Version), org, account, factor.Version, sealed, factor.Step, recovery)
	return failed("save a second factor", changed(n, err, session.ErrConflict))
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
