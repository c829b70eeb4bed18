package sqlstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

type replays struct{ store *Store }

// Replays returns the store's record of accepted requests: one row for each nonce and one for
// each signature. It is exact for any number of instances.
//
// In PostgreSQL an accepted request needs one statement and one round trip, also with
// siblings. A refused request needs one look-up more. In SQLite an accepted request
// needs a look-up and one statement. A refused one needs only the look-up, which takes
// no lock: replayed requests delay nobody.
//
// A claim never returns signing.ErrFull. The number of rows is the request rate times
// the retention of each request, so rate limits in front must limit it. A full disk is
// an ordinary error.
//
// A refused claim leaves no row, except that the first claim of all writes the epoch's
// row. Concurrent claims of one signature can collide in PostgreSQL: the loser has
// written its nonce, and deletes it with a second statement. Until then a claim of the
// same nonce is refused. If the process ends in between, the nonce stays until it expires.
//
// # Epoch
//
// A table that was emptied, or a copy of the table in another engine, lacks requests
// that were accepted. So the table stores when its epoch began: since then it has
// recorded every accepted request. A request signed earlier, or in the same
// millisecond, is stale; its client signs again.
//
// In PostgreSQL a new epoch begins after a restart of the server, after any recovery
// from a crash, such as the end of one of its processes, and after the promotion of a
// standby. So it does not matter whether commits wait for the disk. A new epoch also
// begins if the table is created again or has lost the epoch's row, and in a copy of the database. In SQLite, which few processes share, a new epoch begins with the first
// claim of each Store. It counts from the time at which the Store was opened.
//
// In a new epoch, a request that was signed ahead of the clock may be accepted once
// more. So may a request that arrives while somebody deletes rows by hand.
//
// All times are of the engine's clock. Rows are kept a minute longer than needed. If that
// clock is set back by more, to before what was needed of the rows that were deleted, a
// new epoch begins.
//
// # Expiry
//
// A nonce must be unique among all recorded requests, whatever time they were signed
// at. So there can be no table for each hour that is dropped as a whole. Expired rows
// are deleted in batches of a thousand, see Sweep.
func (s *Store) Replays() signing.Replays { return &replays{s} }

var _ signing.UsedNonces = (*replays)(nil)

// closed is the use count of a signature that is not accepted again.
const closed = 1 << 30

// claimArgs returns a signing.Use as the arguments of the statements: $1 nonce, $2 signature, both ids;
// $3 signed, $4 keep; $5 the use count that the first acceptance of the signature sets; $6 siblings, and
// $7 within which time. Times are milliseconds.
func claimArgs(u *signing.Use) []any {
	keep, uses, siblings, within := u.Keep.UnixMilli(), int64(1), min(int64(u.Siblings), closed-1), u.Window.Milliseconds()
	if u.Keep.UnixNano()%1e6 != 0 {
		keep++ // round up: keep the row until Keep at least
	}
	if siblings <= 1 || within <= 0 {
		uses, siblings = closed, 0
	}
	return []any{id('n', []byte(u.Nonce), u.ClientKey), id('s', u.Signature[:], u.ClientKey), u.Signed.UnixMilli(), keep, uses, siblings, within}
}

// id returns the row id of a nonce or signature. It needs no separator, because within
// one kind only client keys vary in length.
func id(kind byte, nonceOrSignature []byte, clientKey string) []byte {
	text := append([]byte{kind}, nonceOrSignature...)
	sum := sha256.Sum256(append(text, clientKey...))
	return sum[:]
}

// Claim implements signing.Replays. A nonce that is not 16 bytes long is an
// error.
func (r *replays) Claim(ctx context.Context, u signing.Use) error {
	if len(u.Nonce) != 16 {
		return errors.New("sqlstore: nonce is not 16 bytes long")
	}
	claim := r.claimPostgres
	if r.store.dialect == SQLite {
		claim = r.claimSQLite
	}
	args := claimArgs(&u)
	// Three times: there may be no epoch, and a concurrent claim may begin it or come first.
	for range 3 {
		accepted, err := claim(ctx, args)
		r.store.countWrite(ctx, accepted && err == nil)
		if accepted || err != nil {
			return failed("claim", err)
		}
	}
	return failed("claim", signing.ErrStale) // somebody empties the table all the time
}

