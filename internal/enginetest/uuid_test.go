package enginetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/storetest"
)

// uuidFactors is a session.FactorStore of an adopter: a table whose ids are those of the other tables.
// It does not seal the secrets, as a server must.
type uuidFactors struct{ db *sql.DB }

const uuidTable = `CREATE TABLE uuid_factors (org uuid, account uuid, version bigint NOT NULL,
	secret bytea, pending bytea, step bigint NOT NULL, recovery bytea NOT NULL, PRIMARY KEY (org, account))`

func (s uuidFactors) Factor(ctx context.Context, org auth.OrgKey, account string) (f session.Factor, err error) {
	var secret, pending, recovery []byte
	err = s.db.QueryRowContext(ctx, `SELECT version, secret, pending, step, recovery FROM uuid_factors WHERE org = $1 AND account = $2`,
		org, account).Scan(&f.Version, &secret, &pending, &f.Step, &recovery)
	if errors.Is(err, sql.ErrNoRows) {
		return session.Factor{}, nil
	}
	f.Secret, f.Pending = session.FactorSecret(secret), session.FactorSecret(pending)
	for ; len(recovery) >= 32; recovery = recovery[32:] {
		f.Recovery = append(f.Recovery, [32]byte(recovery))
	}
	return f, err
}

func (s uuidFactors) Save(ctx context.Context, org auth.OrgKey, account string, f session.Factor) error {
	// One statement is one atomic step: it adds the first version, or replaces the one that was read.
	statement := `INSERT INTO uuid_factors VALUES ($1, $2, $3 + 1, $4, $5, $6, $7) ON CONFLICT DO NOTHING`
	if f.Version > 0 {
		statement = `UPDATE uuid_factors SET version = $3 + 1, secret = $4, pending = $5, step = $6, recovery = $7
			WHERE org = $1 AND account = $2 AND version = $3`
	}
	recovery := []byte{}
	for _, hash := range f.Recovery {
		recovery = append(recovery, hash[:]...)
	}
	done, err := s.db.ExecContext(ctx, statement, org, account, f.Version, []byte(f.Secret), []byte(f.Pending), f.Step, recovery)
	if err != nil {
		return err
	}
	if saved, err := done.RowsAffected(); err != nil || saved == 1 {
		return err
	}
	return auth.ErrConflict
}

func TestUUIDColumns(t *testing.T) {
	t.Parallel()
	if engine := os.Getenv("ENGINE"); engine != "" && engine != "PostgreSQL" {
		t.Skip("for PostgreSQL")
	}
	store := uuidFactors{postgres(t)}
	if _, err := store.db.ExecContext(t.Context(), uuidTable); err != nil {
		t.Fatal(err)
	}
	storetest.Factors(t, func(*testing.T) session.FactorStore { return store }, storetest.Features{Account: uuid, Org: uuid})
}

// uuid returns a random one (RFC 9562, version 4).
func uuid() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
