package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// querier is a *sql.DB, *sql.Conn, *prepared.DB or Tx.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// do measures and runs f. In a transaction of the application it runs f once. Outside of one, a single
// goroutine of a Store writes to SQLite at a time. There do calls f again while another process holds
// SQLite's lock, and after PostgreSQL has ended f because of a deadlock or a long wait for a lock. In all
// these cases f has changed nothing.
func (s *Store) do(ctx context.Context, writes bool, f func(conn) error) error {
	defer s.calls.End(time.Now())
	q := conn{store: s, on: s.single}
	if s.inside != nil {
		return s.run(ctx, q, f)
	}
	if writes && s.writing != nil {
		select {
		case s.writing <- struct{}{}:
			defer func() { <-s.writing }()
		case <-ctx.Done():
			return auth.Unavailable(ctx.Err())
		}
	}
	const longest = 20 * time.Millisecond
	for wait := time.Millisecond; ; wait = min(2*wait, longest) {
		err := f(q)
		if err == nil || !isLocked(s.dialect, err) {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// read runs f, whose statements change nothing.
func (s *Store) read(ctx context.Context, f func(conn) error) error {
	return s.do(ctx, false, f)
}

// write runs f. Without locks f is one statement, which is atomic by itself. With locks f is a transaction:
// those with a lock in common run one at a time, in SQLite all do. Locks are taken in their order.
func (s *Store) write(ctx context.Context, f func(conn) error, locks ...string) error {
	return s.do(ctx, true, func(q conn) error {
		switch {
		case len(locks) == 0:
			return f(q)
		case s.inside != nil:
			return s.step(ctx, q, locks, f)
		case s.dialect == PostgreSQL:
			return s.transactPostgres(ctx, locks, f)
		}
		return s.transactSQLite(ctx, f)
	})
}

func (s *Store) transactPostgres(ctx context.Context, locks []string, f func(conn) error) error {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return auth.Unavailable(err)
	}
	defer tx.Rollback()
	// The locks have their own statement: the statements after it see everything that was
	// committed before the locks were granted. The time limits come first. They end the
	// transaction of a host that vanishes or stops: others wait for its lock, those of
	// other orgs too, and TCP may notice after hours. They also end the waits of its
	// other calls, which would get the lock one after the other.
	// Compiling takes a second where a subject has thousands of tokens, and saves nothing.
	const text = `SELECT set_config('idle_in_transaction_session_timeout', '2s', true), set_config('lock_timeout', '3s', true),
		set_config('jit', 'off', true)`
	if err := s.lock(ctx, tx, text, locks); err != nil {
		return auth.Unavailable(err)
	}
	if err := f(conn{store: s, on: tx}); err != nil {
		return err
	}
	return auth.Unavailable(tx.Commit())
}

// application is a transaction of the application.
type application struct{ broken error }

// run runs f in the application's transaction, unless the engine has failed in it before, or SQLite has
// rolled it back: the changes of f would be committed apart from the application's.
func (s *Store) run(ctx context.Context, q conn, f func(conn) error) error {
	a := s.inside
	if a.broken == nil && s.dialect == SQLite {
		a.broken = q.checkBegun(ctx)
	}
	if a.broken != nil {
		return a.broken
	}
	err := f(q)
	if errors.Is(err, auth.ErrUnavailable) && a.broken == nil {
		a.broken = err
	}
	return err
}

// checkBegun returns nil if SQLite refuses to begin a transaction within another one.
func (c conn) checkBegun(ctx context.Context) error {
	_, err := c.exec(ctx, "BEGIN")
	switch {
	case err == nil:
		_, err = c.exec(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(errEnded, err)
	case strings.Contains(err.Error(), "within a transaction"):
		return nil
	}
	return err
}

var errEnded = fmt.Errorf("%w: SQLite has ended it, and nothing of it is left: roll it back and repeat it", ErrTx)

// lock runs a SELECT that also takes the locks.
func (s *Store) lock(ctx context.Context, on querier, text string, locks []string) error {
	keys := make([]any, len(locks))
	for i, lock := range locks {
		sum := sha256.Sum256([]byte(s.options.Prefix + "\x00" + lock))
		keys[i], text = int64(binary.BigEndian.Uint64(sum[:8])), fmt.Sprintf("%s, pg_advisory_xact_lock($%d)", text, i+1)
	}
	_, err := on.ExecContext(ctx, text, keys...)
	return err
}

// step runs f as one atomic step of the application's transaction. The locks stay until that ends.
// The transaction's settings are its owner's, so nothing but ctx limits the wait.
func (s *Store) step(ctx context.Context, q conn, locks []string, f func(conn) error) error {
	if _, err := q.exec(ctx, "SAVEPOINT tenantkit_step"); err != nil {
		return err
	}
	err := error(nil)
	if s.dialect == PostgreSQL {
		err = auth.Unavailable(s.lock(ctx, s.single, "SELECT 1", locks))
	}
	if err == nil {
		err = f(q)
	}
	if err == nil {
		_, err = q.exec(ctx, "RELEASE SAVEPOINT tenantkit_step")
	}
	if err == nil {
		return nil
	}
	// Also if the context has ended: the application may commit what it did before.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, failed := q.exec(ctx, "ROLLBACK TO SAVEPOINT tenantkit_step")
	if failed == nil {
		_, failed = q.exec(ctx, "RELEASE SAVEPOINT tenantkit_step")
	}
	s.inside.broken = failed
	return err
}

// transactSQLite begins with the write lock, for which database/sql has no option.
// SQLite may refuse a transaction that asks for the lock later.
func (s *Store) transactSQLite(ctx context.Context, f func(conn) error) error {
	c, err := s.db.Conn(ctx)
	if err != nil {
		return auth.Unavailable(err)
	}
	defer c.Close()
	q := conn{store: s, on: c}
	_, err = q.exec(ctx, "BEGIN IMMEDIATE")
	if err == nil {
		err = f(q)
	}
	if err == nil {
		_, err = q.exec(ctx, "COMMIT")
	}
	if err == nil {
		return nil
	}
	// Also after BEGIN: if the context ends at this moment, the transaction may have begun.
	_, failed := c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	if failed != nil && !strings.Contains(failed.Error(), "no transaction is active") {
		c.Raw(func(any) error { return driver.ErrBadConn }) // closes the connection
	}
	return err
}

// isLocked recognizes SQLITE_BUSY by SQLite's own text, because each driver has its own
// error type. The error types of PostgreSQL's drivers return the SQLSTATE. The error of a row that cannot
// be read may quote the row, which may have any text: it is not of the driver, and wraps no
// auth.ErrUnavailable.
func isLocked(d Dialect, err error) bool {
	if d == SQLite {
		return errors.Is(err, auth.ErrUnavailable) && strings.Contains(err.Error(), "database is locked")
	}
	const deadlock, lockTimeout = "40P01", "55P03"
	failed, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	return ok && (failed.SQLState() == deadlock || failed.SQLState() == lockTimeout)
}
