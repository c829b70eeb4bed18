package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/internal/verbs"
)

type sessions struct{ store *Store }

// Sessions returns the store's sessions and tickets. It finds them by the hash of their
// token. Get is one look-up. Touch is an update that cannot create a record, and
// it writes nothing unless the time is later.
func (s *Store) Sessions() session.Store { return &sessions{s} }

// A record is live until it is evicted (replaced = 1), ended or expired.
const (
	notOverText     = `{now} < expires`
	liveSessionText = `replaced = 0 AND ` + notOverText
	ofAccountText   = `org = $1 AND account = $2`
)

// Create implements session.Store. It returns an error if the hash exists, or if the
// account has a record with the id.
func (s *sessions) Create(ctx context.Context, n session.Session, limit int) error {
	var locks []string
	if limit > 0 {
		locks = []string{accountLock(n.Org, n.Account)}
	}
	create := func(q conn) error {
		if limit > 0 {
			if err := s.makeRoom(ctx, q, n, limit); err != nil {
				return err
			}
		}
		return s.add(ctx, q, n)
	}
	var err error
	if openedVerb(n) == "" {
		err = s.store.write(ctx, create, locks...) // anybody can ask for a mailed ticket: that must not take the log's lock
	} else {
		err = s.store.audited(ctx, n.Org, create, locks...)
	}
	s.store.countWrite(ctx, err == nil)
	return failed("create a session", err)
}

// add inserts a record. It refuses a hash that another record has, or had before its
// latest Replace. The primary key alone would wait for a concurrent Replace, which takes
// the hash away, and then accept it.
func (s *sessions) add(ctx context.Context, q conn, n session.Session) error {
	rows, err := q.exec(ctx, `
		INSERT INTO {sessions} (hash, id, org, account, ticket, created, authenticated, seen, expires, address, agent, remember, proof, origin, replaced)
		SELECT CAST($1 AS {bytes}), $2, $3, $4, $5, CAST($6 AS bigint), CAST($7 AS bigint), CAST($8 AS bigint), CAST($9 AS bigint), $10, $11, $12, $13, $14, 0
		WHERE NOT EXISTS (SELECT 1 FROM {sessions} WHERE hash = $1 OR previous = $1)`,
		n.Hash[:], n.ID, n.Org, n.Account, n.Ticket,
		n.Created.UnixMilli(), n.Authenticated.UnixMilli(), n.Seen.UnixMilli(), n.Expires.UnixMilli(), n.Address, n.Agent, number(n.Remember), n.Proof, n.Origin)
	q.note(auth.Event{Verb: openedVerb(n), Account: n.Account, Session: n.ID})
	return changed(rows, err, errHash)
}

// openedVerb returns what the creation of a record is in the audit log, and endedVerbs what the end of one of
// a ticket is. Those of other tickets, which wait for the next step, have no entry.
func openedVerb(n session.Session) string {
	var origin struct {
		Acting bool `json:"x"` // of the text of the Manager
	}
	json.Unmarshal([]byte(n.Origin), &origin) // empty for most
	switch {
	case origin.Acting:
		return verbs.ActingBegan
	case n.Ticket == "" && n.Origin != "":
		return verbs.SessionEntered
	}
	return map[string]string{"": verbs.SessionOpened, "device": verbs.DeviceRemembered, "invite": verbs.InvitationMade}[n.Ticket]
}

var endedVerbs = map[string]string{"": verbs.SessionEnded, "device": verbs.DeviceForgotten, "invite": verbs.InvitationEnded}

var errHash = errors.New("the hash is not new")