// Used implements signing.UsedNonces by one look-up.
func (r *replays) Used(ctx context.Context, clientKey, nonce string) (used bool, err error) {
	err = r.store.find(ctx, `SELECT EXISTS (SELECT 1 FROM {replays} WHERE id = $1)`, []any{id('n', []byte(nonce), clientKey)}, &used)
	return used, failed("used", err)
}

// claimText decides a claim. It reads the signature before it writes the nonce: a
// captured signature must not leave a row for each nonce that it is sent with.
//
// That read sees only a snapshot. The writes decide, and they are right under read
// committed. If concurrent statements insert one id, the unique index lets one win. The
// others wait for its commit, and ON CONFLICT then sees the committed row.
//
// The statement touches the signature's row only if the nonce is new, so a replay uses
// up no sibling's use. It locks that row last, so there is no deadlock. Another claim
// may have taken the signature since the snapshot, when the nonce is written already.
// The statement must not fail then, which the server would log as an ERROR: it returns
// when the nonce was recorded, and unclaim deletes it.
const claimText = `
WITH nonce AS (
	INSERT INTO {replays} (id, keep, uses, began, engine)
	SELECT $1::bytea, $4::bigint, 1, {now}, '' FROM {replays} e
	WHERE e.id = '' AND e.engine = ` + engineText + ` AND $3::bigint > e.began AND $4::bigint > {now} AND e.uses <= {now}
	AND coalesce((SELECT uses < $6::bigint AND abs({now} - began) < $7::bigint FROM {replays} WHERE id = $2::bytea), true)
	ON CONFLICT (id) DO NOTHING RETURNING began
), signature AS (
	INSERT INTO {replays} AS r (id, keep, uses, began, engine)
	SELECT $2::bytea, $4::bigint, $5::bigint, nonce.began, '' FROM nonce
	ON CONFLICT (id) DO UPDATE SET uses = r.uses + 1, keep = greatest(r.keep, excluded.keep)
	WHERE r.uses < $6::bigint AND abs(excluded.began - r.began) < $7::bigint -- or replayed at the same time
	RETURNING 1
)
SELECT (SELECT began FROM nonce), EXISTS (SELECT 1 FROM signature)`

// engineText identifies the engine and the table. It changes when the server is
// restarted and when the table is created again; a standby has another start time than
// its primary, and a copy by CREATE DATABASE … TEMPLATE another number. It is NULL after a
// recovery, which empties {marks}: the server has lost what was not flushed, and may have
// the same start time. The start time is a whole number, because a fraction is printed as
// the connection's extra_float_digits says.
const engineText = `(SELECT (date_part('epoch', pg_postmaster_start_time()) * 1000000)::bigint || '/' || oid || '/' ||
	'{replays}'::regclass::oid || '/' || (SELECT mark FROM {marks}) FROM pg_database WHERE datname = current_database())`

// markText gives an emptied {marks} a new mark. Of concurrent statements, one adds its
// row, and the others wait for its commit.
const markText = `INSERT INTO {marks} (id, mark) SELECT 1, $1 WHERE NOT EXISTS (SELECT 1 FROM {marks}) ON CONFLICT (id) DO NOTHING`

const beginText = `
INSERT INTO {replays} AS e (id, keep, uses, began, engine)
SELECT '', 9223372036854775807, 0, {now}, ` + engineText + `
ON CONFLICT (id) DO UPDATE SET began = greatest(e.began, excluded.began), engine = excluded.engine, uses = 0
WHERE e.engine <> excluded.engine OR e.uses > {now}`

func (r *replays) claimPostgres(ctx context.Context, args []any) (accepted bool, err error) {
	q := conn{store: r.store, on: r.store.single}
	var recorded sql.NullInt64 // when, unless the nonce was refused
	err = q.one(ctx, claimText, args, &recorded, &accepted)
	switch {
	case err != nil || accepted:
		return accepted, err
	case recorded.Valid:
		return false, cmp.Or(unclaim(ctx, q, args[0], recorded.Int64), signing.ErrReplayed)
	}
	begun, err := r.look(ctx, whyText, args)
	if err == nil && !begun {
		err = r.begin(ctx)
	}
	return false, err
}

