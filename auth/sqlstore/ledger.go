package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/tenantkit/tenantkit/token"
)

// Ledger keeps the records of permanent and limited-use tokens in the database.
//
// Spend is one statement: of a limited-use token an update, of a permanent one
// a look-up, whose uses are not counted. Issue is a transaction that waits for
// others for the same subject only. Spent records go with the next Issue for
// the subject, and of those whose key was replaced all but the latest, as many
// as the limit.
//
// Names are stored as text: what is not UTF-8, or has a zero byte, cannot be
// issued, and so is unknown.
type Ledger struct{ store *Store }

// Ledger returns the store's list of valid tokens.
func (s *Store) Ledger() *Ledger { return &Ledger{s} }

var _ token.Ledger = (*Ledger)(nil)

// A record is live by {now}.
const (
	unexpiredText = `(expires IS NULL OR {now} < expires * 1000)`
	unspentText   = `(max_uses = 0 OR uses < max_uses)`
	liveText      = unexpiredText + ` AND ` + unspentText
)

// Issue implements token.Ledger.
func (l *Ledger) Issue(ctx context.Context, r token.Record, limit int) error {
	if !storable(r.ClientKey, r.ID, r.Subject, r.KeyID) {
		return errors.New("sqlstore: issue: a name is not UTF-8 or has a zero byte")
	}
	// Names have no zero byte, so that no two subjects share a lock by design.
	lock := "ledger\x00" + r.ClientKey + "\x00" + r.Subject
	err := l.store.transact(ctx, lock, func(q querier) error { return l.issue(ctx, q, r, limit) })
	if err != nil {
		return fmt.Errorf("sqlstore: issue: %w", err)
	}
	l.store.wrote(ctx)
	return nil
}

func (l *Ledger) issue(ctx context.Context, q querier, r token.Record, limit int) error {
	var known, live int
	err := q.QueryRowContext(ctx, l.store.text(`
		SELECT (SELECT count(*) FROM {ledger} WHERE client_key = $1 AND id = $4),
			(SELECT count(*) FROM {ledger} WHERE client_key = $1 AND subject = $2 AND key_id = $3 AND `+liveText+`)`),
		r.ClientKey, r.Subject, r.KeyID, r.ID).Scan(&known, &live)
	switch {
	case err != nil:
		return err
	case known > 0:
		return errors.New("id was issued before")
	case live >= limit:
		return token.ErrTooMany
	}
	if err := l.prune(ctx, q, r, limit); err != nil {
		return err
	}
	// Of another subject the same id may come at this moment: the primary key
	// refuses it.
	_, err = q.ExecContext(ctx, l.store.text(`
		INSERT INTO {ledger} (client_key, id, subject, key_id, uses, max_uses, issued, expires)
		VALUES ($1, $2, $3, $4, 0, $5, $6, $7)`),
		r.ClientKey, r.ID, r.Subject, r.KeyID, r.MaxUses, r.Issued.Unix(), seconds(r.Expires))
	return err
}

// prune drops a subject's dead records and, of those of other keys, all but
// the latest.
func (l *Ledger) prune(ctx context.Context, q querier, r token.Record, limit int) error {
	_, err := q.ExecContext(ctx, l.store.text(`
		DELETE FROM {ledger} WHERE client_key = $1 AND subject = $2 AND (NOT (`+liveText+`) OR key_id <> $3 AND id NOT IN (
			SELECT id FROM {ledger} WHERE client_key = $1 AND subject = $2 AND key_id <> $3
			ORDER BY issued DESC, id DESC LIMIT $4))`), r.ClientKey, r.Subject, r.KeyID, limit)
	return err
}

