package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/tenantkit/tenantkit/auth/session"
)

type attempts struct{ store *Store }

// Attempts returns the store's counts of tries of passwords and codes. One statement decides
// the result of each method. A refused try writes nothing. Delays follow the times
// passed to Try. A row is also deleted once its latest try is a day old by the engine's
// clock.
func (s *Store) Attempts() session.Attempts { return &attempts{s} }

const (
	// The count starts again a day after the latest try. $2 is the time of this try.
	forgottenText = `$2 - a.latest >= 86400000000000`

	// refusedText is true if a try falls inside the delay.
	refusedText = `$2 < a.until AND NOT ` + forgottenText

	// triesText is the count that includes this try, if the try is not refused.
	triesText = `(CASE WHEN ` + forgottenText + ` THEN 0 ELSE a.tries END + 1)`
)

// delayText returns the end of the delay that a try sets, in Unix nanoseconds, or 0 for
// no delay. It computes session.Delay in SQL. $3 is the number of free tries.
func delayText(tries string) string {
	return `(CASE WHEN ` + tries + ` < $3 THEN 0 ELSE $2 + {min}(1000000000 * (CAST(1 AS bigint) << CAST({min}(` + tries + ` - $3, 10) AS integer)), 900000000000) END)`
}

// The expressions on the right see the row before the update. The end of a delay stays
// stored after the delay. The row expires a day later, and no try falls inside an ended
// delay.
var tryText = `
INSERT INTO {attempts} AS a (key, tries, latest, until, refused)
SELECT CAST($1 AS text), 1, CAST($2 AS bigint), ` + delayText("1") + `, 0 WHERE true
ON CONFLICT (key) DO UPDATE SET
	refused = CASE WHEN ` + refusedText + ` THEN 1 ELSE 0 END,
	tries = CASE WHEN ` + refusedText + ` THEN a.tries ELSE ` + triesText + ` END,
	latest = CASE WHEN ` + refusedText + ` THEN a.latest WHEN ` + forgottenText + ` THEN $2 ELSE {max}(a.latest, $2) END,
	until = CASE WHEN ` + refusedText + ` THEN a.until ELSE ` + delayText(triesText) + ` END
RETURNING tries, until, refused = 1`

// insideText selects the row if a try falls inside the delay.
var insideText = `SELECT a.tries, a.until FROM {attempts} AS a WHERE a.key = $1 AND ` + refusedText

// Try implements session.Attempts.
func (a *attempts) Try(ctx context.Context, key string, at time.Time, free int) (count int, until time.Time, err error) {
	// Read first: a refused try then writes nothing and waits for no lock, and there may
	// be very many of them. The statement that counts checks the delay again.
	count, until, err = a.inside(ctx, key, at)
	if !errors.Is(err, sql.ErrNoRows) {
		return count, until, err
	}
	var end int64
	var refused bool
	err = a.store.write(ctx, func(q conn) error {
		return q.one(ctx, tryText, []any{key, at.UnixNano(), free}, &count, &end, &refused)
	})
	if err != nil {
		return 0, time.Time{}, failed("count a try", err)
	}
	a.store.countWrite(ctx)
	if refused {
		return count, time.Unix(0, end).UTC(), nil
	}
	return count, time.Time{}, nil
}

// inside returns the result of Try if the try falls inside the delay, and else
// sql.ErrNoRows.
func (a *attempts) inside(ctx context.Context, key string, at time.Time) (count int, until time.Time, err error) {
	var end int64
	err = a.store.find(ctx, insideText, []any{key, at.UnixNano()}, &count, &end)
	if err != nil {
		return 0, time.Time{}, failed("look for a delay", err)
	}
	return count, time.Unix(0, end).UTC(), nil
}

// Return implements session.Attempts.
func (a *attempts) Return(ctx context.Context, key string) error {
	const what = "take a try back"
	only, err := a.store.exec(ctx, `DELETE FROM {attempts} WHERE key = $1 AND tries <= 1`, key)
	if err != nil || only > 0 {
		return failed(what, err)
	}
	counted, err := a.store.exec(ctx, `UPDATE {attempts} SET tries = tries - 1, until = 0 WHERE key = $1 AND tries > 0`, key)
	if err != nil || counted == 0 {
		return failed(what, err)
	}
	// Concurrent calls may have lowered the count since the first statement. A row with
	// 0 tries counts like no row, so this deletion changes no result.
	_, err = a.store.exec(ctx, `DELETE FROM {attempts} WHERE key = $1 AND tries = 0`, key)
	return failed(what, err)
}

// Reset implements session.Attempts.
func (a *attempts) Reset(ctx context.Context, key string) error {
	_, err := a.store.exec(ctx, `DELETE FROM {attempts} WHERE key = $1`, key)
	return failed("forget tries", err)
}