// unclaim deletes the nonce of a claim that lost its signature to a concurrent one, and no row that
// another claim has written since. It does so also if the context has ended: a client must not leave rows
// by ending its requests.
func unclaim(ctx context.Context, q conn, nonce any, recorded int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, err := q.exec(ctx, `DELETE FROM {replays} WHERE id = $1 AND began = $2`, nonce, recorded)
	return err
}

// begin begins an epoch in PostgreSQL, unless this engine has one.
func (r *replays) begin(ctx context.Context) error {
	q := conn{store: r.store, on: r.store.single}
	_, err := q.exec(ctx, markText, rand.Text())
	if err == nil {
		_, err = q.exec(ctx, beginText)
	}
	return err
}

// claimSQLite reads before it writes: a client that replays a captured request again
// and again must not hold SQLite's only write lock.
func (r *replays) claimSQLite(ctx context.Context, args []any) (accepted bool, err error) {
	// Before the first claim of this Store there is no epoch, whatever the table says: the file may
	// be a copy restored before.
	begun := r.store.begun.Load()
	if begun {
		begun, err = r.look(ctx, firstText, args)
	}
	switch {
	case err != nil:
		return false, err
	case !begun:
		return false, r.beginSQLite(ctx)
	}
	n, err := r.store.exec(ctx, recordText, args...)
	return n > 0, err
}

// lookText selects whether there is an epoch, whether a claim is in time, and whether
// its nonce and its signature are free. The condition of the epoch's row follows.
const (
	lookText = `
SELECT count(*), coalesce($3 > max(began) AND $4 > {now}, false),
	NOT EXISTS (SELECT 1 FROM {replays} WHERE id = $1)
	AND coalesce((SELECT uses < $5 AND abs({now} - began) < $6 FROM {replays} WHERE id = $2), true)
FROM {replays} WHERE uses <= {now} AND id = `
	firstText = lookText + `x''`                           // in SQLite, before the record
	whyText   = lookText + `'' AND engine = ` + engineText // in PostgreSQL, after it
)

// look returns the error of a claim, without writing. It is final. If there is none, the claim was not refused,
// or there was no epoch when it was.
func (r *replays) look(ctx context.Context, text string, args []any) (begun bool, err error) {
	var inTime, free bool
	err = r.store.find(ctx, text, slices.Delete(slices.Clone(args), 4, 5), &begun, &inTime, &free)
	switch {
	case err != nil || !begun:
		return false, err
	case !inTime: // signed before the epoch began, or not retained any more
		return true, signing.ErrStale
	case !free: // the nonce is not new, or the signature is not new and has no sibling's use left
		return true, signing.ErrReplayed
	}
	return true, nil
}

// beginSQLite begins an epoch. The first epoch of a Store begins when the Store was
// opened. Every later one begins now, because somebody has emptied the table.
func (r *replays) beginSQLite(ctx context.Context) error {
	s := r.store
	var least any // now
	if !s.begun.Load() {
		least = s.opened
	}
	_, err := s.exec(ctx, `
		INSERT INTO {replays} (id, keep, uses, began, engine) VALUES (x'', 9223372036854775807, 0, coalesce($1, {now}), '')
		ON CONFLICT (id) DO UPDATE SET began = max(began, excluded.began, iif(uses > {now}, {now}, 0)), uses = iif(uses > {now}, 0, uses)`, least)
	if err == nil {
		s.begun.Store(true)
	}
	return err
}

// recordText writes both rows or none. It checks again what look has read, because look
// had no lock: SQLite takes the write lock before the statement reads.
const recordText = `
WITH free AS MATERIALIZED (
	SELECT {now} AS now FROM {replays} WHERE id = x'' AND $3 > began AND $4 > {now} AND uses <= {now}
	AND NOT EXISTS (SELECT 1 FROM {replays} WHERE id = $1)
	AND coalesce((SELECT uses < $6 AND abs({now} - began) < $7 FROM {replays} WHERE id = $2), true)
)
INSERT INTO {replays} (id, keep, uses, began, engine)
SELECT $1, $4, 1, now, '' FROM free UNION ALL SELECT $2, $4, $5, now, '' FROM free WHERE true
ON CONFLICT (id) DO UPDATE SET keep = max(keep, excluded.keep), uses = uses + 1`