// makeRoom ends those records of n's account and ticket kind that were not used for the
// longest time, until fewer than limit are live. It selects them by id, because a concurrent Replace may change a
// hash. It locks all of them before: a concurrent Delete has made room, or a concurrent Replace or Touch has used
// a record, before the second statement compares, or waits.
func (s *sessions) makeRoom(ctx context.Context, q conn, n session.Session, limit int) error {
	var locked int
	err := q.one(ctx, `SELECT count(*) FROM (SELECT 1 FROM {sessions} WHERE `+ofAccountText+` AND replaced = 0 ORDER BY id {lock}) AS locked`,
		[]any{n.Org, n.Account}, &locked)
	if err != nil || locked < limit {
		return err
	}
	evicted, err := q.exec(ctx, `
		UPDATE {sessions} SET replaced = 1 WHERE `+ofAccountText+` AND replaced = 0 AND id IN (
			SELECT id FROM {sessions} WHERE `+ofAccountText+` AND ticket = $3 AND `+liveSessionText+`
			ORDER BY seen DESC, created DESC, id DESC LIMIT 1000000000 OFFSET $4)`,
		n.Org, n.Account, n.Ticket, limit-1)
	if evicted > 0 {
		q.note(auth.Event{Verb: endedVerbs[n.Ticket], Account: n.Account, Count: evicted, Reason: "limit"})
	}
	return err
}

const sessionText = `hash, id, org, account, ticket, created, authenticated, seen, expires, address, agent, remember = 1, proof, origin`

// scanSession scans the columns of sessionText, and then more.
func scanSession(rows *sql.Rows, more ...any) (n session.Session, err error) {
	var hash []byte
	err = rows.Scan(append([]any{&hash, &n.ID, &n.Org, &n.Account, &n.Ticket, millis(&n.Created), millis(&n.Authenticated), millis(&n.Seen), millis(&n.Expires),
		&n.Address, &n.Agent, &n.Remember, &n.Proof, &n.Origin}, more...)...)
	if err == nil && len(hash) != len(n.Hash) {
		err = errors.New("a hash is not 32 bytes long")
	}
	copy(n.Hash[:], hash)
	return n, err
}

// Get implements session.Store.
func (s *sessions) Get(ctx context.Context, org auth.OrgKey, hash [32]byte) (session.Session, error) {
	var evicted bool
	n, err := get(ctx, s.store, `SELECT `+sessionText+`, replaced = 1 FROM {sessions} WHERE org = $1 AND hash = $2 AND `+notOverText, []any{org, hash[:]},
		func(rows *sql.Rows) (session.Session, error) { return scanSession(rows, &evicted) })
	if evicted && err == nil {
		return session.Session{}, session.ErrEvicted
	}
	return n, failed("get a session", found(err, auth.ErrNotFound))
}

// Touch implements session.Store.
func (s *sessions) Touch(ctx context.Context, org auth.OrgKey, hash [32]byte, seen time.Time) error {
	args, late := []any{org, hash[:], seen.UnixMilli()}, false
	err := s.store.write(ctx, func(q conn) error {
		for {
			n, err := q.exec(ctx, `UPDATE {sessions} SET seen = $3 WHERE org = $1 AND hash = $2 AND seen < $3 AND `+liveSessionText, args...)
			if n > 0 || err != nil {
				return err
			}
			err = q.one(ctx, `SELECT seen >= $3 FROM {sessions} WHERE org = $1 AND hash = $2 AND `+liveSessionText, args, &late)
			if late || err != nil {
				return err
			}
			// A concurrent Create or Replace has brought the record since the update.
		}
	})
	return failed("touch a session", found(err, auth.ErrNotFound))
}

// Replace implements session.Store. It returns an error if the new hash exists.
func (s *sessions) Replace(ctx context.Context, org auth.OrgKey, old [32]byte, n session.Session) error {
	err := s.store.audited(ctx, org, func(q conn) error {
		renewed, ticket := auth.Event{Verb: verbs.SessionRenewed}, ""
		err := q.one(ctx, `
			UPDATE {sessions} SET hash = $3, previous = $2, authenticated = $4, seen = $5 WHERE org = $1 AND hash = $2 AND `+liveSessionText+`
			RETURNING account, id, ticket`,
			[]any{org, old[:], n.Hash[:], n.Authenticated.UnixMilli(), n.Seen.UnixMilli()}, &renewed.Account, &renewed.Session, &ticket)
		if ticket == "" {
			q.note(renewed)
		}
		return err
	})
	return failed("replace a session's token", found(err, auth.ErrNotFound))
}

