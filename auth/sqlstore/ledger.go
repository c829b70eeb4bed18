package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/face"
	"github.com/tenantkit/tenantkit/internal/verbs"
	"github.com/tenantkit/tenantkit/token"
)

type ledger struct{ store *Store }

// Ledger returns the store's ledger of permanent and limited-use tokens.
//
// Spend is one statement: an update for a limited-use token, and a look-up for a
// permanent token, whose uses are not counted. The statement finds each ancestor by its
// primary key. Issue and RevokeSubject are transactions. In PostgreSQL they wait only
// for other transactions of the same subject. In SQLite all writes run one at a time.
//
// List is one statement. It reads a page of rows in the order of an index, and the ancestors
// of each.
//
// Each Issue deletes the dead records of its subject, and those of replaced keys that
// were issued more than an hour before. An Issue of a record with a parent also looks at eight others
// that have one, and deletes those whose ancestors are dead, so that these do not add up. Sweep does not look
// for them: after the last Issue they stay, no more of a subject than it had tokens.
//
// Names are stored as text. A name that is not UTF-8 or holds a zero byte cannot be
// issued, so it is unknown.
func (s *Store) Ledger() token.Ledger { return &ledger{s} }

// isLive returns the condition that a row is live at {now} and has at most the given
// number of ancestors, all of them live. row is the table or an alias of it.
func isLive(row string, ancestors int) string {
	return strings.ReplaceAll(
		`(row.expires IS NULL OR {now} < row.expires * 1000) AND (row.max_uses = 0 OR row.uses < row.max_uses) AND `,
		"row", row) + ancestorsLive(row, ancestors)
}

// ancestorsLive returns the part of isLive about the ancestors. A row without a parent
// needs no look-up.
func ancestorsLive(row string, ancestors int) string {
	if ancestors == 0 {
		return row + `.parent = ''`
	}
	parent := fmt.Sprint("ancestor", ancestors)
	return strings.NewReplacer("row", row, "up", parent).Replace(
		`(row.parent = '' OR EXISTS (SELECT 1 FROM {ledger} up WHERE up.client_key = row.client_key AND up.id = row.parent AND `) +
		isLive(parent, ancestors-1) + `))`
}

const ledgerColumns = `client_key, id, org, subject, key_id, generation, uses, max_uses, issued, expires, maker, maker_app, parent, name, nullif(seen, 0), seen_from, `

// sameText is the condition that a row accepts a token, and reusedText that the token was renewed, and
// its grace is over or its successor was renewed, too: see sameArgs.
const (
	sameText = `client_key = $1 AND id = $2 AND subject = $3 AND max_uses = $4 AND
		(generation = $5 AND key_id = $6 OR generation - 1 = $5 AND {now} < graced)`
	reusedText = `client_key = $1 AND id = $2 AND subject = $3 AND max_uses = $4 AND
		(generation - 1 > $5 OR generation > $5 AND graced <= {now})`
)

// seenText sets the last use of a row if that is due: see seenArgs.
const seenText = `seen_from = CASE WHEN seen <= $7 THEN $9 ELSE seen_from END, seen = CASE WHEN seen <= $7 THEN $8 ELSE seen END`

