package sqlstore

import (
	"context"
	"database/sql"
	"strings"
	"unicode/utf8"
)

// each calls f with each row of a statement. What the statement changes is
// certain when it returns nil, which takes reading to the end.
func each(ctx context.Context, q querier, text string, args []any, f func(*sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// one reads the one row of a statement that changes something, to its end. It
// returns sql.ErrNoRows if there is none.
func one(ctx context.Context, q querier, text string, args []any, into ...any) error {
	found := false
	err := each(ctx, q, text, args, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(into...)
	})
	if err == nil && !found {
		return sql.ErrNoRows
	}
	return err
}

// affected returns how many rows a statement has changed.
func affected(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// storable reports whether PostgreSQL takes the texts as they are.
func storable(texts ...string) bool {
	for _, text := range texts {
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			return false
		}
	}
	return true
}
