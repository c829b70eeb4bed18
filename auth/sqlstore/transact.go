package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"strings"
	"time"
)

// querier is a *sql.DB, *sql.Tx, *sql.Conn or *prepared.DB.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// read runs statements that change nothing.
func (s *Store) read(ctx context.Context, f func(querier) error) error {
	return s.unlocked(ctx, func() error { return f(s.single) })
}

// write runs one statement that is a step by itself.
func (s *Store) write(ctx context.Context, f func(querier) error) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return s.unlocked(ctx, func() error { return f(s.single) })
}

// transact runs f in a transaction, one at a time for each lock.
func (s *Store) transact(ctx context.Context, lock string, f func(querier) error) error {
	if s.dialect == PostgreSQL {
		return s.unlocked(ctx, func() error { return s.transactPostgres(ctx, lock, f) })
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return s.unlocked(ctx, func() error { return s.transactSQLite(ctx, f) })
}

func (s *Store) transactPostgres(ctx context.Context, lock string, f func(querier) error) error {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	// A statement of its own: what comes after it sees what was committed before
	// the lock was had.
	sum := sha256.Sum256([]byte(s.prefix + "\x00" + lock))
	key := int64(binary.BigEndian.Uint64(sum[:8]))
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", key); err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// transactSQLite begins with the lock for writing, which database/sql has no
// word for: a transaction that asks for it later may be refused.
func (s *Store) transactSQLite(ctx context.Context, f func(querier) error) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		// A context that ends at this moment may leave it begun.
		rollback(ctx, conn)
		return err
	}
	if err := f(conn); err != nil {
		rollback(ctx, conn)
		return err
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		rollback(ctx, conn)
		return err
	}
	return nil
}

// rollback ends the transaction also when the context has ended, or else the
// connection.
func rollback(ctx context.Context, conn *sql.Conn) {
	_, err := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	if err != nil && !strings.Contains(err.Error(), "no transaction is active") {
		conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// enter waits for the one place of those that write to SQLite. In PostgreSQL
// there is no such place.
func (s *Store) enter(ctx context.Context) (leave func(), err error) {
	if s.writing == nil {
		return func() {}, nil
	}
	select {
	case s.writing <- struct{}{}:
		return func() { <-s.writing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// unlocked repeats f as long as another process has SQLite's lock, or PostgreSQL
// ends f as one of two that wait for each other: f has then done nothing.
func (s *Store) unlocked(ctx context.Context, f func() error) error {
	const longest = 20 * time.Millisecond
	for wait := time.Millisecond; ; wait = min(2*wait, longest) {
		err := f()
		if err == nil || !s.dialect.isLocked(err) {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// isLocked knows SQLITE_BUSY by the text that SQLite itself has for it, as each
// driver has a type of its own. The types of PostgreSQL's drivers tell SQLSTATE.
func (d Dialect) isLocked(err error) bool {
	if d == SQLite {
		return strings.Contains(err.Error(), "database is locked")
	}
	const deadlock = "40P01"
	return sqlState(err) == deadlock
}

// sqlState returns what PostgreSQL calls an error, "" if it does not say.
func sqlState(err error) string {
	failed, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	if !ok {
		return ""
	}
	return failed.SQLState()
}
