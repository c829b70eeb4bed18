package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/tenantkit/tenantkit/auth/session"
)

// Attempts counts tries at passwords and codes in the database. One statement
// decides each verb. A try that is refused writes nothing. It goes by the times
// that its tries give, as far as a day is concerned by the engine's clock too.
type Attempts struct{ store *Store }

// Attempts returns the store's count of tries.
func (s *Store) Attempts() *Attempts { return &Attempts{s} }

var _ session.Attempts = (*Attempts)(nil)

const (
	// A row begins anew a day after its latest try. $2 is the time of this one.
	forgottenText = `$2 - a.latest >= 86400000000000`

	// refusedText is whether a try falls inside the delay.
	refusedText = `$2 < a.until AND NOT ` + forgottenText

	// triesText is how many there are with this one, unless it is refused.
	triesText = `(CASE WHEN ` + forgottenText + ` THEN 0 ELSE a.tries END + 1)`
)

// delayText is the end of the delay that a try sets, 0 for none: session.Delay,
// in nanoseconds. $3 is how many tries are free.
func delayText(tries string) string {
	return `(CASE WHEN ` + tries + ` < $3 THEN 0 ELSE $2 + {min}(1000000000 * (CAST(1 AS bigint) << CAST({min}(` + tries + ` - $3, 10) AS integer)), 900000000000) END)`
}

// Both sides of an assignment see the row as it was. A delay that is over stays
// until it is over a day later: no try is inside it.
var tryText = `
INSERT INTO {attempts} AS a (key, tries, latest, until, refused)
SELECT CAST($1 AS text), 1, CAST($2 AS bigint), ` + delayText("1") + `, 0 WHERE true
ON CONFLICT (key) DO UPDATE SET
	refused = CASE WHEN ` + refusedText + ` THEN 1 ELSE 0 END,
	tries = CASE WHEN ` + refusedText + ` THEN a.tries ELSE ` + triesText + ` END,
	latest = CASE WHEN ` + refusedText + ` THEN a.latest WHEN ` + forgottenText + ` THEN $2 ELSE {max}(a.latest, $2) END,
	until = CASE WHEN ` + refusedText + ` THEN a.until ELSE ` + delayText(triesText) + ` END
RETURNING tries, until, refused = 1`

// insideText finds a try that is inside the delay.
var insideText = `SELECT a.tries, a.until FROM {attempts} AS a WHERE a.key = $1 AND ` + refusedText

// Try implements session.Attempts.
func (a *Attempts) Try(ctx context.Context, key string, at time.Time, free int) (count int, until time.Time, err error) {
	// Read first, so that what is refused writes nothing and waits for no lock: there
	// may be very many. It is asked again with the count.
	count, until, err = a.inside(ctx, key, at)
	if !errors.Is(err, sql.ErrNoRows) {
		return count, until, err
	}
	var end int64
	var refused bool
	err = a.store.write(ctx, func(q querier) error {
		return one(ctx, q, a.store.text(tryText), []any{key, at.UnixNano(), free}, &count, &end, &refused)
	})
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("sqlstore: count a try: %w", err)
	}
	a.store.wrote(ctx)
	if refused {
		return count, time.Unix(0, end).UTC(), nil
	}
	return count, time.Time{}, nil
}

// inside returns what Try does for a try inside the delay, sql.ErrNoRows for another.
func (a *Attempts) inside(ctx context.Context, key string, at time.Time) (count int, until time.Time, err error) {
	var end int64
	err = a.store.read(ctx, func(q querier) error {
		return one(ctx, q, a.store.text(insideText), []any{key, at.UnixNano()}, &count, &end)
	})
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("sqlstore: look for a delay: %w", err)
	}
	return count, time.Unix(0, end).UTC(), nil
}

// Return implements session.Attempts.
func (a *Attempts) Return(ctx context.Context, key string) error {
	const what = "take a try back"
	only, err := a.exec(ctx, what, `DELETE FROM {attempts} WHERE key = $1 AND tries <= 1`, key)
	if err != nil || only > 0 {
		return err
	}
	counted, err := a.exec(ctx, what, `UPDATE {attempts} SET tries = tries - 1, until = 0 WHERE key = $1 AND tries > 0`, key)
	if err != nil || counted == 0 {
		return err
	}
	// Others may have returned theirs since the first statement. A row without tries
	// counts like no row: this decides nothing.
	_, err = a.exec(ctx, what, `DELETE FROM {attempts} WHERE key = $1 AND tries = 0`, key)
	return err
}

// Reset implements session.Attempts.
func (a *Attempts) Reset(ctx context.Context, key string) error {
	_, err := a.exec(ctx, "forget tries", `DELETE FROM {attempts} WHERE key = $1`, key)
	return err
}

// exec returns how many rows a statement has changed.
func (a *Attempts) exec(ctx context.Context, what, statement, key string) (rows int64, err error) {
	err = a.store.write(ctx, func(q querier) error {
		rows, err = affected(q.ExecContext(ctx, a.store.text(statement), key))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("sqlstore: %s: %w", what, err)
	}
	return rows, nil
}