// Long statements are built once. They name the row by the table, because RETURNING in
// SQLite knows no alias.
var (
	liveText = isLive("{ledger}", token.MaxAncestors)

	checkIssueText = `
		SELECT EXISTS (SELECT 1 FROM {ledger} WHERE client_key = $1 AND id = $4),
			counts.live,
			EXISTS (SELECT 1 FROM {ledger} WHERE client_key = $1 AND id = $5 AND key_id IN (SELECT {each}($3)) AND ` + liveText + `),
			EXISTS (SELECT 1 FROM {ledger} WHERE client_key = $1 AND id = $5 AND ` + isLive("{ledger}", token.MaxAncestors-1) + `),
			counts.replaced,
			(SELECT count(*) FROM {ledger} WHERE client_key = $1 AND subject = $2) > counts.live + counts.replaced
		FROM (SELECT count(*) FILTER (WHERE key_id IN (SELECT {each}($3))) AS live,
				count(*) FILTER (WHERE key_id NOT IN (SELECT {each}($3)) AND issued >= CAST($6 AS bigint) - 3600) AS replaced
			FROM {ledger} WHERE client_key = $1 AND subject = $2 AND ` + liveText + `) AS counts`
	pruneText = `
		DELETE FROM {ledger} WHERE client_key = $1 AND subject = $2 AND (NOT (` + liveText + `) OR
			key_id NOT IN (SELECT {each}($3)) AND issued < CAST($4 AS bigint) - 3600)`
	checkText = `SELECT maker, maker_app, parent, name, seen FROM {ledger} WHERE ` + sameText + ` AND ` + liveText
	ownerText = `SELECT org FROM {ledger} WHERE ` + sameText + ` AND ` + liveText
	debitText = `UPDATE {ledger} SET uses = uses + 1, ` + seenText + ` WHERE ` + sameText + ` AND ` + liveText + ` RETURNING maker, maker_app, parent, name, seen`

	// earlierText is debitText for a use that is not the last one.
	earlierText = strings.Replace(debitText, ` RETURNING`, ` AND uses < max_uses - 1 RETURNING`, 1)

	renewText = `UPDATE {ledger} SET generation = CAST($5 AS bigint) + 1, key_id = $7, issued = $8,
			expires = CASE WHEN CAST($9 AS bigint) IS NULL OR expires < $9 THEN expires ELSE $9 END,
			graced = CASE WHEN generation = $5 THEN {now} + $10 ELSE graced END
		WHERE ` + sameText + ` AND ` + liveText

	oneText    = `client_key = $1 AND id = $2 AND org = $3 AND (subject = $4 OR $4 IS NULL)`
	getText    = `SELECT ` + ledgerColumns + `true FROM {ledger} WHERE ` + oneText + ` AND ` + liveText
	revokeText = `DELETE FROM {ledger} WHERE ` + oneText + ` RETURNING subject, ` + liveText
	// listAppText and listSubjectText read no more rows than they return, in the order of an index. So they
	// also return dead rows, and those of other orgs.
	listAppText = `
		SELECT ` + ledgerColumns + liveText + ` FROM {ledger}
		WHERE client_key = $1 AND (issued, id) > ($2, $3) ORDER BY issued, id LIMIT $4`
	listSubjectText = strings.Replace(listAppText, `ORDER`, `AND subject = $5 ORDER`, 1)
)

// Issue implements token.Ledger.
func (l *ledger) Issue(ctx context.Context, r token.Record, verifying []string, limit int) error {
	kids := append([]string{r.KeyID}, verifying...)
	switch {
	case !storable(string(r.Org), r.ClientKey, r.ID, r.Subject, r.Maker, r.MakerApp, r.Name), !storable(kids...):
		return failed("issue", errText)
	case !storable(r.Parent):
		return fmt.Errorf("sqlstore: issue: %w", token.ErrRevoked)
	}
	keys, _ := json.Marshal(kids) // strings do not fail
	issue := func(q conn) error { return l.issue(ctx, q, r, string(keys), limit) }
	err := l.store.noted(ctx, tokenEvent(verbs.TokenMade, r), issue, subjectLock(r.ClientKey, r.Subject))
	l.store.countWrite(ctx, err == nil)
	return failed("issue", err)
}

// tokenEvent is about a token. Reason is what it was made from.
func tokenEvent(verb string, r token.Record) auth.Event {
	return auth.Event{Verb: verb, Org: r.Org, App: r.ClientKey, Token: r.ID, Account: r.Subject, Reason: r.Parent}
}

