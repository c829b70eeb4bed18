package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/internal/face"
	"github.com/tenantkit/tenantkit/token"
)

type ledger struct{ store *Store }

var (
	// What every script about live records begins with.
	lineageText = fmt.Sprintf("local maxAncestors, anySubject = %d, '%s'\n", token.MaxAncestors, strings.ReplaceAll(token.Any, "\x00", `\0`))

	issueScript         = newScript(lineageText, lua("live"), lua("place"), lua("issue")).failing(errIssued, token.ErrTooMany, token.ErrRevoked, token.ErrTooDeep)
	spendScript         = newScript(lineageText, lua("live"), lua("current"), lua("spend")).failing(token.ErrRevoked, token.ErrExhausted, token.ErrReused)
	renewScript         = newScript(lineageText, lua("live"), lua("place"), lua("current"), lua("renew")).failing(token.ErrRevoked, token.ErrExhausted, token.ErrReused)
	getScript           = newScript(lineageText, lua("live"), lua("row"), lua("get"))
	revokeScript        = newScript(lineageText, lua("live"), lua("place"), lua("endsubject"), lua("revoke")).failing(token.ErrNotFound)
	revokeSubjectScript = newScript(lineageText, lua("live"), lua("place"), lua("endsubject"), lua("revokesubject"))
	tokensScript        = newScript(lineageText, lua("live"), lua("row"), lua("tokens"))
	appTokensScript     = newScript(lineageText, lua("live"), lua("row"), lua("place"), lua("apptokens"))
)

var errIssued = errors.New("redisstore: id was issued before")

// Issue implements token.Ledger.
func (l *ledger) Issue(ctx context.Context, r token.Record, verifying []string, limit int) error {
	at := l.store.of(string(r.Org))
	args := []string{
		r.ID, r.Subject, r.KeyID, decimal(r.MaxUses), decimal(r.Issued.Unix()), orEmpty(r.Expires, time.Time.Unix),
		strconv.Itoa(limit), at.prefix + recordKey(r.ClientKey, ""), r.Maker, r.MakerApp, r.Parent, string(r.Org),
		strconv.Itoa(token.MaxReplaced), r.ClientKey, at.prefix + appKey(""), r.Name,
	}
	return at.decide(ctx, issueScript,
		[]string{recordKey(r.ClientKey, r.ID), subjectKey(r.ClientKey, r.Subject), appKey(r.ClientKey), appsKey(r.Org)}, append(args, verifying...)...)
}

// Spend implements token.Spender.
func (l *ledger) Spend(ctx context.Context, r token.Record) (token.Lineage, error) {
	at := l.store.of(string(r.Org))
	reply, err := at.run(ctx, spendScript, []string{recordKey(r.ClientKey, r.ID)}, append(tokenArgs(at, r), useArgs(r.Use)...)...)
	if err != nil {
		return token.Lineage{}, err
	}
	if code, ok := reply.(int64); ok {
		return token.Lineage{}, spendScript.failed(code)
	}
	// The leading 0 tells it from the reply to another command.
	row, ok := reply.([]any)
	if !ok || len(row) != 5 || row[0] != int64(0) {
		return token.Lineage{}, errReply
	}
	f, err := texts(row[1:], 4)
	if err != nil {
		return token.Lineage{}, err
	}
	return token.Lineage{Maker: f[0], MakerApp: f[1], Parent: f[2], Name: f[3]}, nil
}

// tokenArgs are the arguments by which a script finds whether a record accepts a token.
func tokenArgs(at *shard, r token.Record) []string {
	return []string{r.Subject, r.KeyID, decimal(r.MaxUses), decimal(r.Generation), at.prefix + recordKey(r.ClientKey, "")}
}

// useArgs returns the time of a use or "", an hour before, and where it comes from.
func useArgs(use face.Use) []string {
	if use.Seen.IsZero() {
		return []string{"", "", ""}
	}
	from, _ := use.From.MarshalText() // "" for none
	return []string{millis(use.Seen), millis(use.Seen.Add(-face.Every)), string(from)}
}

// useOf reads what useArgs has written.
func useOf(seen, from string) (use face.Use, err error) {
	at, err := strconv.ParseInt(seen, 10, 64)
	if at != 0 {
		use.Seen = time.UnixMilli(at).UTC()
	}
	return use, errors.Join(err, use.From.UnmarshalText([]byte(from)))
}

// Renew implements token.Ledger.
func (l *ledger) Renew(ctx context.Context, r, next token.Record, grace time.Duration) error {
	at := l.store.of(string(r.Org))
	return at.decide(ctx, renewScript, []string{recordKey(r.ClientKey, r.ID), appKey(r.ClientKey)},
		append(tokenArgs(at, r), r.ID, next.KeyID, decimal(next.Issued.Unix()), orEmpty(next.Expires, time.Time.Unix), decimal(grace.Milliseconds()))...)
}

// Get implements token.Ledger.
func (l *ledger) Get(ctx context.Context, of token.Holder, id string) (token.Record, error) {
	at := l.store.of(string(of.Org))
	found, err := list(ctx, at, recordOf(of), getScript,
		[]string{recordKey(of.ClientKey, id)}, at.prefix+recordKey(of.ClientKey, ""), string(of.Org), of.Subject, id)
	if err != nil || len(found) == 0 {
		return token.Record{}, cmp.Or(err, token.ErrNotFound)
	}
	return found[0], nil
}

