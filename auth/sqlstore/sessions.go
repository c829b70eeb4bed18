package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

// Sessions keeps sessions and tickets in the database, found by the hash of
// their token. Get is one look-up. Touch is an update that cannot create, and
// none if the time is not later.
type Sessions struct{ store *Store }

// Sessions returns the store's sessions.
func (s *Store) Sessions() *Sessions { return &Sessions{s} }

var _ session.Store = (*Sessions)(nil)

// A record is live until it is replaced or over.
const (
	notOverText     = `{now} < expires`
	liveSessionText = `replaced = 0 AND ` + notOverText
	ofAccountText   = `org = $1 AND account = $2`
)

// Create implements session.Store. A hash or an id that the account has already
// is an error.
func (s *Sessions) Create(ctx context.Context, n session.Session, limit int) error {
	if n.Org == "" || n.Account == "" {
		return errors.New("sqlstore: create a session: it has no org or no account")
	}
	if !storable(n.ID, n.Org, n.Account, string(n.Ticket), n.Address, n.Agent) {
		return errors.New("sqlstore: create a session: a text is not UTF-8 or has a zero byte")
	}
	add := func(q querier) error { return s.add(ctx, q, n) }
	var err error
	if limit <= 0 {
		err = s.store.write(ctx, add)
	} else {
		err = s.store.transact(ctx, "sessions\x00"+n.Org+"\x00"+n.Account, func(q querier) error {
			if err := s.makeRoom(ctx, q, n, limit); err != nil {
				return err
			}
			return add(q)
		})
	}
	if err != nil {
		return fmt.Errorf("sqlstore: create a session: %w", err)
	}
	s.store.wrote(ctx)
	return nil
}

// add inserts a record, unless its hash opened another one until the latest
// Replace of that.
func (s *Sessions) add(ctx context.Context, q querier, n session.Session) error {
	rows, err := affected(q.ExecContext(ctx, s.store.text(`
		INSERT INTO {sessions} (hash, id, org, account, ticket, created, authenticated, seen, expires, address, agent, replaced)
		SELECT CAST($1 AS {bytes}), $2, $3, $4, $5, CAST($6 AS bigint), CAST($7 AS bigint), CAST($8 AS bigint), CAST($9 AS bigint), $10, $11, 0
		WHERE NOT EXISTS (SELECT 1 FROM {sessions} WHERE previous = $1)`),
		n.Hash[:], n.ID, n.Org, n.Account, string(n.Ticket),
		n.Created.UnixMilli(), n.Authenticated.UnixMilli(), n.Seen.UnixMilli(), n.Expires.UnixMilli(), n.Address, n.Agent))
	if err == nil && rows == 0 {
		return errHash
	}
	return err
}

var errHash = errors.New("the hash is not new")

// makeRoom ends the oldest of the account's records like n until there are
// fewer than limit. It knows them by their id, as a Replace may be giving one
// another hash.
func (s *Sessions) makeRoom(ctx context.Context, q querier, n session.Session, limit int) error {
	_, err := q.ExecContext(ctx, s.store.text(`
		UPDATE {sessions} SET replaced = 1 WHERE `+ofAccountText+` AND replaced = 0 AND id IN (
			SELECT id FROM {sessions} WHERE `+ofAccountText+` AND ticket = $3 AND `+liveSessionText+`
			ORDER BY created DESC, id DESC LIMIT 1000000000 OFFSET $4)`),
		n.Org, n.Account, string(n.Ticket), limit-1)
	return err
}

const sessionText = `hash, id, org, account, ticket, created, authenticated, seen, expires, address, agent`

// scanSession reads sessionText and what else a statement returns.
func scanSession(scan func(...any) error, more ...any) (session.Session, error) {
	var n session.Session
	var hash []byte
	var ticket string
	var created, authenticated, seen, expires int64
	err := scan(append([]any{&hash, &n.ID, &n.Org, &n.Account, &ticket, &created, &authenticated, &seen, &expires, &n.Address, &n.Agent}, more...)...)
	if err != nil {
		return session.Session{}, err
	}
	if len(hash) != len(n.Hash) {
		return session.Session{}, errors.New("a hash is not 32 bytes long")
	}
	n.Hash, n.Ticket = [32]byte(hash), session.Ticket(ticket)
	n.Created, n.Authenticated = time.UnixMilli(created).UTC(), time.UnixMilli(authenticated).UTC()
	n.Seen, n.Expires = time.UnixMilli(seen).UTC(), time.UnixMilli(expires).UTC()
	return n, nil
}

