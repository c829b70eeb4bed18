package sqlstore

import (
	"context"
	"time"

	"github.com/tenantkit/tenantkit/token"
)

const (
	batch = 1000

	// A write adds at most two rows. After every 256th write, up to 1000 rows of each kind
	// are deleted, which is more than writes add. The batches are small: each is done
	// quickly on a busy engine too, and what it has done stays.
	writesPerSweep = 256
	smallBatch     = 200
	smallBatches   = 5

	// sweepTime limits the deletion after a write.
	sweepTime = 10 * time.Second

	batchesPerSweep = 100

	// looksPerIssue is the number of descendants that an Issue of a descendant checks.
	// Each Issue adds one, so the dead ones do not add up.
	looksPerIssue = 8
)

// deadFormersText has its own name because Reseal runs it alone: Reseal must not meet
// former secrets that have ended.
var deadFormersText = expiredText("{formers}", "client_key, id", "ends", "{now}")

// forgetText says in the epoch's row which claims may be deleted from now on: those that ended a minute
// before, so that the clock may be set back by as much. If it is set back by more, a new epoch begins,
// because some of them should be there.
const forgetText = `UPDATE {replays} SET uses = {now} - 60000
	WHERE keep = 9223372036854775807 AND uses < {now} - 70000`

// deleteExpired lists statements that each delete at most $1 expired rows. Each uses an index.
var deleteExpired = []string{
	expiredText("{replays}", "id", "keep", "uses FROM {replays} WHERE keep = 9223372036854775807"),
	expiredText("{ledger}", "client_key, id", "expires", "{now} / 1000"),
	expiredText("{sessions}", "hash", "expires", "{now}"),
	expiredText("{attempts}", "org, key", "swapped", "{now} - 86400000"),
	deadFormersText,
	expiredText("{api_keys}", "id", "expires", "{now}"),
	expiredText("{former_keys}", "key_id", "ends", "{now}"),
	expiredText("{repeats}", "id", "keep", "{now}"),
}

// expiredText deletes rows whose column is now or earlier. key is the primary key.
func expiredText(table, key, column, now string) string {
	return `DELETE FROM ` + table + ` WHERE (` + key + `) IN (
		SELECT ` + key + ` FROM ` + table + ` WHERE ` + column + ` <= (SELECT ` + now + `) ORDER BY ` + column + ` LIMIT $1 {skip})`
}

// deadDescendantsText checks the $1 records that follow the client key $2 and the
// parent $3. It deletes those whose ancestors are not live. No index holds the dead
// ones alone, so $1 also limits how many live ones it reads.
var deadDescendantsText = `DELETE FROM {ledger} WHERE (client_key, id) IN (
	SELECT client_key, id FROM {ledger} WHERE (client_key, id) IN (
		SELECT client_key, id FROM {ledger} WHERE parent <> '' AND (client_key, parent) > ($2, $3)
		ORDER BY client_key, parent LIMIT $1)
	AND NOT ` + ancestorsLive("{ledger}", token.MaxAncestors) + ` {skip})`

// Sweep deletes expired rows, at most a hundred thousand of each table. Each batch of a thousand
// rows is a transaction. Writes delete expired rows, too. Where writes are rare, let Run call it.
// Any number of instances may call it at the same time.
func (s *Store) Sweep(ctx context.Context) error {
	return failed("sweep", s.sweepAll(ctx, 0, batchesPerSweep, batch))
}

// sweepAll deletes some expired rows of each kind, beginning with one of them.
func (s *Store) sweepAll(ctx context.Context, first, batches int, batch int64) error {
	_, err := s.exec(ctx, forgetText)
	for i := range deleteExpired {
		if err == nil {
			err = s.sweep(ctx, deleteExpired[(first+i)%len(deleteExpired)], batches, batch)
		}
	}
	return err
}

// Run sweeps once a minute until ctx ends, and appends to the audit log what Audit.Observe has counted, also at
// the end. Each Sweep has a minute, so that a connection
// without an answer does not end all sweeping. Run passes its errors to failed, and goes on.
func (s *Store) Run(ctx context.Context, failed func(error)) {
	const every = time.Minute
	do := func(ctx context.Context, limit time.Duration, f func(context.Context) error) {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if err := f(limited); err != nil && ctx.Err() == nil {
			failed(err)
		}
	}
	for tick := time.Tick(every); ; {
		select {
		case <-ctx.Done():
			do(context.WithoutCancel(ctx), sweepTime, s.flushRefusals)
			return
		case <-tick:
			do(ctx, every, s.Sweep)
			do(ctx, every, s.flushRefusals)
		}
	}
}

func (s *Store) sweep(ctx context.Context, statement string, batches int, batch int64) error {
	for range batches {
		if n, err := s.exec(ctx, statement, batch); err != nil || n < batch {
			return err
		}
	}
	return nil
}

// countWrite counts a write that has added a row. After every 256th write, a goroutine deletes expired rows.
// The request does not wait for it, and its end does not end it: otherwise a busy engine
// would delete nothing. At most one runs for each Store.
func (s *Store) countWrite(ctx context.Context, added bool) {
	if !added || s.inside != nil { // inside, a later write outside deletes
		return
	}
	n := s.writes.Add(1)
	if n%writesPerSweep != 0 || !s.sweeping.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer s.sweeping.Store(false)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepTime)
		defer cancel()
		// Each call begins with another kind: if the time is too short for all, each has its
		// turn. A later call tries again after an error.
		_ = s.sweepAll(ctx, int(n/writesPerSweep%uint64(len(deleteExpired))), smallBatches, smallBatch)
	}()
}
