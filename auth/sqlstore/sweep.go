package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/tenantkit/tenantkit/token"
)

const (
	batch = 1000

	// A write adds at most two rows. With one batch of each kind for 256 writes
	// more is deleted than added.
	writesPerSweep = 256

	// sweepTime is how long a write may take longer for it.
	sweepTime = 100 * time.Millisecond

	batchesPerSweep = 100

	// looksPerIssue is how many descendants an Issue looks at that adds one. So
	// the dead never outgrow the living.
	looksPerIssue = 8
)

// dead are the statements that delete at most $1 rows that have ended, each
// with the help of an index.
var dead = []string{
	`DELETE FROM {replays} WHERE id IN (
		SELECT id FROM {replays} WHERE keep <= (SELECT {now}) ORDER BY keep LIMIT $1 {skip})`,
	`DELETE FROM {ledger} WHERE (client_key, id) IN (
		SELECT client_key, id FROM {ledger} WHERE expires <= (SELECT {now} / 1000) ORDER BY expires LIMIT $1 {skip})`,
	`DELETE FROM {sessions} WHERE hash IN (
		SELECT hash FROM {sessions} WHERE expires <= (SELECT {now}) ORDER BY expires LIMIT $1 {skip})`,
	`DELETE FROM {attempts} WHERE key IN (
		SELECT key FROM {attempts} WHERE latest <= (SELECT {now} - 86400000) * 1000000 ORDER BY latest LIMIT $1 {skip})`,
}

// deadDescendantsText looks at the $1 records that come after the client key $2
// and the parent $3, and deletes those whose ancestors are not live. No index
// has the dead alone, so $1 also bounds how many of the living it reads.
var deadDescendantsText = `DELETE FROM {ledger} WHERE (client_key, id) IN (
	SELECT client_key, id FROM {ledger} WHERE (client_key, id) IN (
		SELECT client_key, id FROM {ledger} WHERE parent <> '' AND (client_key, parent) > ($2, $3)
		ORDER BY client_key, parent LIMIT $1)
	AND NOT ` + descends("{ledger}", token.MaxAncestors) + ` {skip})`

// Sweep deletes rows that have ended, at most a hundred thousand of each table,
// and tokens made by tokens that are not live, in batches of a thousand that
// each are a transaction. Writes do the same by the way; call it now and then,
// every minute say, where they are rare, and with a deadline. Any number of
// instances may call it at once.
func (s *Store) Sweep(ctx context.Context) error {
	for _, statement := range dead {
		for range batchesPerSweep {
			n, err := s.deleteDead(ctx, statement)
			if err != nil {
				return fmt.Errorf("sqlstore: sweep: %w", err)
			}
			if n < batch {
				break
			}
		}
	}
	if err := s.sweepDescendants(ctx); err != nil {
		return fmt.Errorf("sqlstore: sweep: %w", err)
	}
	return nil
}

// sweepDescendants looks at all records that have a parent, batch by batch.
func (s *Store) sweepDescendants(ctx context.Context) error {
	var clientKey, parent string // of the last one of the batch before
	for {
		endKey, endParent, err := s.descendantAfter(ctx, clientKey, parent)
		last := errors.Is(err, sql.ErrNoRows)
		if err != nil && !last {
			return err
		}
		var n int64
		err = s.write(ctx, func(q querier) (err error) {
			n, err = s.dropDescendants(ctx, q, batch, clientKey, parent)
			return err
		})
		switch {
		case err != nil || last:
			return err
		case n == 0:
			// All are live, and so is what else the last parent has made.
			clientKey, parent = endKey, endParent
		}
	}
}

// descendantAfter returns where the batch ends that begins after a parent, or
// sql.ErrNoRows if all that follow are fewer.
func (s *Store) descendantAfter(ctx context.Context, clientKey, parent string) (endKey, endParent string, err error) {
	err = s.read(ctx, func(q querier) error {
		return q.QueryRowContext(ctx, s.text(`
			SELECT client_key, parent FROM {ledger} WHERE parent <> '' AND (client_key, parent) > ($1, $2)
			ORDER BY client_key, parent LIMIT 1 OFFSET $3`), clientKey, parent, batch-1).Scan(&endKey, &endParent)
	})
	return endKey, endParent, err
}

func (s *Store) dropDescendants(ctx context.Context, q querier, looks int, clientKey, parent string) (int64, error) {
	return affected(q.ExecContext(ctx, s.text(deadDescendantsText), looks, clientKey, parent))
}

func (s *Store) deleteDead(ctx context.Context, statement string) (n int64, err error) {
	err = s.write(ctx, func(q querier) error {
		n, err = affected(q.ExecContext(ctx, s.text(statement), batch))
		return err
	})
	return n, err
}

// wrote deletes a batch of what has ended with each so many writes. What fails
// is left to the next time: the write itself is done.
func (s *Store) wrote(ctx context.Context) {
	n := s.writes.Add(1)
	if n%writesPerSweep != 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	for _, statement := range dead {
		if _, err := s.deleteDead(ctx, statement); err != nil {
			return
		}
	}
}