// Get implements session.Store.
func (s *Sessions) Get(ctx context.Context, hash [32]byte) (session.Session, error) {
	var found session.Session
	var replaced bool
	err := s.store.read(ctx, func(q querier) (err error) {
		row := q.QueryRowContext(ctx, s.store.text(`SELECT `+sessionText+`, replaced = 1 FROM {sessions} WHERE hash = $1 AND `+notOverText), hash[:])
		found, err = scanSession(row.Scan, &replaced)
		return err
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return session.Session{}, auth.ErrNotFound
	case err != nil:
		return session.Session{}, fmt.Errorf("sqlstore: get a session: %w", err)
	case replaced:
		return session.Session{}, session.ErrReplaced
	}
	return found, nil
}

// Touch implements session.Store.
func (s *Sessions) Touch(ctx context.Context, hash [32]byte, seen time.Time) error {
	return s.change(ctx, "touch a session", func(q querier) (int64, error) {
		n, err := affected(q.ExecContext(ctx, s.store.text(`UPDATE {sessions} SET seen = $2 WHERE hash = $1 AND seen < $2 AND `+liveSessionText),
			hash[:], seen.UnixMilli()))
		if n > 0 || err != nil {
			return n, err
		}
		// Gone, or seen that late already.
		err = q.QueryRowContext(ctx, s.store.text(`SELECT count(*) FROM {sessions} WHERE hash = $1 AND `+liveSessionText), hash[:]).Scan(&n)
		return n, err
	})
}

// Replace implements session.Store. A hash that is not new is an error.
func (s *Sessions) Replace(ctx context.Context, old [32]byte, n session.Session) error {
	return s.change(ctx, "replace a session's token", func(q querier) (int64, error) {
		return affected(q.ExecContext(ctx, s.store.text(`
			UPDATE {sessions} SET hash = $2, previous = $1, authenticated = $3, seen = $4 WHERE hash = $1 AND `+liveSessionText),
			old[:], n.Hash[:], n.Authenticated.UnixMilli(), n.Seen.UnixMilli()))
	})
}

// change runs a statement, and returns auth.ErrNotFound if it has found nothing.
func (s *Sessions) change(ctx context.Context, what string, f func(querier) (int64, error)) error {
	err := s.store.write(ctx, func(q querier) error {
		n, err := f(q)
		if err == nil && n == 0 {
			return auth.ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlstore: %s: %w", what, err)
	}
	return nil
}

// Delete implements session.Store. PostgreSQL looks at a row again that a
// Replace has changed meanwhile, and finds the hash in the other column.
func (s *Sessions) Delete(ctx context.Context, hash [32]byte) error {
	is, err := s.maybe(ctx, hash)
	if err == nil && is {
		err = s.store.write(ctx, func(q querier) error {
			_, err := q.ExecContext(ctx, s.store.text(`DELETE FROM {sessions} WHERE `+openedText), hash[:])
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("sqlstore: delete a session: %w", err)
	}
	return nil
}

// openedText is whether a hash opens a record, or has opened it until its latest
// Replace.
const openedText = `(hash = $1 OR previous = $1) AND replaced = 0`

// maybe tells whether there may be something to delete. Anybody may log out with
// cookies that are made up: in SQLite that must not ask for the lock for writing.
func (s *Sessions) maybe(ctx context.Context, hash [32]byte) (is bool, err error) {
	if s.store.dialect != SQLite {
		return true, nil
	}
	err = s.store.read(ctx, func(q querier) error {
		return q.QueryRowContext(ctx, s.store.text(`SELECT EXISTS (SELECT 1 FROM {sessions} WHERE `+openedText+`)`), hash[:]).Scan(&is)
	})
	return is, err
}

// DeleteID implements session.Store.
func (s *Sessions) DeleteID(ctx context.Context, org, account, id string) error {
	if !storable(org, account, id) {
		return auth.ErrNotFound
	}
	return s.change(ctx, "delete a session", func(q querier) (int64, error) {
		return affected(q.ExecContext(ctx, s.store.text(`DELETE FROM {sessions} WHERE `+ofAccountText+` AND id = $3 AND `+liveSessionText), org, account, id))
	})
}

// DeleteAll implements session.Store.
func (s *Sessions) DeleteAll(ctx context.Context, org, account, except string) (int, error) {
	if account == "" {
		return 0, errors.New("sqlstore: delete sessions: no account is named")
	}
	if !storable(org, account, except) {
		return 0, nil
	}
	return s.deleteWhere(ctx, ofAccountText+` AND ($3 = '' OR id <> $3)`, org, account, except)
}

// DeleteOrg implements session.Store.
func (s *Sessions) DeleteOrg(ctx context.Context, org string) (int, error) {
	if org == "" {
		return 0, errors.New("sqlstore: delete sessions: no org is named")
	}
	if !storable(org) {
		return 0, nil
	}
	return s.deleteWhere(ctx, `org = $1`, org)
}

// deleteWhere ends the records that a condition selects, and returns how many of
// them were sessions.
func (s *Sessions) deleteWhere(ctx context.Context, condition string, args ...any) (ended int, err error) {
	err = s.store.write(ctx, func(q querier) error {
		ended = 0
		return each(ctx, q, s.store.text(`
			DELETE FROM {sessions} WHERE `+condition+` AND replaced = 0
			RETURNING ticket = '' AND `+notOverText), args, func(rows *sql.Rows) error {
			var was bool
			err := rows.Scan(&was)
			if was {
				ended++
			}
			return err
		})
	})
	if err != nil {
		return 0, fmt.Errorf("sqlstore: delete sessions: %w", err)
	}
	return ended, nil
}

// List implements session.Store.
func (s *Sessions) List(ctx context.Context, org, account string) ([]session.Session, error) {
	list := []session.Session{}
	if !storable(org, account) {
		return list, nil
	}
	err := s.store.read(ctx, func(q querier) error {
		list = list[:0]
		return each(ctx, q, s.store.text(`SELECT `+sessionText+` FROM {sessions} WHERE `+ofAccountText+` AND `+liveSessionText+` ORDER BY created, id`),
			[]any{org, account}, func(rows *sql.Rows) error {
				n, err := scanSession(rows.Scan)
				list = append(list, n)
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: list sessions: %w", err)
	}
	return list, nil
}
