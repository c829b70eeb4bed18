package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/audit"
	"github.com/tenantkit/tenantkit/internal/verbs"
)

// Audit is the audit log of each org: a chain of entries, as package audit describes. With Options.Audit,
// each verb of the Store that changes something appends its entry in its own transaction: there is no
// verb without its entry, and no entry without its verb. Verbs of one org then run one at a time, those of
// different orgs do not wait for each other.
//
// These leave no entry: accepted requests, counts of attempts, uses of sessions and API keys, a use of a
// token that is not its last, incomplete logins, mailed tickets, idempotency keys, and the deletion of
// what has expired. A call that changes nothing leaves none, either.
type Audit struct{ store *Store }

// Audit returns the log.
func (s *Store) Audit() *Audit { return &Audit{s} }

// Audit returns the log for the application's own verbs in the transaction. The lock of the org's chain
// lasts until the transaction ends.
func (in *In) Audit() *Audit { return &Audit{in.store} }

// auditLock returns the name of the lock of an org's chain. It is taken before all others. If it came last, a
// transaction of the application with two verbs would hold it while it waits for a lock of the second
// one, and whoever has that would wait for the chain.
func auditLock(org auth.OrgKey) string { return "audit\x00" + string(org) }

// audited is write, and appends to the log of the org what f notes. With a log it is always a transaction.
func (s *Store) audited(ctx context.Context, org auth.OrgKey, f func(conn) error, locks ...string) error {
	if !s.options.Audit {
		return s.write(ctx, f, locks...)
	}
	return s.write(ctx, func(q conn) error {
		var notes []auth.Event
		q.notes = &notes
		err := f(q)
		for _, e := range notes {
			if e.Org = org; err == nil {
				err = q.append(ctx, org, audit.Entry{Event: auth.Trace(ctx, e)})
			}
		}
		return err
	}, append([]string{auditLock(org)}, locks...)...)
}

// noted is audited for an f that has one entry.
func (s *Store) noted(ctx context.Context, e auth.Event, f func(conn) error, locks ...string) error {
	return s.audited(ctx, e.Org, func(q conn) error {
		q.note(e)
		return f(q)
	}, locks...)
}

// note has audited append an entry, unless f returns an error or e has no verb.
func (c conn) note(e auth.Event) {
	if c.notes != nil && e.Verb != "" {
		*c.notes = append(*c.notes, e)
	}
}

// record runs a statement that is atomic by itself, and appends e to the log of e.Org if it changes a row.
func (s *Store) record(ctx context.Context, e auth.Event, text string, args ...any) (changed int64, err error) {
	err = s.audited(ctx, e.Org, func(q conn) error {
		changed, err = q.exec(ctx, text, args...)
		if changed > 0 {
			q.note(e)
		}
		return err
	})
	return changed, err
}

// Each statement has the first arguments of the one after it.
const (
	moveHeadText = `INSERT INTO {audit_heads} (org, n, time, hash) VALUES ($1, $2, $3, $4)
		ON CONFLICT (org) DO UPDATE SET n = excluded.n, time = excluded.time, hash = excluded.hash`
	addPersonalText = `INSERT INTO {audit_personal} (org, n, address, agent, mail, salt)
		SELECT $1, CAST($2 AS bigint), $5, $6, $7, $8 WHERE $8 <> ''`
	addEntryText = `INSERT INTO {audit} (org, n, time, hash, verb, actor, account, app, credential, token, session, by_what, reason, counted,
			detail, route, request, commitment)
		VALUES ($1, $2, $3, $4, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)`
	headText = `SELECT n, hash, time FROM {audit_heads} WHERE org = $1`

	addInOneText = `WITH head AS (` + moveHeadText + `), personal AS (` + addPersonalText + `) ` + addEntryText // in PostgreSQL
)