// Spend implements token.Spender.
func (l *Ledger) Spend(ctx context.Context, r token.Record) error {
	if !storable(r.ClientKey, r.ID, r.Subject, r.KeyID) {
		return token.ErrRevoked
	}
	spend := l.debit
	if r.MaxUses == 0 {
		spend = l.check
	}
	spent, err := spend(ctx, r)
	if err == nil && !spent {
		err = l.refusal(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("sqlstore: spend: %w", err)
	}
	return nil
}

const sameText = `client_key = $1 AND id = $2 AND subject = $3 AND key_id = $4 AND max_uses = $5`

func (l *Ledger) debit(ctx context.Context, r token.Record) (spent bool, err error) {
	err = l.store.write(ctx, func(q querier) error {
		n, err := affected(q.ExecContext(ctx,
			l.store.text(`UPDATE {ledger} SET uses = uses + 1 WHERE `+sameText+` AND `+liveText),
			r.ClientKey, r.ID, r.Subject, r.KeyID, r.MaxUses))
		spent = n == 1
		return err
	})
	return spent, err
}

// check finds a record that has no count: there is nothing to write.
func (l *Ledger) check(ctx context.Context, r token.Record) (live bool, err error) {
	return l.exists(ctx, r, liveText)
}

// refusal says why a use was not debited. It is too late to change anything.
func (l *Ledger) refusal(ctx context.Context, r token.Record) error {
	exhausted, err := l.exists(ctx, r, "NOT "+unspentText)
	if err == nil && exhausted {
		return token.ErrExhausted
	}
	return token.ErrRevoked
}

func (l *Ledger) exists(ctx context.Context, r token.Record, condition string) (yes bool, err error) {
	err = l.store.read(ctx, func(q querier) error {
		return q.QueryRowContext(ctx, l.store.text(`SELECT EXISTS (SELECT 1 FROM {ledger} WHERE `+sameText+` AND `+condition+`)`),
			r.ClientKey, r.ID, r.Subject, r.KeyID, r.MaxUses).Scan(&yes)
	})
	return yes, err
}

// Revoke implements token.Ledger.
func (l *Ledger) Revoke(ctx context.Context, clientKey, id string) error {
	if id == "" {
		return token.ErrEphemeral
	}
	if !storable(clientKey, id) {
		return token.ErrNotFound
	}
	n, err := l.revoke(ctx, `DELETE FROM {ledger} WHERE client_key = $1 AND id = $2 RETURNING `+liveText, clientKey, id)
	if err == nil && n == 0 {
		err = token.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("sqlstore: revoke: %w", err)
	}
	return nil
}

// RevokeSubject implements token.Ledger.
func (l *Ledger) RevokeSubject(ctx context.Context, clientKey, subject string) (int, error) {
	if !storable(clientKey, subject) {
		return 0, nil
	}
	n, err := l.revoke(ctx, `DELETE FROM {ledger} WHERE client_key = $1 AND subject = $2 RETURNING `+liveText, clientKey, subject)
	if err != nil {
		return 0, fmt.Errorf("sqlstore: revoke a subject: %w", err)
	}
	return n, nil
}

// revoke returns how many of the records deleted were live.
func (l *Ledger) revoke(ctx context.Context, statement string, args ...any) (live int, err error) {
	err = l.store.write(ctx, func(q querier) error {
		live = 0
		return each(ctx, q, l.store.text(statement), args, func(rows *sql.Rows) error {
			var was bool
			if err := rows.Scan(&was); err != nil {
				return err
			}
			if was {
				live++
			}
			return nil
		})
	})
	return live, err
}

// List implements token.Ledger.
func (l *Ledger) List(ctx context.Context, clientKey, subject string) ([]token.Record, error) {
	list := []token.Record{}
	if !storable(clientKey, subject) {
		return list, nil
	}
	err := l.store.read(ctx, func(q querier) error {
		list = list[:0]
		return each(ctx, q, l.store.text(`
			SELECT id, key_id, uses, max_uses, issued, expires FROM {ledger}
			WHERE client_key = $1 AND subject = $2 AND `+liveText+` ORDER BY issued, id`), []any{clientKey, subject},
			func(rows *sql.Rows) error {
				r := token.Record{ClientKey: clientKey, Subject: subject}
				var issued int64
				var expires sql.NullInt64
				if err := rows.Scan(&r.ID, &r.KeyID, &r.Uses, &r.MaxUses, &issued, &expires); err != nil {
					return err
				}
				r.Issued = time.Unix(issued, 0).UTC()
				if expires.Valid {
					r.Expires = time.Unix(expires.Int64, 0).UTC()
				}
				list = append(list, r)
				return nil
			})
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: list tokens: %w", err)
	}
	return list, nil
}

// seconds is NULL for the zero time.
func seconds(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Unix()
}
