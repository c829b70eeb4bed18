package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/tenantkit/tenantkit/token"
)

const (
	batch = 1000

	// A write adds at most two rows. A batch of 1000 of each kind with every 256th write
	// deletes more rows than writes add.
	writesPerSweep = 256

	// sweepTime limits how much longer a write may take because of the deletion.
	sweepTime = 100 * time.Millisecond

	batchesPerSweep = 100

	// looksPerIssue is the number of descendants that an Issue of a descendant checks.
	// It keeps the dead ones from outnumbering the live ones.
	looksPerIssue = 8
)

// deadFormersText has its own name because Reseal runs it alone: Reseal must not meet
// former secrets that have ended.
const deadFormersText = `DELETE FROM {formers} WHERE (client_key, id) IN (
	SELECT client_key, id FROM {formers} WHERE ends <= (SELECT {now}) ORDER BY ends LIMIT $1 {skip})`

// deleteExpired lists statements that each delete at most $1 expired rows. Each uses an index.
var deleteExpired = []string{
	`DELETE FROM {replays} WHERE id IN (
		SELECT id FROM {replays} WHERE keep <= (SELECT {now}) ORDER BY keep LIMIT $1 {skip})`,
	`DELETE FROM {ledger} WHERE (client_key, id) IN (
		SELECT client_key, id FROM {ledger} WHERE expires <= (SELECT {now} / 1000) ORDER BY expires LIMIT $1 {skip})`,
	`DELETE FROM {sessions} WHERE hash IN (
		SELECT hash FROM {sessions} WHERE expires <= (SELECT {now}) ORDER BY expires LIMIT $1 {skip})`,
	`DELETE FROM {attempts} WHERE key IN (
		SELECT key FROM {attempts} WHERE latest <= (SELECT {now} - 86400000) * 1000000 ORDER BY latest LIMIT $1 {skip})`,
	deadFormersText,
	`DELETE FROM {former_keys} WHERE key_id IN (
		SELECT key_id FROM {former_keys} WHERE ends <= (SELECT {now}) ORDER BY ends LIMIT $1 {skip})`,
}

// deadDescendantsText checks the $1 records that follow the client key $2 and the
// parent $3. It deletes those whose ancestors are not live. No index holds the dead
// ones alone, so $1 also limits how many live ones it reads.
var deadDescendantsText = `DELETE FROM {ledger} WHERE (client_key, id) IN (
	SELECT client_key, id FROM {ledger} WHERE (client_key, id) IN (
		SELECT client_key, id FROM {ledger} WHERE parent <> '' AND (client_key, parent) > ($2, $3)
		ORDER BY client_key, parent LIMIT $1)
	AND NOT ` + ancestorsLive("{ledger}", token.MaxAncestors) + ` {skip})`

// Sweep deletes expired rows, at most a hundred thousand of each table, and the tokens
// whose ancestors are not live. Each batch of a thousand rows is a transaction. Writes
// delete expired rows, too. Where writes are rare, call Sweep regularly with a
// deadline, for example every minute. Any number of instances may call it at the same
// time.
func (s *Store) Sweep(ctx context.Context) error {
	for _, statement := range deleteExpired {
		if err := s.sweep(ctx, statement); err != nil {
			return failed("sweep", err)
		}
	}
	return failed("sweep", s.sweepDescendants(ctx))
}

func (s *Store) sweep(ctx context.Context, statement string) error {
	for range batchesPerSweep {
		if n, err := s.exec(ctx, statement, batch); err != nil || n < batch {
			return err
		}
	}
	return nil
}

// sweepDescendants checks all records that have a parent, batch by batch.
func (s *Store) sweepDescendants(ctx context.Context) error {
	var clientKey, parent string // of the last record of the batch before
	for {
		endKey, endParent, err := s.descendantAfter(ctx, clientKey, parent)
		last := errors.Is(err, sql.ErrNoRows)
		if err != nil && !last {
			return err
		}
		n, err := s.exec(ctx, deadDescendantsText, batch, clientKey, parent)
		switch {
		case err != nil || last:
			return err
		case n == 0:
			// All are live. So are the other records that the last parent has made.
			clientKey, parent = endKey, endParent
		}
	}
}

// descendantAfter returns the last record of the batch that begins after a parent. It
// returns sql.ErrNoRows if fewer records than a batch follow.
func (s *Store) descendantAfter(ctx context.Context, clientKey, parent string) (endKey, endParent string, err error) {
	err = s.find(ctx, `
		SELECT client_key, parent FROM {ledger} WHERE parent <> '' AND (client_key, parent) > ($1, $2)
		ORDER BY client_key, parent LIMIT 1 OFFSET $3`, []any{clientKey, parent, batch - 1}, &endKey, &endParent)
	return endKey, endParent, err
}

// countWrite counts a write. Every 256th write deletes a batch of expired rows of each
// kind. The write itself is done, so an error of the deletion is dropped and a later
// write tries again.
func (s *Store) countWrite(ctx context.Context) {
	n := s.writes.Add(1)
	if n%writesPerSweep != 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	for _, statement := range deleteExpired {
		if _, err := s.exec(ctx, statement, batch); err != nil {
			return
		}
	}
}