// Delete implements session.Store. If a concurrent Replace has changed the row,
// PostgreSQL checks the condition again and finds the hash in the other column.
func (s *sessions) Delete(ctx context.Context, org auth.OrgKey, hash [32]byte) error {
	var known bool
	err := error(nil)
	if s.store.dialect == SQLite || s.store.options.Audit {
		// Anybody can log out with invented cookies: that must not take the write lock, or that of the log.
		err = s.store.find(ctx, `SELECT true FROM {sessions} WHERE `+openedText, []any{org, hash[:]}, &known)
	}
	if err == nil {
		_, _, err = s.end(ctx, org, openedText, []any{org, hash[:]})
	}
	return failed("delete a session", found(err, nil))
}

// openedText is true for the record that has the hash, or had it before its latest
// Replace.
const openedText = `org = $1 AND (hash = $2 OR previous = $2) AND replaced = 0`

// DeleteID implements session.Store.
func (s *sessions) DeleteID(ctx context.Context, org auth.OrgKey, account, id string) error {
	all, _, err := s.end(ctx, org, ofAccountText+` AND id = $3 AND `+liveSessionText, []any{org, account, id})
	return failed("delete a session", changed(all, err, auth.ErrNotFound))
}

// DeleteAll implements session.Store.
func (s *sessions) DeleteAll(ctx context.Context, org auth.OrgKey, account, except string) (int, error) {
	// With the lock, a login does not begin and end during this call and survive it.
	_, ended, err := s.end(ctx, org, ofAccountText+` AND ($3 = '' OR id <> $3)`, []any{org, account, except}, accountLock(org, account))
	return ended, failed("delete sessions", err)
}

// accountLock returns the name of the lock of an account's sessions and API keys.
func accountLock(org auth.OrgKey, account string) string {
	return "sessions\x00" + string(org) + "\x00" + account
}

// DeleteOrg implements session.Store.
func (s *sessions) DeleteOrg(ctx context.Context, org auth.OrgKey) (int, error) {
	_, ended, err := s.end(ctx, org, `org = $1`, []any{org})
	return ended, failed("delete sessions", err)
}

// end deletes the records that a condition selects, and returns how many there were, and how many of
// them were live sessions.
func (s *sessions) end(ctx context.Context, org auth.OrgKey, condition string, args []any, locks ...string) (all int64, ended int, err error) {
	err = s.store.audited(ctx, org, func(q conn) error {
		live := map[string]auth.Event{} // by ticket
		all = 0
		err := q.each(ctx, `
			DELETE FROM {sessions} WHERE `+condition+` AND replaced = 0
			RETURNING account, id, ticket, `+notOverText, args, func(rows *sql.Rows) error {
			var e auth.Event
			var ticket string
			var is bool
			err := rows.Scan(&e.Account, &e.Session, &ticket, &is)
			all++
			if e.Verb = endedVerbs[ticket]; !is || e.Verb == "" {
				return err
			}
			before, more := live[ticket]
			if e.Count = before.Count + 1; more { // the entry names none
				e.Session = ""
				if before.Account != e.Account {
					e.Account = ""
				}
			}
			live[ticket] = e
			return err
		})
		ended = int(live[""].Count)
		for _, e := range live {
			q.note(e)
		}
		return err
	}, locks...)
	return all, ended, err
}

// List implements session.Store.
func (s *sessions) List(ctx context.Context, org auth.OrgKey, account string) ([]session.Session, error) {
	sessions, err := list(ctx, s.store, `SELECT `+sessionText+` FROM {sessions} WHERE `+ofAccountText+` AND `+liveSessionText+` ORDER BY created, id`,
		[]any{org, account}, func(rows *sql.Rows) (session.Session, error) { return scanSession(rows) })
	return sessions, failed("list sessions", err)
}