// event is tokenEvent for a record that is made of a token's claims. The org is that of the row: nobody has
// verified the one of r.
func (l *ledger) event(ctx context.Context, verb string, r token.Record) (auth.Event, error) {
	var err error
	if l.store.options.Audit {
		err = found(l.store.find(ctx, `SELECT org FROM {ledger} WHERE client_key = $1 AND id = $2`, []any{r.ClientKey, r.ID}, &r.Org), nil)
	}
	return tokenEvent(verb, r), err
}

// subjectLock returns the name of a subject's lock. Names have no zero byte, so no two
// subjects have the same lock name.
func subjectLock(clientKey, subject string) string {
	return "ledger\x00" + clientKey + "\x00" + subject
}

// issue adds a record. keys is a JSON array of the keys that verify.
func (l *ledger) issue(ctx context.Context, q conn, r token.Record, keys string, limit int) error {
	stale, err := l.vet(ctx, q, r, keys, limit)
	if err == nil && stale {
		_, err = q.exec(ctx, pruneText, r.ClientKey, r.Subject, keys, r.Issued.Unix())
	}
	if err != nil {
		return err
	}
	// Another subject may get the same id at this moment: the primary key refuses it.
	_, err = q.exec(ctx, `
		INSERT INTO {ledger} (client_key, id, subject, key_id, uses, max_uses, issued, expires, maker, maker_app, parent, org, name)
		VALUES ($1, $2, $3, $4, 0, $5, $6, $7, $8, $9, $10, $11, $12)`,
		r.ClientKey, r.ID, r.Subject, r.KeyID, r.MaxUses, r.Issued.Unix(), orNull(r.Expires, time.Time.Unix), r.Maker, r.MakerApp, r.Parent, r.Org, r.Name)
	if err != nil || r.Parent == "" {
		return err
	}
	// Ids are random, so each Issue looks at other records than the one before.
	_, err = q.exec(ctx, deadDescendantsText, looksPerIssue, r.ClientKey, r.ID)
	return err
}

// vet returns an error if r must not be issued. It does not lock the parent. If the
// parent is revoked after this look-up, the new record is dead as well. stale reports whether
// the subject has records to delete. Mostly it has none, and its rows are read once.
func (l *ledger) vet(ctx context.Context, q conn, r token.Record, keys string, limit int) (stale bool, err error) {
	var known, parentLives, parentMayMake bool
	var live, replaced int
	err = q.one(ctx, checkIssueText, []any{r.ClientKey, r.Subject, keys, r.ID, r.Parent, r.Issued.Unix()},
		&known, &live, &parentLives, &parentMayMake, &replaced, &stale)
	switch {
	case err != nil:
	case known:
		err = errors.New("id was issued before")
	case r.Parent != "" && !parentLives:
		err = token.ErrRevoked
	case r.Parent != "" && !parentMayMake:
		err = token.ErrTooDeep
	case live >= limit, replaced-limit >= token.MaxReplaced:
		err = token.ErrTooMany
	}
	return stale, err
}

// Spend implements token.Spender.
func (l *ledger) Spend(ctx context.Context, r token.Record) (token.Lineage, error) {
	var made token.Lineage
	var last int64
	args := append(sameArgs(r), seenArgs(r.Use)...)
	spend := func(text string, args []any) func(conn) error {
		return func(q conn) error {
			return q.one(ctx, text, args, &made.Maker, &made.MakerApp, &made.Parent, &made.Name, &last)
		}
	}
	var err error
	switch {
	case r.MaxUses == 0:
		err = l.store.read(ctx, spend(checkText, args[:6])) // a permanent token has no count to write
	case !l.store.options.Audit:
		err = l.store.write(ctx, spend(debitText, args))
	default:
		// The last use has an entry. The others do not wait for the log.
		if err = l.store.write(ctx, spend(earlierText, args)); errors.Is(err, sql.ErrNoRows) {
			if err = l.store.find(ctx, ownerText, args[:6], &r.Org); err == nil {
				err = l.store.noted(ctx, tokenEvent(verbs.TokenSpent, r), spend(debitText, args))
			}
		}
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = l.refusal(ctx, r)
	}
	if err != nil {
		return token.Lineage{}, failed("spend", err)
	}
	if r.MaxUses == 0 && face.Due(face.Use{Seen: time.UnixMilli(last)}, r.Use) {
		// It has the condition again: of requests at once, one writes.
		l.store.see(ctx, `UPDATE {ledger} SET seen = $2, seen_from = $3 WHERE client_key = $4 AND id = $5 AND seen <= $1`, r.Use, r.ClientKey, r.ID)
	}
	return made, nil
}

