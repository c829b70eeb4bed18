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
	kind        string
}

// sealedTables lists all of them. {formers} is the last, because a rotation copies the
// sealed secret of {credentials} into it. Once {credentials} is resealed, no copy under
// an old key can follow.
var sealedTables = []sealedTable{
	{"{keys}", "client_key", "client_key, ''", keyPair},
	{"{factors}", "account", "org, account", secondFactor},
	{"{credentials}", "client_key", "client_key, ''", signingSecret},
	{"{formers}", "client_key", "client_key, id", signingSecret},
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
		if err := s.resealTable(ctx, t, &left); err != nil {
			return failed("reseal", err)
		}
	}
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("sqlstore: reseal: %d secrets are left as they are: %w", len(left), errors.Join(left[:min(10, len(left))]...))
}

type sealedRow struct {
	org           auth.OrgKey
	name          string
	sealed        []byte
	first, second string // of the key
}

// resealTable seals the rows of a table. It reads each row once: the index of the
// primary key leads to the row after the last one.
func (s *Store) resealTable(ctx context.Context, t sealedTable, left *[]error) error {
	text := `SELECT org, ` + t.name + `, sealed, ` + t.key + ` FROM ` + t.table + ` WHERE substr(sealed, 1, 9) <> $1
		AND (` + t.key + `) > ($2, $3) ORDER BY ` + strings.TrimSuffix(t.key, ", ''") + ` LIMIT 100`
	for last, more := (sealedRow{}), true; more; {
		rows, err := list(ctx, s, text, []any{s.options.Sealer.head(), last.first, last.second},
			func(rows *sql.Rows) (row sealedRow, err error) {
				err = rows.Scan(&row.org, &row.name, &row.sealed, &row.first, &row.second)
				return row, err
			})
		if err != nil {
			return err
		}
		more = len(rows) == 100
		for _, last = range rows {
			at := location{t.kind, last.org, last.name}
			secret, err := s.options.Sealer.open(at, last.sealed)
			if err != nil {
				*left = append(*left, fmt.Errorf("%w: %s of %q in org %q", ErrSealed, at.kind, at.id, at.org))
				continue
			}
			// A concurrent change has sealed the row anew or copied the secret; the condition
			// then matches no row.
			_, err = s.exec(ctx, `UPDATE `+t.table+` SET sealed = $1 WHERE org = $2 AND `+t.name+` = $3 AND sealed = $4`,
				s.options.Sealer.seal(at, secret), last.org, last.name, last.sealed)
			if err != nil {
				return err
			}
		}
	}
	return nil
}
