package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/token"
)

// Ledger keeps the records of permanent and limited-use tokens in the database.
//
// Spend is one statement: of a limited-use token an update, of a permanent one
// a look-up, whose uses are not counted. The statement looks up each ancestor by
// its primary key. Issue and RevokeSubject are transactions that wait for others
// for the same subject only. Dead records go with the next Issue for the
// subject, and of those whose key was replaced all but the latest, as many as
// the limit. What descends from dead ones also goes with Sweep, and some of it
// with each Issue for a record that has a parent.
//
// Names are stored as text: what is not UTF-8, or has a zero byte, cannot be
// issued, and so is unknown.
type Ledger struct{ store *Store }

// Ledger returns the store's list of valid tokens.
func (s *Store) Ledger() *Ledger { return &Ledger{s} }

var _ token.Ledger = (*Ledger)(nil)

// lives is the condition that a row is live by {now}, and has at most so many
// ancestors. row is the table or an alias of it.
func lives(row string, ancestors int) string {
	return strings.ReplaceAll(
		`(row.expires IS NULL OR {now} < row.expires * 1000) AND (row.max_uses = 0 OR row.uses < row.max_uses) AND `,
		"row", row) + descends(row, ancestors)
}

// descends is the part of lives that is about the ancestors. A row without a
// parent costs no look-up.
func descends(row string, ancestors int) string {
	if ancestors == 0 {
		return row + `.parent = ''`
	}
	parent := fmt.Sprint("ancestor", ancestors)
	return strings.NewReplacer("row", row, "up", parent).Replace(
		`(row.parent = '' OR EXISTS (SELECT 1 FROM {ledger} up WHERE up.client_key = row.client_key AND up.id = row.parent AND `) +
		lives(parent, ancestors-1) + `))`
}

const sameText = `client_key = $1 AND id = $2 AND subject = $3 AND key_id = $4 AND max_uses = $5`

// Statements that are long are made once. They name the row by the table, as
// RETURNING of SQLite knows no alias.
var (
	liveText = lives("{ledger}", token.MaxAncestors)

	placeText = `
		SELECT EXISTS (SELECT 1 FROM {ledger} WHERE client_key = $1 AND id = $4),
			(SELECT count(*) FROM {ledger} WHERE client_key = $1 AND subject = $2 AND key_id = $3 AND ` + liveText + `),
			EXISTS (SELECT 1 FROM {ledger} WHERE client_key = $1 AND id = $5 AND ` + liveText + `),
			EXISTS (SELECT 1 FROM {ledger} WHERE client_key = $1 AND id = $5 AND ` + lives("{ledger}", token.MaxAncestors-1) + `)`
	pruneText = `
		DELETE FROM {ledger} WHERE client_key = $1 AND subject = $2 AND (NOT (` + liveText + `) OR key_id <> $3 AND id NOT IN (
			SELECT id FROM {ledger} WHERE client_key = $1 AND subject = $2 AND key_id <> $3
			ORDER BY issued DESC, id LIMIT $4))`
	checkText = `SELECT maker, maker_app, parent FROM {ledger} WHERE ` + sameText + ` AND ` + liveText
	debitText = `UPDATE {ledger} SET uses = uses + 1 WHERE ` + sameText + ` AND ` + liveText + ` RETURNING maker, maker_app, parent`

	revokeText       = `DELETE FROM {ledger} WHERE client_key = $1 AND id = $2 RETURNING ` + liveText
	countSubjectText = `SELECT count(*) FROM {ledger} WHERE client_key = $1 AND subject = $2 AND ` + liveText
	listText         = `
		SELECT id, key_id, uses, max_uses, issued, expires, maker, maker_app, parent FROM {ledger}
		WHERE client_key = $1 AND subject = $2 AND ` + liveText + ` ORDER BY issued, id`
)

// Issue implements token.Ledger.
func (l *Ledger) Issue(ctx context.Context, r token.Record, limit int) error {
	switch {
	case !storable(r.ClientKey, r.ID, r.Subject, r.KeyID, r.Maker, r.MakerApp):
		return errors.New("sqlstore: issue: a name is not UTF-8 or has a zero byte")
	case !storable(r.Parent):
		return fmt.Errorf("sqlstore: issue: %w", token.ErrRevoked)
	}
	err := l.store.transact(ctx, subjectLock(r.ClientKey, r.Subject), func(q querier) error { return l.issue(ctx, q, r, limit) })
	if err != nil {
		return fmt.Errorf("sqlstore: issue: %w", err)
	}
	l.store.wrote(ctx)
	return nil
}

// subjectLock names the lock of a subject. Names have no zero byte, so that no
// two subjects share a lock by design.
func subjectLock(clientKey, subject string) string {
	return "ledger\x00" + clientKey + "\x00" + subject
}

