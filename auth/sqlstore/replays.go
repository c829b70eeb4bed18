package sqlstore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/tenantkit/tenantkit/signing"
)

// Replays remembers accepted requests in the database: a row for each nonce and
// one for each signature. It is exact, for any number of instances.
//
// In PostgreSQL an accepted request takes one statement and one round trip,
// siblings included, and a refused one a look-up more; in SQLite each takes one
// transaction. A refused claim leaves no row. A claim never returns signing.ErrFull: the number of rows is the
// rate of requests times the time for which each is remembered, and it is the
// quotas in front that bound it. A full disk is an error like any other.
//
// # Epoch
//
// A table that comes back empty, or the one of another engine, does not know
// what was accepted. So the table says since when it has known, and what was
// signed before, or in the same millisecond, is stale; clients sign again.
// PostgreSQL begins anew when it was started again, when a standby was promoted,
// when the table was made again and when its rows are gone; SQLite, which is
// asked by few processes, with the first claim of each Store, from the time at
// which it was opened.
// What was signed ahead of the clock may be let in once more then, and so may
// what arrives while somebody deletes rows by hand.
//
// Times are the engine's: one whose clock is set back, without being started
// again, may let in what it has deleted meanwhile.
//
// # Expiry
//
// A nonce must be unique over all that is remembered, whatever time it was
// signed at, which rules out a table for each hour that could be dropped whole.
// Rows are deleted when they have ended, in batches of a thousand, see Sweep.
type Replays struct{ store *Store }

// Replays returns the store's record of accepted requests.
func (s *Store) Replays() *Replays { return &Replays{s} }

var _ signing.Replays = (*Replays)(nil)

const (
	nonceLength = 16

	// closed is the count of a signature that is not accepted again.
	closed = 1 << 30
)

var errNonce = errors.New("sqlstore: nonce is not 16 bytes long")

// claim is a signing.Use as the statements take it.
type claim struct {
	nonce, signature   []byte // ids
	signed, keep       int64  // Unix milliseconds
	uses               int64  // what to count the first acceptance of the signature as
	siblings, withinMs int64
}

func newClaim(u *signing.Use) claim {
	c := claim{
		nonce:     id('n', []byte(u.Nonce), u.ClientKey),
		signature: id('s', u.Signature[:], u.ClientKey),
		signed:    u.Signed.UnixMilli(),
		keep:      u.Keep.UnixMilli(),
		uses:      1,
		siblings:  min(int64(u.Siblings), closed-1),
		withinMs:  u.Window.Milliseconds(),
	}
	if u.Keep.UnixNano()%1e6 != 0 {
		c.keep++ // until Keep at least
	}
	if c.siblings <= 1 || c.withinMs <= 0 {
		c.uses, c.siblings = closed, 0
	}
	return c
}

// id needs no separator, as of one kind only client keys vary in length.
func id(kind byte, nonceOrSignature []byte, clientKey string) []byte {
	text := append([]byte{kind}, nonceOrSignature...)
	sum := sha256.Sum256(append(text, clientKey...))
	return sum[:]
}

// outcome is what became of a claim.
type outcome struct {
	inTime   bool // signed in the epoch, and not past its retention
	accepted bool // the nonce was new, and the signature too or it is a sibling
}

func (o outcome) err() error {
	switch {
	case !o.inTime:
		return signing.ErrStale
	case !o.accepted:
		return signing.ErrReplayed
	}
	return nil
}

// Claim implements signing.Replays. A nonce that is not 16 bytes long is an
// error.
func (r *Replays) Claim(ctx context.Context, u signing.Use) error {
	if len(u.Nonce) != nonceLength {
		return errNonce
	}
	c := newClaim(&u)
	claim := r.claimPostgres
	if r.store.dialect == SQLite {
		claim = r.claimSQLite
	}
	o, err := claim(ctx, &c)
	if err != nil {
		return fmt.Errorf("sqlstore: claim: %w", err)
	}
	if o.accepted {
		r.store.wrote(ctx)
	}
	return o.err()
}

// The statement that decides. It writes both rows or none. It looks at the
// signature before it writes the nonce: a captured signature must not leave a
// row for each nonce that it is sent with.
//
// That look is at a snapshot. What decides is the writing, which relies on no
// snapshot and so is right under read committed: of statements at once that
// insert one id, the unique index lets one win, the others wait for its commit,
// and then ON CONFLICT sees the row as it is. The signature's row is only
// touched when the nonce was new, so that a replay takes no sibling's place;
// its lock is the last one taken, so that there is no deadlock. If another claim
// has taken the signature since the snapshot, the nonce is written already: a
// division by zero ends the statement and takes the nonce back.
//
// $1 nonce, $2 signature, $3 signed, $4 keep, $5 uses, $6 siblings, $7 window.
const claimText = `
WITH nonce AS (
	INSERT INTO {replays} (id, keep, uses, began, engine)
	SELECT $1::bytea, $4::bigint, 1, {now}, '' FROM {replays} e
	WHERE e.id = '' AND e.engine = ` + engineText + ` AND $3::bigint > e.began AND $4::bigint > {now}
	AND coalesce((SELECT uses < $6::bigint AND abs({now} - began) < $7::bigint FROM {replays} WHERE id = $2::bytea), true)
	ON CONFLICT (id) DO NOTHING RETURNING began
), signature AS (
	INSERT INTO {replays} AS r (id, keep, uses, began, engine)
	SELECT $2::bytea, $4::bigint, $5::bigint, nonce.began, '' FROM nonce
	ON CONFLICT (id) DO UPDATE SET uses = r.uses + 1, keep = greatest(r.keep, excluded.keep)
	WHERE 1 / (r.uses < $6::bigint AND abs(excluded.began - r.began) < $7::bigint)::int = 1 -- or replayed at the same time
	RETURNING 1
)
SELECT count(*) FROM signature`