// append appends an entry in a transaction that has the lock of the chain. It locks the head, too, for
// programs that have not asked for that lock.
func (c conn) append(ctx context.Context, org auth.OrgKey, e audit.Entry) error {
	head, err := c.head(ctx, org, headText+` {lock}`)
	if err != nil {
		return err
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	for _, text := range []*string{&e.Actor, &e.Account, &e.App, &e.Credential, &e.Token, &e.Session, &e.By, &e.Reason, &e.Detail, &e.Route, &e.Request, &e.Agent, &e.Mail} {
		*text = auditable(*text)
	}
	head.Append(&e)
	address, _ := e.Address.MarshalText() // "" for none
	args := []any{org, e.N, e.Time.UnixMilli(), e.Hash, string(address), e.Agent, e.Mail, e.Salt, e.Verb, e.Actor, e.Account, e.App, e.Credential,
		e.Token, e.Session, e.By, e.Reason, e.Count, e.Detail, e.Route, e.Request, e.Commitment}
	if c.store.dialect == PostgreSQL {
		_, err := c.exec(ctx, addInOneText, args...)
		return err
	}
	for _, s := range []struct {
		text string
		args int
	}{{moveHeadText, 4}, {addPersonalText, 8}, {addEntryText, len(args)}} {
		if err == nil {
			_, err = c.exec(ctx, s.text, args[:s.args]...)
		}
	}
	return err
}

// maxAudited is how long a text of an entry can be, in bytes.
const maxAudited = 1024

// auditable returns a text as one printable line that is not too long.
func auditable(text string) string {
	if len(text) > maxAudited {
		text = text[:maxAudited] + "…"
	}
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

func (c conn) head(ctx context.Context, org auth.OrgKey, text string, more ...any) (audit.Head, error) {
	head := audit.Head{Org: org}
	err := c.one(ctx, text, append([]any{org}, more...), &head.Count, &head.Hash, millis(&head.Time))
	return head, found(err, nil)
}

// Append appends an entry for a verb of the application, such as "password.changed", with what auth.Trace
// adds from the request. mail is the address that the verb is about, if any; it can be erased. Call it
// in the transaction of the verb, by In.Audit. It does nothing without Options.Audit. An unknown verb,
// one that begins with "audit.", and no org are errors.
func (a *Audit) Append(ctx context.Context, e auth.Event, mail string) error {
	e = auth.Trace(ctx, e)
	switch {
	case !a.store.options.Audit:
		return nil
	case e.Org == "" || !verbs.Is(e.Verb) || strings.HasPrefix(e.Verb, "audit."):
		return fmt.Errorf("sqlstore: append to the audit log: no org, or %q is not a verb for applications", e.Verb)
	}
	appended := func(q conn) error { return q.append(ctx, e.Org, audit.Entry{Event: e, Mail: mail}) }
	return failed("append to the audit log", a.store.write(ctx, appended, auditLock(e.Org)))
}

// Heads returns where the chain of each org ends, for audit.Head.Sign.
func (a *Audit) Heads(ctx context.Context) ([]audit.Head, error) {
	heads, err := list(ctx, a.store, `SELECT org, n, hash, time FROM {audit_heads} ORDER BY org`, nil, func(rows *sql.Rows) (h audit.Head, err error) {
		err = rows.Scan(&h.Org, &h.Count, &h.Hash, millis(&h.Time))
		return h, err
	})
	return heads, failed("list the heads of the audit log", err)
}

// Head returns where the chain of an org ends: the zero Head of the org if it has no entry.
func (a *Audit) Head(ctx context.Context, org auth.OrgKey) (head audit.Head, err error) {
	err = a.store.read(ctx, func(q conn) error {
		head, err = q.head(ctx, org, headText)
		return err
	})
	return head, failed("find the head of the audit log", err)
}

const selectEntries = `SELECT a.org, a.n, a.time, a.hash, a.verb, a.actor, a.account, a.app, a.credential, a.token, a.session, a.by_what, a.reason,
		a.counted, a.detail, a.route, a.request, a.commitment, coalesce(p.address, ''), coalesce(p.agent, ''), coalesce(p.mail, ''), coalesce(p.salt, '')
	FROM {audit} AS a LEFT JOIN {audit_personal} AS p ON p.org = a.org AND p.n = a.n WHERE a.org = $1 `

func entryOf(rows *sql.Rows) (e audit.Entry, err error) {
	var address string
	err = rows.Scan(&e.Org, &e.N, millis(&e.Time), &e.Hash, &e.Verb, &e.Actor, &e.Account, &e.App, &e.Credential, &e.Token, &e.Session, &e.By, &e.Reason,
		&e.Count, &e.Detail, &e.Route, &e.Request, &e.Commitment, &address, &e.Agent, &e.Mail, &e.Salt)
	if e.Address, _ = netip.ParseAddr(address); address != "" && !e.Address.IsValid() {
		e.Agent += " " + address // somebody has changed it: the commitment does not hold
	}
	return e, err
}

// View returns the statement that creates a view of the log of all orgs, which has what List has, for a list of
// package sqllist. Its columns are text, and NULL for empty: org, id (of n), verb, actor, account, app,
// credential, token, session, by_what, reason, detail, route, request, commitment, hash, address, agent, mail
// and salt. n and counted are integers, and time is a time of whole milliseconds.
func (a *Audit) View(name string) string {
	at := `strftime('%Y-%m-%dT%H:%M:%S', a.time / 1000, 'unixepoch') || printf('.%03dZ', a.time % 1000)`
	if a.store.dialect == PostgreSQL {
		at = `CAST(timestamptz 'epoch' + a.time * interval '1 millisecond' AS timestamptz(3))`
	}
	text := `CREATE VIEW ` + name + ` AS SELECT a.org, CAST(a.n AS text) AS id, a.n, ` + at + ` AS time, a.verb, NULLIF(a.counted, 0) AS counted, a.hash`
	for _, column := range []string{"a.actor", "a.account", "a.app", "a.credential", "a.token", "a.session", "a.by_what", "a.reason", "a.detail", "a.route",
		"a.request", "a.commitment", "p.address", "p.agent", "p.mail", "p.salt"} {
		text += `, NULLIF(` + column + `, '') AS ` + column[2:]
	}
	return a.store.text(text + ` FROM {audit} AS a LEFT JOIN {audit_personal} AS p ON p.org = a.org AND p.n = a.n`)
}

// List returns entries of an org, the latest first: those whose N is less than before, or the latest ones
// if before is 0. limit is 1 to 1000. For the next ones, call it again with the last N.
func (a *Audit) List(ctx context.Context, org auth.OrgKey, before int64, limit int) ([]audit.Entry, error) {
	if limit < 1 || limit > maxList {
		return nil, errors.New("sqlstore: list the audit log: the limit is not 1 to 1000")
	}
	entries, err := list(ctx, a.store, selectEntries+`AND (a.n < $2 OR $2 = 0) ORDER BY a.n DESC LIMIT $3`, []any{org, before, limit}, entryOf)
	return entries, failed("list the audit log", err)
}

// Verify reads the whole chain of an org and checks it, also against a checkpoint that was kept outside of
// the database, if that is not the zero Head. A *audit.Broken names the entry at which the chain does
// not hold. Verify takes some seconds for a million entries, and holds a connection for so long.
func (a *Audit) Verify(ctx context.Context, org auth.OrgKey, checkpoint audit.Head) error {
	for {
		after, head, err := a.ends(ctx, org)
		if err == nil {
			err = a.verify(ctx, audit.Verifier{After: after, Checkpoint: checkpoint}, head)
		}
		if err == nil {
			return nil
		}
		// Another call may have sealed entries meanwhile.
		if now, _, _ := a.ends(ctx, org); now.Count <= after.Count {
			return failed("verify the audit log", err)
		}
	}
}

// verify reads the entries from v.After to head.
func (a *Audit) verify(ctx context.Context, v audit.Verifier, head audit.Head) error {
	// Not by read, which would add entries again.
	err := conn{store: a.store, on: a.store.single}.each(ctx, selectEntries+`AND a.n > $2 AND a.n <= $3 ORDER BY a.n`, []any{head.Org, v.After.Count, head.Count},
		func(rows *sql.Rows) error {
			e, err := entryOf(rows)
			if err == nil {
				err = v.Add(&e)
			}
			return err
		})
	if err == nil {
		err = v.End(head)
	}
	return err
}

// ends returns the head after which the entries of an org begin, and that of the last one.
func (a *Audit) ends(ctx context.Context, org auth.OrgKey) (after, head audit.Head, err error) {
	err = a.store.read(ctx, func(q conn) error {
		if after, err = q.seal(ctx, org); err == nil {
			head, err = q.head(ctx, org, headText)
		}
		return err
	})
	return after, head, err
}

// seal returns the head after which the entries of an org begin.
func (c conn) seal(ctx context.Context, org auth.OrgKey) (audit.Head, error) {
	e := audit.Entry{Event: auth.Event{Org: org, Verb: verbs.AuditSealed}}
	err := c.one(ctx, `SELECT detail FROM {audit} WHERE org = $1 AND verb = 'audit.sealed' ORDER BY n DESC LIMIT 1`, []any{org}, &e.Detail)
	at, _ := e.Sealed()
	return at, found(err, nil)
}

// Seal replaces the entries of an org whose N is less than before by one entry at the end, audit.sealed, which
// has the hash of the last of them. The chain still holds. A checkpoint from before entry before-1 shows nothing then. Export them first, if somebody may ask for
// them. After an error, some of them may be left: call it again. It returns auth.ErrNotFound if there is no
// entry before-1.
func (a *Audit) Seal(ctx context.Context, org auth.OrgKey, before int64) error {
	err := a.store.write(ctx, func(q conn) error {
		after, err := q.seal(ctx, org)
		if err != nil || before-1 <= after.Count {
			return err
		}
		at, err := q.head(ctx, org, `SELECT n, hash, time FROM {audit} WHERE org = $1 AND n = $2`, before-1)
		if err == nil && at.Count == 0 {
			err = auth.ErrNotFound
		}
		if err == nil {
			e := at.Seal(at.Count - after.Count)
			e.Event = auth.Trace(ctx, e.Event)
			err = q.append(ctx, org, e)
		}
		return err
	}, auditLock(org))
	for _, table := range []string{"{audit}", "{audit_personal}"} {
		for n := int64(batch); err == nil && n == batch; {
			n, err = a.store.exec(ctx, `DELETE FROM `+table+` WHERE org = $1 AND n IN (SELECT n FROM `+table+` WHERE org = $1 AND n < $2 ORDER BY n LIMIT $3)`,
				org, before, batch)
		}
	}
	return failed("seal the audit log", err)
}

// Erase deletes the address, the agent and the mail of all entries for what an account did, and of those
// with a mail address of an entry about the account, and returns how many. The chain still holds. What is in the
// chain stays: ids, and the words of Reason. It reads all entries of the org.
func (a *Audit) Erase(ctx context.Context, org auth.OrgKey, account string) (erased int64, err error) {
	// Two statements: joined by OR, PostgreSQL would look through all entries of the account for each row.
	const of = `org = $1 AND n IN (SELECT n FROM {audit} WHERE org = $1 AND `
	err = a.store.audited(ctx, org, func(q conn) error {
		erased, err = q.exec(ctx, `DELETE FROM {audit_personal} WHERE org = $1 AND mail <> '' AND mail IN (SELECT mail FROM {audit_personal} WHERE `+of+`account = $2))`, org, account)
		if err != nil {
			return err
		}
		n, err := q.exec(ctx, `DELETE FROM {audit_personal} WHERE `+of+`(actor = $2 OR actor = '' AND account = $2))`, org, account)
		if erased += n; erased > 0 {
			q.note(auth.Event{Verb: verbs.AuditErased, Account: account, Count: erased})
		}
		return err
	}, auditLock(org))
	return erased, failed("erase in the audit log", err)
}