// seeTime is how long a request waits for what is nice to know.
const seeTime = 50 * time.Millisecond

// see records the last use of a row. The use was accepted before, so an error changes nothing.
func (s *Store) see(ctx context.Context, text string, use face.Use, id ...any) {
	ctx, cancel := context.WithTimeout(ctx, seeTime)
	defer cancel()
	_, _ = s.exec(ctx, text, append(seenArgs(use), id...)...)
}

// seenArgs returns the time up to which a use is due to be recorded, its time and where it came from. A
// zero use is never due.
func seenArgs(use face.Use) []any {
	if use.Seen.IsZero() {
		return []any{-1, 0, ""}
	}
	return []any{use.Seen.Add(-face.Every).UnixMilli(), use.Seen.UnixMilli(), prefixText(use.From)}
}

// prefixText returns "" for no prefix.
func prefixText(p netip.Prefix) string {
	text, _ := p.MarshalText()
	return string(text)
}

func sameArgs(r token.Record) []any {
	return []any{r.ClientKey, r.ID, r.Subject, r.MaxUses, r.Generation, r.KeyID}
}

// Renew implements token.Ledger. It is one statement: one that waits for a concurrent call finds what
// that has made of the row.
func (l *ledger) Renew(ctx context.Context, r, next token.Record, grace time.Duration) error {
	e, err := l.event(ctx, verbs.TokenRenewed, r)
	var n int64
	if err == nil {
		n, err = l.store.record(ctx, e, renewText, append(sameArgs(r), next.KeyID, next.Issued.Unix(), orNull(next.Expires, time.Time.Unix), grace.Milliseconds())...)
	}
	if err == nil && n == 0 {
		err = l.refusal(ctx, r)
	}
	return failed("renew", err)
}

// refusal returns why a use was refused. It changes nothing but a family that it ends.
func (l *ledger) refusal(ctx context.Context, r token.Record) error {
	var reused, exhausted bool
	args := sameArgs(r)
	if !storable(r.KeyID) {
		args[5] = "" // no row has such a key, but one may have been renewed
	}
	err := l.store.find(ctx, `SELECT EXISTS (SELECT 1 FROM {ledger} WHERE `+reusedText+`),
		EXISTS (SELECT 1 FROM {ledger} WHERE `+sameText+` AND max_uses > 0 AND uses >= max_uses)`, args, &reused, &exhausted)
	if err == nil && reused {
		var e auth.Event
		if e, err = l.event(ctx, verbs.TokenReused, r); err == nil {
			_, err = l.store.record(ctx, e, `DELETE FROM {ledger} WHERE `+reusedText, args[:5]...)
		}
	}
	switch {
	case err != nil:
		return found(err, token.ErrRevoked) // no row can have such a name
	case reused:
		return token.ErrReused
	case exhausted:
		return token.ErrExhausted
	}
	return token.ErrRevoked
}

// oneArgs returns the arguments of oneText, in which NULL is any subject.
func oneArgs(of token.Holder, id string) []any {
	args := []any{of.ClientKey, id, of.Org, of.Subject}
	if of.Subject == token.Any {
		args[3] = nil
	}
	return args
}

// Get implements token.Ledger.
func (l *ledger) Get(ctx context.Context, of token.Holder, id string) (token.Record, error) {
	row, err := get(ctx, l.store, getText, oneArgs(of, id), ledgerRowOf)
	return row.Record, failed("get a token", found(err, token.ErrNotFound))
}

