package sqlstore

import (
	"context"
	"fmt"
	"time"
)

const (
	batch = 1000

	// A write adds at most two rows. With one batch of each kind for 256 writes
	// more is deleted than added.
	writesPerSweep = 256

	// sweepTime is how long a write may take longer for it.
	sweepTime = 100 * time.Millisecond

	batchesPerSweep = 100
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

// Sweep deletes rows that have ended, at most a hundred thousand of each table,
// in batches of a thousand that each are a transaction. Writes do the same by
// the way; call it now and then, every minute say, where they are rare, and
// with a deadline. Any number of instances may call it at once.
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
	return nil
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