func (l *Ledger) issue(ctx context.Context, q querier, r token.Record, limit int) error {
	if err := l.vet(ctx, q, r, limit); err != nil {
		return err
	}
	// Drops the subject's dead records and, of those of other keys, all but the
	// latest.
	if _, err := q.ExecContext(ctx, l.store.text(pruneText), r.ClientKey, r.Subject, r.KeyID, limit); err != nil {
		return err
	}
	// Of another subject the same id may come at this moment: the primary key
	// refuses it.
	_, err := q.ExecContext(ctx, l.store.text(`
		INSERT INTO {ledger} (client_key, id, subject, key_id, uses, max_uses, issued, expires, maker, maker_app, parent)
		VALUES ($1, $2, $3, $4, 0, $5, $6, $7, $8, $9, $10)`),
		r.ClientKey, r.ID, r.Subject, r.KeyID, r.MaxUses, r.Issued.Unix(), seconds(r.Expires), r.Maker, r.MakerApp, r.Parent)
	if err != nil || r.Parent == "" {
		return err
	}
	// Ids are random, so that each record looks at others than the one before.
	_, err = l.store.dropDescendants(ctx, q, looksPerIssue, r.ClientKey, r.ID)
	return err
}

// vet returns why r may not be issued. The parent is not locked: if it is revoked
// after this look, the record that is added is dead with it.
func (l *Ledger) vet(ctx context.Context, q querier, r token.Record, limit int) error {
	var known, parentLives, parentMayMake bool
	var live int
	err := q.QueryRowContext(ctx, l.store.text(placeText), r.ClientKey, r.Subject, r.KeyID, r.ID, r.Parent).
		Scan(&known, &live, &parentLives, &parentMayMake)
	switch {
	case err != nil:
		return err
	case known:
		return errors.New("id was issued before")
	case r.Parent != "" && !parentLives:
		return token.ErrRevoked
	case r.Parent != "" && !parentMayMake:
		return token.ErrTooDeep
	case live >= limit:
		return token.ErrTooMany
	}
	return nil
}

// Spend implements token.Spender.
func (l *Ledger) Spend(ctx context.Context, r token.Record) (token.Lineage, error) {
	if !storable(r.ClientKey, r.ID, r.Subject, r.KeyID) {
		return token.Lineage{}, token.ErrRevoked
	}
	run, text := l.store.write, debitText
	if r.MaxUses == 0 {
		run, text = l.store.read, checkText // there is no count to write
	}
	text = l.store.text(text)
	var made token.Lineage
	err := run(ctx, func(q querier) error {
		return one(ctx, q, text, sameArgs(r), &made.Maker, &made.MakerApp, &made.Parent)
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = l.refusal(ctx, r)
	}
	if err != nil {
		return token.Lineage{}, fmt.Errorf("sqlstore: spend: %w", err)
	}
	return made, nil
}

func sameArgs(r token.Record) []any {
	return []any{r.ClientKey, r.ID, r.Subject, r.KeyID, r.MaxUses}
}

// refusal says why a use was not debited. It is too late to change anything.
func (l *Ledger) refusal(ctx context.Context, r token.Record) error {
	var exhausted bool
	err := l.store.read(ctx, func(q querier) error {
		return q.QueryRowContext(ctx, l.store.text(
			`SELECT EXISTS (SELECT 1 FROM {ledger} WHERE `+sameText+` AND max_uses > 0 AND uses >= max_uses)`), sameArgs(r)...).Scan(&exhausted)
	})
	if err == nil && exhausted {
		return token.ErrExhausted
	}
	return token.ErrRevoked
}

// Revoke implements token.Ledger.
func (l *Ledger) Revoke(ctx context.Context, clientKey, id string) error {
	if id == "" {
		return token.ErrEphemeral
	}
	if !storable(clientKey, id) {
		return token.ErrNotFound
	}
	var live bool
	err := l.store.write(ctx, func(q querier) error {
		return one(ctx, q, l.store.text(revokeText), []any{clientKey, id}, &live)
	})
	if errors.Is(err, sql.ErrNoRows) || err == nil && !live {
		err = token.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("sqlstore: revoke: %w", err)
	}
	return nil
}

// RevokeSubject implements token.Ledger.
func (l *Ledger) RevokeSubject(ctx context.Context, clientKey, subject string) (live int, err error) {
	if !storable(clientKey, subject) {
		return 0, nil
	}
	err = l.store.transact(ctx, subjectLock(clientKey, subject), func(q querier) error {
		// Counted before any is gone: one may be the parent of another.
		if err := q.QueryRowContext(ctx, l.store.text(countSubjectText), clientKey, subject).Scan(&live); err != nil {
			return err
		}
		_, err := q.ExecContext(ctx, l.store.text(`DELETE FROM {ledger} WHERE client_key = $1 AND subject = $2`), clientKey, subject)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("sqlstore: revoke a subject: %w", err)
	}
	return live, nil
}

// List implements token.Ledger.
func (l *Ledger) List(ctx context.Context, clientKey, subject string) ([]token.Record, error) {
	list := []token.Record{}
	if !storable(clientKey, subject) {
		return list, nil
	}
	err := l.store.read(ctx, func(q querier) error {
		list = list[:0]
		return each(ctx, q, l.store.text(listText), []any{clientKey, subject}, func(rows *sql.Rows) error {
			r := token.Record{ClientKey: clientKey, Subject: subject}
			var issued int64
			var expires sql.NullInt64
			err := rows.Scan(&r.ID, &r.KeyID, &r.Uses, &r.MaxUses, &issued, &expires, &r.Maker, &r.MakerApp, &r.Parent)
			if err != nil {
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
