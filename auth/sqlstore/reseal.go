package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// sealedColumns are all that are a sealed secret, but those of {credentials}.
// Rows are known by org and name.
var sealedColumns = []struct{ table, name, column, kind string }{
	{"{keys}", "client_key", "sealed", pairPlace("", "").kind},
	{"{factors}", "account", "sealed", factorPlace("", "").kind},
}

// Reseal seals with the current key what was sealed with an old one, a few rows
// at a time, while the store is in use. Once it has returned nil, and no
// instance seals with the old key any more, the old key opens nothing here. It
// returns an error that matches ErrSealed when it meets a secret that cannot be
// opened, and ErrNoSealer where there is no Sealer. Former secrets that have
// ended are dropped, not sealed.
func (s *Store) Reseal(ctx context.Context) error {
	if s.sealer == nil {
		return ErrNoSealer
	}
	for _, c := range sealedColumns {
		for more := true; more; {
			var err error
			more, err = s.resealSome(ctx, c.table, c.name, c.column, c.kind)
			if err != nil {
				return fmt.Errorf("sqlstore: reseal: %w", err)
			}
		}
	}
	if err := s.resealCredentials(ctx); err != nil {
		return fmt.Errorf("sqlstore: reseal: %w", err)
	}
	return nil
}

// resealCredentials looks at each of them: no condition sees into formers.
func (s *Store) resealCredentials(ctx context.Context) error {
	for after := ""; ; {
		rows, err := s.credentialsAfter(ctx, after)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			if err := s.resealCredential(ctx, row); err != nil {
				return err
			}
			after = row.clientKey
		}
	}
}

func (s *Store) credentialsAfter(ctx context.Context, clientKey string) (found []credentialRow, err error) {
	err = s.read(ctx, func(q querier) error {
		found = nil
		return each(ctx, q, s.text(`SELECT `+credentialText+` FROM {credentials} WHERE client_key > $1 ORDER BY client_key LIMIT 100`),
			[]any{clientKey}, func(rows *sql.Rows) error {
				row, err := scanCredential(rows.Scan)
				found = append(found, row)
				return err
			})
	})
	return found, err
}

func (s *Store) resealCredential(ctx context.Context, row credentialRow) error {
	for {
		changed, err := s.sealer.renew(&row)
		if err != nil || !changed {
			return err
		}
		done, err := s.replaceCredential(ctx, row)
		if err != nil || done {
			return err
		}
		// Changed meanwhile. A rotation keeps secrets as they were sealed before.
		row, err = s.findCredential(ctx, row.clientKey)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// renew seals with the current key what of a row was sealed with an old one. It
// reports false if the row may stay as it is.
func (s *Sealer) renew(row *credentialRow) (changed bool, err error) {
	kept := []*[]byte{&row.sealed}
	for i := range row.formers {
		kept = append(kept, &row.formers[i].Sealed)
	}
	p, head := secretPlace(row.org, row.clientKey), s.head()
	changed = row.ended
	for _, sealed := range kept {
		if bytes.HasPrefix(*sealed, head) {
			continue
		}
		secret, err := s.open(p, *sealed)
		if err != nil {
			return false, err
		}
		*sealed, changed = s.seal(p, secret), true
	}
	return changed, nil
}

type sealedRow struct {
	org, name string
	sealed    []byte
}

func (s *Store) resealSome(ctx context.Context, table, name, column, kind string) (more bool, err error) {
	rows, err := s.sealedByOthers(ctx, table, name, column)
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		p := place{kind, row.org, row.name}
		secret, err := s.sealer.open(p, row.sealed)
		if err != nil {
			return false, err
		}
		err = s.write(ctx, func(q querier) error {
			// Unless it was changed meanwhile, which seals it anew.
			_, err := q.ExecContext(ctx, s.text(`UPDATE `+table+` SET `+column+` = $1 WHERE org = $2 AND `+name+` = $3 AND `+column+` = $4`),
				s.sealer.seal(p, secret), row.org, row.name, row.sealed)
			return err
		})
		if err != nil {
			return false, err
		}
	}
	return len(rows) > 0, nil
}

func (s *Store) sealedByOthers(ctx context.Context, table, name, column string) (found []sealedRow, err error) {
	err = s.read(ctx, func(q querier) error {
		found = nil
		return each(ctx, q, s.text(`SELECT org, `+name+`, `+column+` FROM `+table+`
			WHERE substr(`+column+`, 1, 9) <> $1 LIMIT 100`), []any{s.sealer.head()}, func(rows *sql.Rows) error {
			var row sealedRow
			err := rows.Scan(&row.org, &row.name, &row.sealed)
			found = append(found, row)
			return err
		})
	})
	return found, err
}