// Revoke implements token.Ledger.
func (l *ledger) Revoke(ctx context.Context, of token.Holder, id string) error {
	var live bool
	err := l.store.audited(ctx, of.Org, func(q conn) error {
		e := auth.Event{Verb: verbs.TokenRevoked, App: of.ClientKey, Token: id}
		err := q.one(ctx, revokeText, oneArgs(of, id), &e.Account, &live)
		if live {
			q.note(e)
		}
		return err
	})
	if err == nil && !live {
		err = token.ErrNotFound
	}
	return failed("revoke", found(err, token.ErrNotFound))
}

// RevokeSubject implements token.Ledger. It returns how many of the records that it deletes were live.
func (l *ledger) RevokeSubject(ctx context.Context, of token.Holder) (live int, err error) {
	if of.Subject == "" {
		return 0, errors.New("sqlstore: revoke a subject: the subject is empty")
	}
	ofHolder, args := `org = $1 AND subject = $2`, []any{of.Org, of.Subject}
	if of.ClientKey != token.Any {
		ofHolder, args = `client_key = $3 AND `+ofHolder, append(args, of.ClientKey)
	}
	err = l.store.audited(ctx, of.Org, func(q conn) error {
		for _, text := range []string{
			// Locked rows are not used meanwhile. The count is a statement of its own, which also
			// sees the changes that the first one has waited for.
			`SELECT count(*) FROM (SELECT 1 FROM {ledger} WHERE ` + ofHolder + ` ORDER BY client_key, id {lock}) AS locked`,
			// Count before deleting: one record may be the parent of another.
			`SELECT count(*) FROM {ledger} WHERE ` + ofHolder + ` AND ` + liveText,
		} {
			if err := q.one(ctx, text, args, &live); err != nil {
				return found(err, nil) // no row can have such a name
			}
		}
		_, err := q.exec(ctx, `DELETE FROM {ledger} WHERE `+ofHolder, args...)
		if live > 0 {
			q.note(auth.Event{Verb: verbs.TokenRevoked, App: strings.TrimPrefix(of.ClientKey, token.Any), Account: of.Subject, Count: int64(live)})
		}
		return err
	}, subjectLock(of.ClientKey, of.Subject))
	return live, failed("revoke a subject", err)
}

// List implements token.Ledger.
func (l *ledger) List(ctx context.Context, of token.Holder, after token.Position, limit int) (page []token.Record, next token.Position, err error) {
	if limit < 1 || limit > token.MaxPage {
		return nil, next, fmt.Errorf("sqlstore: list tokens: the limit is not 1 to %d", token.MaxPage)
	}
	if of.Subject == "" {
		return []token.Record{}, next, nil
	}
	// One row more than the page shows whether another page follows.
	text, args := listAppText, []any{of.ClientKey, after.Issued.Unix(), after.ID, limit + 1}
	if of.Subject != token.Any {
		text, args = listSubjectText, append(args, of.Subject)
	}
	rows, err := list(ctx, l.store, text, args, ledgerRowOf)
	if err != nil {
		return nil, next, failed("list tokens", err)
	}
	if len(rows) > limit {
		rows = rows[:limit]
		next = rows[limit-1].Position()
	}
	page = make([]token.Record, 0, len(rows))
	for _, row := range rows {
		if row.live && row.Org == of.Org {
			page = append(page, row.Record)
		}
	}
	return page, next, nil
}

type ledgerRow struct {
	token.Record
	live bool
}

func ledgerRowOf(rows *sql.Rows) (r ledgerRow, err error) {
	err = rows.Scan(&r.ClientKey, &r.ID, &r.Org, &r.Subject, &r.KeyID, &r.Generation, &r.Uses, &r.MaxUses, seconds(&r.Issued), seconds(&r.Expires),
		&r.Maker, &r.MakerApp, &r.Parent, &r.Name, millis(&r.Seen), parsed(r.From.UnmarshalText), &r.live)
	return r, err
}
