package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
)

// upgrades lead from each version to the next; the first one starts at version 1. They
// run in the transaction of migrate. A released upgrade must never change.
var upgrades = [version - 1]func(context.Context, conn) error{
	addLineage,
	moveFormers,
	toVersion4,
	orderLedger,
	addMarks,
}

func addLineage(ctx context.Context, q conn) error {
	return q.execAll(ctx, `
ALTER TABLE {ledger} ADD COLUMN maker {text} NOT NULL DEFAULT '';
ALTER TABLE {ledger} ADD COLUMN maker_app {text} NOT NULL DEFAULT '';
ALTER TABLE {ledger} ADD COLUMN parent {text} NOT NULL DEFAULT '';
CREATE INDEX {ledger}_parent ON {ledger} (client_key, parent) WHERE parent <> '';
`)
}

// moveFormers moves former secrets from a column of JSON to rows, and drops the column.
// A program of the version before that still runs then fails. It does not go on with
// secrets that are no longer updated.
func moveFormers(ctx context.Context, q conn) error {
	// Renaming locks the table in PostgreSQL before the rows are read. So a rotation by
	// the older program is complete by then, or fails.
	if err := q.execAll(ctx, `ALTER TABLE {credentials} RENAME COLUMN formers TO moved;`+"\n"+formersTable); err != nil {
		return err
	}
	type credential struct{ clientKey, org, formers string }
	var all []credential // read all rows before the first one is moved
	err := q.each(ctx, `SELECT client_key, org, moved FROM {credentials} WHERE moved <> '[]'`, nil, func(rows *sql.Rows) error {
		var c credential
		err := rows.Scan(&c.clientKey, &c.org, &c.formers)
		all = append(all, c)
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range all {
		if err := addFormers(ctx, q, c.clientKey, c.org, c.formers); err != nil {
			return fmt.Errorf("former secrets of %q: %w", c.clientKey, err)
		}
	}
	return q.execAll(ctx, `ALTER TABLE {credentials} DROP COLUMN moved;`)
}

func addFormers(ctx context.Context, q conn, clientKey, org, text string) error {
	var formers []struct {
		Until  int64  `json:"until"` // Unix milliseconds
		Sealed []byte `json:"sealed"`
	}
	if err := json.Unmarshal([]byte(text), &formers); err != nil {
		return err
	}
	for _, f := range formers {
		_, err := q.exec(ctx, `INSERT INTO {formers} (client_key, id, org, ends, sealed) VALUES ($1, $2, $3, $4, $5)`,
			clientKey, rand.Text(), org, f.Until, f.Sealed)
		if err != nil {
			return err
		}
	}
	return nil
}

// toVersion4 adds the owner of each record of the ledger, the former keys of apps, and
// the wish to be remembered.
//
// A program of the version before that still runs adds records without an org. They are
// dead: nobody could revoke them by their owner. So are the records of an app whose key
// pair is not in {keys}, because their org is unknown. Its sessions are not remembered.
func toVersion4(ctx context.Context, q conn) error {
	return q.execAll(ctx, `
ALTER TABLE {ledger} ADD COLUMN org {text};
UPDATE {ledger} SET org = (SELECT org FROM {keys} WHERE {keys}.client_key = {ledger}.client_key);
CREATE INDEX {ledger}_org ON {ledger} (org);
CREATE INDEX IF NOT EXISTS {credentials}_org ON {credentials} (org, client_key);
ALTER TABLE {sessions} ADD COLUMN remember {int} NOT NULL DEFAULT 0;
`+formerKeysTable)
}

// addMarks begins a new epoch with the next Open.
func addMarks(ctx context.Context, q conn) error {
	if q.store.dialect == SQLite {
		return nil
	}
	return q.execAll(ctx, marksTable)
}

// orderLedger lets a page of the records of an app or of a subject be read in order, without
// all others.
func orderLedger(ctx context.Context, q conn) error {
	return q.execAll(ctx, `
CREATE INDEX IF NOT EXISTS {ledger}_issued ON {ledger} (client_key, issued, id);
DROP INDEX {ledger}_subject;
CREATE INDEX {ledger}_subject ON {ledger} (client_key, subject, issued, id);
`)
}
