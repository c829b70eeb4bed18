package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/idempotency"
)

type repeats struct{ store *Store }

// Idempotency returns the store's entries of repeated requests, or ErrNoSealer. It seals them with the Sealer
// of Options, or not at all with UnsafeUnsealed. Reseal does not reach them: keep an old key for
// idempotency.Options.Keep longer, or their responses are not shown. idempotency.Commit completes them in a
// transaction of the application, a Tx of this database. Begin is one statement that writes, or two that do
// not, and a third for a caller with too many. End is one.
func (s *Store) Idempotency() (idempotency.Store, error) {
	return sealing[idempotency.Store](s, &repeats{s})
}

const repeatsCostText = `SELECT coalesce(sum(cost), 0) FROM {repeats} WHERE org = $2 AND caller = $3 AND keep > (SELECT {now})`

// beginRepeatText stores an entry, takes over one whose lease has ended, or replaces one that is not yet swept.
// It returns no row if it does none of these.
const beginRepeatText = `
	INSERT INTO {repeats} (id, org, caller, fence, lease, keep, cost, sealed)
	SELECT CAST($1 AS {bytes}), $2, $3, $4, {now} + $5, {now} + $6, $7, CAST($8 AS {bytes})
	WHERE EXISTS (SELECT 1 FROM {repeats} WHERE id = $1) OR $9 > (` + repeatsCostText + `)
	ON CONFLICT (id) DO UPDATE SET fence = excluded.fence, lease = excluded.lease,
		sealed = CASE WHEN {repeats}.keep <= {now} THEN excluded.sealed ELSE {repeats}.sealed END,
		cost = CASE WHEN {repeats}.keep <= {now} THEN excluded.cost ELSE {repeats}.cost END,
		keep = CASE WHEN {repeats}.keep <= {now} THEN excluded.keep ELSE {repeats}.keep END
	WHERE {repeats}.keep <= {now} OR {repeats}.fence <> '' AND {repeats}.lease <= {now}
	RETURNING fence, sealed`

func costOf(e idempotency.Entry) int { return len(e.Sealed) + 1024 }

// Begin implements idempotency.Store.
func (s *repeats) Begin(ctx context.Context, e idempotency.Entry, o idempotency.Options) (idempotency.Entry, error) {
	if !storable(string(e.Org), e.Caller) {
		return idempotency.Entry{}, failed("begin a request", errText)
	}
	args := []any{e.ID[:], e.Org, e.Caller, e.Fence, o.Lease.Milliseconds(), o.Keep.Milliseconds(), costOf(e), e.Sealed, o.MaxBytes}
	for {
		held := e
		err := s.store.write(ctx, func(q conn) error { return q.one(ctx, beginRepeatText, args, &held.Fence, &held.Sealed) })
		s.store.countWrite(ctx, err == nil)
		if errors.Is(err, sql.ErrNoRows) {
			err = s.store.find(ctx, `SELECT fence, sealed FROM {repeats} WHERE id = $1`, args[:1], &held.Fence, &held.Sealed)
		}
		if err == nil {
			return held, nil
		}
		full := false
		if errors.Is(err, sql.ErrNoRows) {
			err = s.store.find(ctx, `SELECT $1 <= (`+repeatsCostText+`)`, []any{o.MaxBytes, e.Org, e.Caller}, &full)
		}
		if full || err != nil {
			return idempotency.Entry{}, failed("begin a request", err)
		}
		// A concurrent End has deleted the entry since the first statement.
	}
}

// End implements idempotency.Store.
func (s *repeats) End(ctx context.Context, e idempotency.Entry) error {
	text, args := `DELETE FROM {repeats} WHERE id = $1 AND fence = $2 AND fence <> ''`, []any{e.ID[:], e.Fence}
	if e.Sealed != nil {
		text = `UPDATE {repeats} SET fence = '', sealed = $3, cost = $4 WHERE id = $1 AND fence = $2 AND fence <> ''`
		args = append(args, e.Sealed, costOf(e))
	}
	n, err := s.store.exec(ctx, text, args...)
	return failed("end a request", changed(n, err, auth.ErrConflict))
}

// EndIn is End in a transaction. It needs none of the checks of In: the fence is random, so it is only in
// the right database, and whatever undoes the entry undoes the application's rows.
func (s *repeats) EndIn(ctx context.Context, tx interface{ Commit() error }, e idempotency.Entry) error {
	t, ok := tx.(Tx)
	if !ok {
		return fmt.Errorf("%w: %T is none", ErrTx, tx)
	}
	return (&repeats{s.store.within(t)}).End(ctx, e)
}

// Seal and Open are what idempotency.Options asks of a Sealer.
func (s *repeats) Seal(secret, bound []byte) []byte {
	return s.store.seal(location{kind: "bound", id: string(bound)}, secret)
}

func (s *repeats) Open(sealed, bound []byte) ([]byte, error) {
	return s.store.unseal(location{kind: "bound", id: string(bound)}, sealed)
}

const exportRepeats = `SELECT fence = '', length(sealed), keep FROM {repeats} WHERE org = $1 AND caller = $2 ORDER BY keep, id`

func repeatLine(rows *sql.Rows) (line, error) {
	var done bool
	var bytes, keep int64
	err := rows.Scan(&done, &bytes, &keep)
	return line{"kind": "idempotencyKey", "done": done, "bytes": bytes, "expires": time.UnixMilli(keep).UTC()}, err
}
