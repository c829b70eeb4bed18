package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
)

// sealedTable is a table with a column of sealed secrets.
type sealedTable struct {
	table, name string // name is the column that identifies the row beside org
	key         string // the columns of the primary key, as two expressions
	locate      func(org auth.OrgKey, name string) location
}

// sealedTables lists all of them. {formers} is the last, because a rotation copies the
// sealed secret of {credentials} into it. Once {credentials} is resealed, no copy under
// an old key can follow.
var sealedTables = []sealedTable{
	{"{keys}", "client_key", "client_key, ''", pairLocation},
	{"{factors}", "account", "org, account", factorLocation},
	{"{credentials}", "client_key", "client_key, ''", secretLocation},
	{"{formers}", "client_key", "client_key, id", secretLocation},
}

// Reseal seals again, with the current key, every secret that an old key sealed. It
// takes up to 100 rows at a time, and the store may be in use meanwhile. After it has
// returned nil, the old key opens nothing here, unless an instance has sealed with it
// since the call began. Reseal deletes former secrets that have ended. It leaves what Idempotency has sealed.
//
// Reseal leaves a secret that cannot be opened as it is, goes on with the others, and
// then returns an error that matches ErrSealed. The error has the number of these
// secrets, and the kind, org and name of the first ten: delete them, or call Reseal
// again with their key. The others are usable, so a program need not stop because of
// them. Reseal returns ErrNoSealer if there is no Sealer.
func (s *Store) Reseal(ctx context.Context) error {
	if s.options.Sealer == nil {
		return ErrNoSealer
	}
	if err := s.sweep(ctx, deadFormersText, batchesPerSweep, batch); err != nil {
		return failed("reseal", err)
	}
	var left []error // for each secret that cannot be opened
	for _, t := range sealedTables {
		var after [2]string // the position of the last row of the batch before
		for more := true; more; {
			var err error
			if after, more, err = s.resealSome(ctx, t, after, &left); err != nil {
				return failed("reseal", err)
			}
		}
	}
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("sqlstore: reseal: %d secrets are left as they are: %w", len(left), errors.Join(left[:min(10, len(left))]...))
}

type sealedRow struct {
	org, name string
	sealed    []byte
	position  [2]string
}

// resealSome seals the next rows of a table. It reads each row once: the index of the
// primary key leads to the position.
func (s *Store) resealSome(ctx context.Context, t sealedTable, after [2]string, left *[]error) (end [2]string, more bool, err error) {
	const most = 100
	text := `SELECT org, ` + t.name + `, sealed, ` + t.key + ` FROM ` + t.table + ` WHERE substr(sealed, 1, 9) <> $1
		AND (` + t.key + `) > ($2, $3) ORDER BY ` + strings.TrimSuffix(t.key, ", ''") + ` LIMIT 100`
	rows, err := list(ctx, s, text, []any{s.options.Sealer.head(), after[0], after[1]},
		func(rows *sql.Rows) (row sealedRow, err error) {
			err = rows.Scan(&row.org, &row.name, &row.sealed, &row.position[0], &row.position[1])
			return row, err
		})
	if err != nil {
		return end, false, err
	}
	for _, row := range rows {
		end = row.position
		at := t.locate(auth.OrgKey(row.org), row.name)
		secret, err := s.options.Sealer.open(at, row.sealed)
		if err != nil {
			*left = append(*left, fmt.Errorf("%w: %s of %q in org %q", ErrSealed, at.kind, at.id, at.org))
			continue
		}
		// A concurrent change has sealed the row anew or copied the secret; the condition
		// then matches no row.
		_, err = s.exec(ctx, `UPDATE `+t.table+` SET sealed = $1 WHERE org = $2 AND `+t.name+` = $3 AND sealed = $4`,
			s.options.Sealer.seal(at, secret), row.org, row.name, row.sealed)
		if err != nil {
			return end, false, err
		}
	}
	return end, len(rows) == most, nil
}
