package sqlstore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/tenantkit/tenantkit/signing"
)

// Replays remembers accepted requests in the database: a row for each nonce and
// one for each signature. It is exact, for any number of instances.
//
// In PostgreSQL an accepted request takes one statement and one round trip,
// siblings included, and a refused one a look-up more. In SQLite an accepted one
// takes a look and one statement, and a refused one the look alone, which needs
// no lock: replays keep nobody waiting. A claim never returns signing.ErrFull: the
// number of rows is the rate of requests times the time for which each is
// remembered, and it is the quotas in front that bound it. A full disk is an error
// like any other.
//
// A refused claim leaves no row, but that of the epoch if it is the first. Of claims
// of one signature at once, the statement of one that loses ends with an error, which
// takes back what it has written. In PostgreSQL that leaves a line "division by zero"
// in the server's log, of level ERROR, and a dead row until the next vacuum. The line
// has neither nonce nor client key, unless the server is told to log parameters. For
// each claim that is accepted there are at most as many of them as connections: who
// comes later is refused by a look.
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

// claimSQLite looks before it writes: one who sends a captured request again and
// again must not keep others from the lock that there is one of.
func (r *Replays) claimSQLite(ctx context.Context, c *claim) (o outcome, err error) {
	// Three times: without an epoch, and when another claim was first.
	for range 3 {
		begun, o, err := r.look(ctx, c)
		if err == nil && !begun {
			if err = r.beginSQLite(ctx); err == nil {
				continue
			}
		}
		if err != nil || !o.accepted {
			return o, err
		}
		if o.accepted, err = r.record(ctx, c); err != nil || o.accepted {
			return o, err
		}
	}
	// Somebody empties the table all the time.
	return outcome{}, nil
}

// lookText says whether there is an epoch, whether a claim is in time, and
// whether neither its nonce nor its signature is in the way.
const lookText = `
SELECT count(*), coalesce($3 > max(began) AND $4 > {now}, false),
	NOT EXISTS (SELECT 1 FROM {replays} WHERE id = $1)
	AND coalesce((SELECT uses < $5 AND abs({now} - began) < $6 FROM {replays} WHERE id = $2), true)
FROM {replays} WHERE id = x''`

// look decides a claim without writing. What it refuses is refused for good; what
// it lets through is for record to decide. There is no epoch before the first
// claim of this Store, whatever the table says: the file may be a copy that was
// put back before.
func (r *Replays) look(ctx context.Context, c *claim) (begun bool, o outcome, err error) {
	s := r.store
	if !s.begun.Load() {
		return false, o, nil
	}
	err = s.read(ctx, func(q querier) error {
		return one(ctx, q, s.text(lookText), []any{c.nonce, c.signature, c.signed, c.keep, c.siblings, c.withinMs}, &begun, &o.inTime, &o.accepted)
	})
	o.accepted = o.accepted && o.inTime
	return begun, o, err
}

// beginSQLite lets an epoch begin: with the first claim of a process when it
// opened the store, later now, as somebody has emptied the table.
func (r *Replays) beginSQLite(ctx context.Context) error {
	s := r.store
	var least any // now
	if !s.begun.Load() {
		least = s.opened
	}
	err := s.write(ctx, func(q querier) error {
		_, err := q.ExecContext(ctx, s.text(`
			INSERT INTO {replays} (id, keep, uses, began, engine) VALUES (x'', 9223372036854775807, 0, coalesce($1, {now}), '')
			ON CONFLICT (id) DO UPDATE SET began = max(began, excluded.began)`), least)
		return err
	})
	if err == nil {
		s.begun.Store(true)
	}
	return err
}

// recordText writes both rows or none, as claimText does. It asks again what look
// has found: that was before it had the lock. A nonce that is not in time gets no
// count of uses, nor does a row that is there and is no signature with a place left.
// The table refuses such a row: that ends the statement, and takes back what it has
// written.
const recordText = `
INSERT INTO {replays} (id, keep, uses, began, engine) VALUES
	($1, $4, (SELECT 1 FROM {replays} WHERE id = x'' AND $3 > began AND $4 > {now}), {now}, ''),
	($2, $4, $5, {now}, '')
ON CONFLICT (id) DO UPDATE SET keep = max(keep, excluded.keep),
	uses = CASE WHEN id = $2 AND uses < $6 AND abs(excluded.began - began) < $7 THEN uses + 1 END`

// noUses is what SQLite calls a row without a count, whichever driver says so.
const noUses = "NOT NULL constraint failed"

func (r *Replays) record(ctx context.Context, c *claim) (recorded bool, err error) {
	s := r.store
	err = s.write(ctx, func(q querier) error {
		_, err := q.ExecContext(ctx, s.text(recordText), c.nonce, c.signature, c.signed, c.keep, c.uses, c.siblings, c.withinMs)
		return err
	})
	if err != nil && strings.Contains(err.Error(), noUses) {
		return false, nil
	}
	return err == nil, err
}
