package sqlstore

import (
	"context"
	"database/sql"
)

// sealedTables lists the tables with a column of sealed secrets, and the columns that
// identify their rows beside org. {formers} is the last, because a rotation copies the
// sealed secret of {credentials} into it. Once {credentials} is resealed, no copy under
// an old key can follow.
var sealedTables = []struct {
	table, name string
	locate      func(org, name string) location
}{
	{"{keys}", "client_key", pairLocation},
	{"{factors}", "account", factorLocation},
	{"{credentials}", "client_key", secretLocation},
	{"{formers}", "client_key", secretLocation},
}

// Reseal seals again, with the current key, every secret that an old key sealed. It
// takes up to 100 rows at a time, and the store may be in use meanwhile. After it has
// returned nil and no instance seals with the old key any more, the old key opens
// nothing here. Reseal returns an error that matches ErrSealed if a secret cannot be
// opened, and ErrNoSealer if there is no Sealer. It deletes former secrets that have
// ended.
func (s *Store) Reseal(ctx context.Context) error {
	if s.sealer == nil {
		return ErrNoSealer
	}
	if err := s.sweep(ctx, deadFormersText); err != nil {
		return failed("reseal", err)
	}
	for _, t := range sealedTables {
		for more := true; more; {
			var err error
			if more, err = s.resealSome(ctx, t.table, t.name, t.locate); err != nil {
				return failed("reseal", err)
			}
		}
	}
	return nil
}

type sealedRow struct {
	org, name string
	sealed    []byte
}

func (s *Store) resealSome(ctx context.Context, table, name string, locate func(org, name string) location) (more bool, err error) {
	rows, err := list(ctx, s, `SELECT org, `+name+`, sealed FROM `+table+` WHERE substr(sealed, 1, 9) <> $1 LIMIT 100`,
		[]any{s.sealer.head()}, func(rows *sql.Rows) (row sealedRow, err error) {
			err = rows.Scan(&row.org, &row.name, &row.sealed)
			return row, err
		})
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		at := locate(row.org, row.name)
		secret, err := s.sealer.open(at, row.sealed)
		if err != nil {
			return false, err
		}
		// A concurrent change has sealed the row anew or copied the secret; the condition
		// then matches no row.
		_, err = s.exec(ctx, `UPDATE `+table+` SET sealed = $1 WHERE org = $2 AND `+name+` = $3 AND sealed = $4`,
			s.sealer.seal(at, secret), row.org, row.name, row.sealed)
		if err != nil {
			return false, err
		}
	}
	return len(rows) > 0, nil
}
