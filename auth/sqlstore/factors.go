package sqlstore

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tenantkit/tenantkit/auth/session"
)

// Factors keeps the second factors of accounts, the secrets sealed.
type Factors struct{ store *Store }

// Factors returns the store's second factors, or ErrNoSealer.
func (s *Store) Factors() (*Factors, error) {
	if err := s.keepsSecrets(); err != nil {
		return nil, err
	}
	return &Factors{s}, nil
}

var _ session.Factors = (*Factors)(nil)

func factorPlace(org, account string) place { return place{"second factor", org, account} }

// Factor implements session.Factors.
func (f *Factors) Factor(ctx context.Context, org, account string) (session.Factor, error) {
	var factor session.Factor
	if !storable(org, account) {
		return factor, nil
	}
	var sealed, recovery []byte
	err := f.store.read(ctx, func(q querier) error {
		return q.QueryRowContext(ctx, f.store.text(`SELECT version, sealed, step, recovery FROM {factors} WHERE org = $1 AND account = $2`),
			org, account).Scan(&factor.Version, &sealed, &factor.Step, &recovery)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return session.Factor{}, nil
	}
	if err == nil {
		err = f.read(&factor, factorPlace(org, account), sealed, recovery)
	}
	if err != nil {
		return session.Factor{}, fmt.Errorf("sqlstore: find a second factor: %w", err)
	}
	return factor, nil
}

func (f *Factors) read(factor *session.Factor, p place, sealed, recovery []byte) error {
	secrets, err := f.store.unseal(p, sealed)
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

// appendSecret writes a secret behind its length, so that none and an empty one
// are apart: 0 is none, 1 an empty one.
func appendSecret(to []byte, secret session.FactorSecret) []byte {
	if secret == nil {
		return binary.AppendUvarint(to, 0)
	}
	return append(binary.AppendUvarint(to, uint64(len(secret))+1), secret...)
}

func cutSecret(from []byte) (secret session.FactorSecret, rest []byte, err error) {
	n, size := binary.Uvarint(from)
	if size <= 0 || n > uint64(len(from)-size)+1 {
		return nil, nil, errors.New("a secret has another form than this package writes")
	}
	from = from[size:]
	if n == 0 {
		return nil, from, nil
	}
	return session.FactorSecret(from[:n-1]), from[n-1:], nil
}

// Save implements session.Factors.
func (f *Factors) Save(ctx context.Context, org, account string, factor session.Factor) error {
	if !storable(org, account) {
		return errors.New("sqlstore: save a second factor: a name is not UTF-8 or has a zero byte")
	}
	sealed := f.store.seal(factorPlace(org, account), appendSecret(appendSecret(nil, factor.Secret), factor.Pending))
	recovery := []byte{}
	for _, hash := range factor.Recovery {
		recovery = append(recovery, hash[:]...)
	}
	err := f.store.write(ctx, func(q querier) error {
		n, err := affected(q.ExecContext(ctx, f.store.text(saveText(factor.Version)), org, account, factor.Version, sealed, factor.Step, recovery))
		if err == nil && n == 0 {
			return session.ErrConflict
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlstore: save a second factor: %w", err)
	}
	return nil
}

// saveText is one statement either way, which one of those at once wins.
func saveText(version int64) string {
	if version == 0 {
		return `INSERT INTO {factors} (org, account, version, sealed, step, recovery) VALUES ($1, $2, CAST($3 AS bigint) + 1, $4, $5, $6)
			ON CONFLICT (org, account) DO NOTHING`
	}
	return `UPDATE {factors} SET version = version + 1, sealed = $4, step = $5, recovery = $6
		WHERE org = $1 AND account = $2 AND version = $3`
}
