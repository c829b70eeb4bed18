package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/auth"
)

// conn runs statements of this package, in a transaction or each by itself. An error of the driver or of
// a context wraps auth.ErrUnavailable: the engine may be down, and it is not known what a statement has done.
type conn struct {
	store *Store
	on    querier
	notes *[]auth.Event // what audited appends to the log; nil without a log
}

// findable reports whether a row may have the arguments: no row has a text that PostgreSQL cannot
// store. A statement with one finds and changes nothing, and an INSERT fails. So a name from a
// request that no row can have is unknown, and not a failure of the engine.
func findable(args []any) bool {
	return !slices.ContainsFunc(args, func(arg any) bool {
		switch text := arg.(type) {
		case string:
			return !storable(text)
		case auth.OrgKey:
			return !storable(string(text))
		}
		return false
	})
}

var errText = errors.New("a text is not UTF-8 or has a zero byte")

// exec runs a statement and returns how many rows it has changed.
func (c conn) exec(ctx context.Context, text string, args ...any) (changed int64, err error) {
	switch {
	case findable(args):
	case strings.Contains(text, "INSERT INTO"):
		return 0, errText
	default:
		return 0, nil
	}
	result, err := c.on.ExecContext(ctx, c.store.text(text), args...)
	if err == nil {
		changed, err = result.RowsAffected()
	}
	return changed, auth.Unavailable(err)
}

// each calls f with each row of a statement and reads all rows. Only then is it certain
// that the statement's changes are done, which a nil error confirms.
func (c conn) each(ctx context.Context, text string, args []any, f func(*sql.Rows) error) error {
	if !findable(args) {
		return nil
	}
	rows, err := c.on.QueryContext(ctx, c.store.text(text), args...)
	if err != nil {
		return auth.Unavailable(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return auth.Unavailable(rows.Err())
}

// one scans the one row of a statement, or returns sql.ErrNoRows.
func (c conn) one(ctx context.Context, text string, args []any, into ...any) error {
	none := sql.ErrNoRows
	err := c.each(ctx, text, args, func(rows *sql.Rows) error {
		none = nil
		return auth.Unavailable(rows.Scan(into...))
	})
	return cmp.Or(err, none)
}

// exec runs a statement that is atomic by itself, and returns how many rows it has
// changed.
func (s *Store) exec(ctx context.Context, text string, args ...any) (changed int64, err error) {
	err = s.write(ctx, func(c conn) error {
		changed, err = c.exec(ctx, text, args...)
		return err
	})
	return changed, err
}

// find scans the one row of a statement that changes nothing, or returns sql.ErrNoRows.
func (s *Store) find(ctx context.Context, text string, args []any, into ...any) error {
	return s.read(ctx, func(c conn) error { return c.one(ctx, text, args, into...) })
}

// get returns the one row of a statement that changes nothing, or sql.ErrNoRows.
func get[T any](ctx context.Context, s *Store, text string, args []any, scan func(*sql.Rows) (T, error)) (found T, err error) {
	all, err := list(ctx, s, text, args, scan)
	if err != nil || len(all) == 0 {
		return found, cmp.Or(err, sql.ErrNoRows)
	}
	return all[0], nil
}

// list returns the rows of a statement, as an empty slice if there are none.
func list[T any](ctx context.Context, s *Store, text string, args []any, scan func(*sql.Rows) (T, error)) (all []T, err error) {
	err = s.read(ctx, func(c conn) error {
		all = []T{}
		return c.each(ctx, text, args, func(rows *sql.Rows) error {
			one, err := scan(rows)
			all = append(all, one)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// column scans what a field has in another form.
type column func(value any) error

// Scan implements sql.Scanner.
func (c column) Scan(value any) error { return c(value) }

// millis scans Unix milliseconds, and seconds Unix seconds. NULL is the zero time.
func millis(into *time.Time) column { return moment(into, time.UnixMilli) }

func seconds(into *time.Time) column {
	return moment(into, func(n int64) time.Time { return time.Unix(n, 0) })
}

func moment(into *time.Time, of func(int64) time.Time) column {
	return func(value any) error {
		var n sql.Null[int64]
		err := n.Scan(value)
		if n.Valid {
			*into = of(n.V).UTC()
		}
		return err
	}
}

// parsed scans a text by a method such as UnmarshalText.
func parsed(by func(text []byte) error) column {
	return func(value any) error {
		var text sql.Null[[]byte]
		if err := text.Scan(value); err != nil {
			return err
		}
		return by(text.V)
	}
}

// orNull returns a time in a unit, such as time.Time.Unix, or NULL for the zero time.
func orNull(t time.Time, unit func(time.Time) int64) any {
	if t.IsZero() {
		return nil
	}
	return unit(t)
}

// found returns err, or none if there was no row.
func found(err, none error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return none
	}
	return err
}

// changed returns err, or none if there is no error and no row was changed.
func changed(rows int64, err, none error) error {
	if err == nil && rows == 0 {
		return none
	}
	return err
}

// failed wraps an error with what the call was doing. It returns nil for nil.
func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlstore: %s: %w", what, err)
}

// storable reports whether PostgreSQL can store the texts unchanged.
func storable(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return !utf8.ValidString(text) || strings.Contains(text, "\x00") })
}