// divisionByZero is the SQLSTATE of claimText for a claim that lost a race.
const divisionByZero = "22012"

// whyText says of a claim whose nonce was not recorded whether there is an
// epoch, and whether the request is in it. If not, then it was not before.
const whyText = `
SELECT count(*) = 1, coalesce(bool_and($1::bigint > began AND $2::bigint > {now}), false)
FROM {replays} WHERE id = '' AND engine = ` + engineText

// engineText is another one when the server was started again, promoted or
// restored, and when the table was made again. All of it is in the server's
// memory.
const engineText = `(SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || '/' ||
	extract(epoch FROM pg_postmaster_start_time())::text || '/' || '{replays}'::regclass::oid::text)`

const beginText = `
INSERT INTO {replays} AS e (id, keep, uses, began, engine)
SELECT '', 9223372036854775807, 0, {now}, ` + engineText + `
ON CONFLICT (id) DO UPDATE SET began = greatest(e.began, excluded.began), engine = excluded.engine
WHERE e.engine <> excluded.engine`

func (r *Replays) claimPostgres(ctx context.Context, c *claim) (o outcome, err error) {
	s := r.store
	// Twice: without an epoch nothing was recorded.
	for range 2 {
		accepted := 0
		err = s.db.QueryRowContext(ctx, s.text(claimText),
			c.nonce, c.signature, c.signed, c.keep, c.uses, c.siblings, c.withinMs).
			Scan(&accepted)
		switch {
		case sqlState(err) == divisionByZero:
			return outcome{inTime: true}, nil
		case err != nil || accepted == 1:
			return outcome{inTime: true, accepted: accepted == 1}, err
		}
		begun := false
		err = s.db.QueryRowContext(ctx, s.text(whyText), c.signed, c.keep).Scan(&begun, &o.inTime)
		if err != nil || begun {
			return o, err
		}
		if err = r.begin(ctx); err != nil {
			return o, err
		}
	}
	// Somebody empties the table all the time.
	return outcome{}, nil
}

// begin lets an epoch begin in PostgreSQL, unless there is one.
func (r *Replays) begin(ctx context.Context) error {
	_, err := r.store.db.ExecContext(ctx, r.store.text(beginText))
	return err
}

// errUndo ends a transaction of SQLite that is to leave nothing.
var errUndo = errors.New("sqlstore: undo")

func (r *Replays) claimSQLite(ctx context.Context, c *claim) (o outcome, err error) {
	err = r.store.transact(ctx, "", func(q querier) error {
		o = outcome{}
		now, began, err := r.epoch(ctx, q)
		o.inTime = err == nil && c.signed > began && c.keep > now
		if !o.inTime {
			return err
		}
		o.accepted, err = r.record(ctx, q, c, now)
		if err == nil && !o.accepted {
			return errUndo // its nonce, and its epoch, which the next claim begins again
		}
		return err
	})
	switch {
	case errors.Is(err, errUndo):
		return o, nil
	case err == nil:
		r.store.begun.Store(true)
	}
	return o, err
}

// epoch returns the time, and since when the table has known. The first claim
// of a process moves the latter to when it opened the store: the file may be a
// copy that was put back before.
func (r *Replays) epoch(ctx context.Context, q querier) (now, began int64, err error) {
	s := r.store
	err = q.QueryRowContext(ctx, s.text("SELECT {now}, coalesce((SELECT began FROM {replays} WHERE id = x''), -1)")).Scan(&now, &began)
	if err != nil || began >= 0 && s.begun.Load() {
		return now, began, err
	}
	least := now
	if !s.begun.Load() {
		least = s.opened
	}
	err = one(ctx, q, s.text(`
		INSERT INTO {replays} (id, keep, uses, began, engine) VALUES (x'', 9223372036854775807, 0, $1, '')
		ON CONFLICT (id) DO UPDATE SET began = max(began, excluded.began) RETURNING began`), []any{least}, &began)
	return now, began, err
}

// record reports whether both the nonce and the signature could be recorded.
func (r *Replays) record(ctx context.Context, q querier, c *claim, now int64) (both bool, err error) {
	n, err := affected(q.ExecContext(ctx, r.store.text(`
		INSERT INTO {replays} (id, keep, uses, began, engine) VALUES ($1, $2, 1, $3, '')
		ON CONFLICT (id) DO NOTHING`), c.nonce, c.keep, now))
	if err != nil || n == 0 {
		return false, err
	}
	n, err = affected(q.ExecContext(ctx, r.store.text(`
		INSERT INTO {replays} (id, keep, uses, began, engine) VALUES ($1, $2, $3, $4, '')
		ON CONFLICT (id) DO UPDATE SET uses = uses + 1, keep = max(keep, excluded.keep)
		WHERE uses < $5 AND abs(excluded.began - began) < $6`), c.signature, c.keep, c.uses, now, c.siblings, c.withinMs))
	return n == 1, err
}