// Revoke implements token.Ledger.
func (l *ledger) Revoke(ctx context.Context, of token.Holder, id string) error {
	at := l.store.of(string(of.Org))
	return at.decide(ctx, revokeScript,
		[]string{recordKey(of.ClientKey, id), appKey(of.ClientKey), appsKey(of.Org)}, id, at.prefix+subjectKey(of.ClientKey, ""),
		at.prefix+recordKey(of.ClientKey, ""), string(of.Org), of.Subject, of.ClientKey)
}

// RevokeSubject implements token.Ledger.
func (l *ledger) RevokeSubject(ctx context.Context, of token.Holder) (int, error) {
	if of.Subject == "" {
		return 0, errors.New("redisstore: revoke a subject: the subject is empty")
	}
	at := l.store.of(string(of.Org))
	args := []string{at.prefix, string(of.Org), of.Subject}
	if of.ClientKey != token.Any {
		args = append(args, of.ClientKey)
	}
	n, err := at.code(ctx, revokeSubjectScript, []string{appsKey(of.Org)}, args...)
	return int(n), err
}

// List implements token.Ledger. The page of a subject reads all records of the subject, as
// each Issue does.
func (l *ledger) List(ctx context.Context, of token.Holder, after token.Position, limit int) (page []token.Record, next token.Position, err error) {
	switch {
	case limit < 1 || limit > token.MaxPage:
		return nil, next, fmt.Errorf("redisstore: list tokens: the limit is not 1 to %d", token.MaxPage)
	case of.Subject == "":
		return []token.Record{}, next, nil
	case of.Subject == token.Any:
		return l.listApp(ctx, of, after, limit)
	}
	at := l.store.of(string(of.Org))
	page, err = list(ctx, at, recordOf(of), tokensScript,
		[]string{subjectKey(of.ClientKey, of.Subject)}, at.prefix+recordKey(of.ClientKey, ""), string(of.Org))
	if err != nil {
		return nil, next, err
	}
	page = slices.DeleteFunc(page, func(r token.Record) bool { return r.Position().Compare(after) <= 0 })
	slices.SortFunc(page, func(a, b token.Record) int { return a.Position().Compare(b.Position()) })
	if len(page) > limit {
		page = page[:limit]
		next = page[limit-1].Position()
	}
	return page, next, nil
}

// listApp returns a page of the records of all subjects of an app.
func (l *ledger) listApp(ctx context.Context, of token.Holder, after token.Position, limit int) (records []token.Record, next token.Position, err error) {
	at := l.store.of(string(of.Org))
	records, last, err := page(ctx, at, recordOf(of), appTokensScript, []string{appKey(of.ClientKey)},
		at.prefix+recordKey(of.ClientKey, ""), string(of.Org), decimal(after.Issued.Unix()), after.ID, strconv.Itoa(limit))
	if err == nil {
		next, err = positionOf(last)
	}
	if err != nil {
		return nil, next, err
	}
	return records, next, nil
}

// positionOf reads a member of the index of an app: see place.lua.
func positionOf(member string) (token.Position, error) {
	if member == "" {
		return token.Position{}, nil
	}
	const digits, zero = 16, 1e15
	issued, err := strconv.ParseInt(member[:min(digits, len(member))], 10, 64)
	if err != nil || len(member) < digits {
		return token.Position{}, errReply
	}
	return token.Position{Issued: time.Unix(issued-zero, 0).UTC(), ID: member[digits:]}, nil
}

// recordOf returns what reads one row of row.lua, of a record of the app.
func recordOf(of token.Holder) func(row any) (token.Record, error) {
	return func(row any) (r token.Record, err error) {
		f, err := texts(row, 14)
		if err != nil {
			return r, err
		}
		var n [5]int64
		for i, number := range []string{f[2], f[3], f[4], cmp.Or(f[5], "0"), f[10]} {
			if n[i], err = strconv.ParseInt(number, 10, 64); err != nil {
				return r, errReply
			}
		}
		r = token.Record{ID: f[0], Org: of.Org, ClientKey: of.ClientKey, KeyID: f[1], Subject: f[9], Uses: n[0], MaxUses: n[1],
			Issued: time.Unix(n[2], 0).UTC(), Generation: n[4], Lineage: token.Lineage{Maker: f[6], MakerApp: f[7], Parent: f[8], Name: f[11]}}
		if r.Use, err = useOf(f[12], f[13]); err != nil {
			return r, errReply
		}
		if f[5] != "" {
			r.Expires = time.Unix(n[3], 0).UTC()
		}
		return r, nil
	}
}

// recordKey puts the id last, so that scripts can append the ids of a subject to the
// key of an empty id.
func recordKey(clientKey, id string) string { return "t:" + pair(clientKey, id) }

func subjectKey(clientKey, subject string) string { return "u:" + pair(clientKey, subject) }

// appKey returns the key of the records of an app, in the order of List.
func appKey(clientKey string) string { return "l:" + clientKey }

// appsKey returns the key of the apps of an org that have records.
func appsKey(org token.OrgKey) string { return string("k:" + org) }

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// orEmpty returns an end in a unit, such as time.Time.Unix, or "" for none, because 0 is a valid time.
func orEmpty(end time.Time, unit func(time.Time) int64) string {
	if end.IsZero() {
		return ""
	}
	return decimal(unit(end))
}
