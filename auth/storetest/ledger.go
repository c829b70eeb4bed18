package storetest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/token"
)

// Ledger checks the contract of token.Ledger. Each subtest opens a ledger. It may
// be the same one each time, and in use.
func Ledger(t *testing.T, open func(t *testing.T) token.Ledger, f Features) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *ledger)
	}{
		{"what is issued is listed, the oldest first", testList},
		{"a record begins without uses", testNoUses},
		{"a live record is found by its id, and keeps its uses", testGet},
		{"pages of any limit have each record once, also within one second", testPages},
		{"a page has 1 to MaxPage records", testPageLimits},
		{"T35 any subject is that of one app and org", testAnySubject},
		{"an id is issued once", testIssueTwice},
		{"a negative use count is refused, and takes no place", testNegativeUses},
		{"T19 a use is spent once", testSpend},
		{"T19 uses at once are spent once", testSpendRace},
		{"a permanent token at once is always accepted", testPermanentRace},
		{"T24 a record that differs is another token's", testSpendOther},
		{"expired records are dead", testExpiry},
		{"T20 nothing is accepted after a revocation", testRevoke},
		{"T20 revoking while uses are spent", testRevokeRace},
		{"T23 what cannot be revoked", testRevokeOther},
		{"T20 revoking a subject ends its tokens, used ones too, and no others", testRevokeSubject},
		{"T20 revoking an account ends its tokens in all apps of the org", testRevokeAccount},
		{"T21 issuing at once stays within the limit", testLimitRace},
		{"T21 the limit is for live records of one app, subject and key", testLimit},
		{"T35 verbs of another org, app or subject find nothing", testOtherHolders},
		{"T35 a subject must be named to be revoked", testNoSubject},
		{"names that look alike are apart", testLedgerNames},
		{"lineage comes back", testLineage},
		{"M07 a token made by a revoked one", testMadeByRevoked},
		{"M07 a token made by one of a revoked subject", testMadeByRevokedSubject},
		{"M07 a token made by an expired one", testMadeByExpired},
		{"M08 five makers in a row", testTooDeep},
		{"calls whose context has ended change nothing", testLedgerContext},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.test(t, &ledger{Ledger: open(t), f: f, org: f.org(), app: random(), subject: f.account(), key: random()})
		})
	}
}

// ledger is a token.Ledger, with names that no other subtest uses.
type ledger struct {
	token.Ledger
	f                 Features
	org               token.OrgKey
	app, subject, key string
}

// of returns the holder of the records of a subject.
func (l *ledger) of(subject string) token.Holder {
	return token.Holder{Org: l.org, ClientKey: l.app, Subject: subject}
}

const many = 1000

// record returns a permanent record, issued now.
func (l *ledger) record() token.Record {
	return token.Record{
		ID: random(), Org: l.org, ClientKey: l.app, Subject: l.subject, KeyID: l.key,
		Issued: l.f.now().UTC().Truncate(time.Second),
	}
}

// issue adds a record and returns it.
func (l *ledger) issue(t *testing.T, change func(*token.Record)) token.Record {
	t.Helper()
	r := l.record()
	if change != nil {
		change(&r)
	}
	if err := l.Issue(t.Context(), r, nil, many); err != nil {
		t.Fatalf("Issue: %v", err)
	}
	return r
}

// use spends one use of r, and ignores the lineage.
func (l *ledger) use(ctx context.Context, r token.Record) error {
	_, err := l.Spend(ctx, r)
	return err
}

func (l *ledger) spend(t *testing.T, what string, r token.Record, want ...error) {
	t.Helper()
	expect(t, what, l.use(t.Context(), r), want...)
}

func (l *ledger) list(t *testing.T, app, subject string) []token.Record {
	t.Helper()
	return l.pages(t, token.Holder{Org: l.org, ClientKey: app, Subject: subject}, token.MaxPage)
}

func (l *ledger) ids(t *testing.T) (ids []string) {
	t.Helper()
	for _, r := range l.list(t, l.app, l.subject) {
		ids = append(ids, r.ID)
	}
	return ids
}

func limited(uses int64) func(*token.Record) {
	return func(r *token.Record) { r.MaxUses = uses }
}

func sameRecord(a, b token.Record) bool {
	same := a.Issued.Equal(b.Issued) && a.Expires.Equal(b.Expires) && a.Expires.IsZero() == b.Expires.IsZero()
	a.Issued, a.Expires, b.Issued, b.Expires = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	return same && a == b
}

func testList(t *testing.T, l *ledger) {
	if list := l.list(t, l.app, l.subject); len(list) != 0 {
		t.Errorf("a subject without tokens has %d", len(list))
	}
	now := l.f.now().UTC().Truncate(time.Second)
	third := l.issue(t, func(r *token.Record) { r.Issued = now })
	first := l.issue(t, func(r *token.Record) { r.Issued, r.MaxUses = now.Add(-time.Hour), 3 })
	second := l.issue(t, func(r *token.Record) {
		r.Issued, r.Expires, r.KeyID = now.Add(-time.Minute), now.Add(time.Hour), random()
	})
	l.spend(t, "one of three uses", first, nil)
	first.Uses = 1
	got, want := l.list(t, l.app, l.subject), []token.Record{first, second, third}
	if !slices.EqualFunc(got, want, sameRecord) {
		t.Errorf("List = %+v, want %+v", got, want)
	}
}

func testNoUses(t *testing.T, l *ledger) {
	r := l.issue(t, func(r *token.Record) { r.MaxUses, r.Uses = 2, 2 })
	l.spend(t, "first", r, nil)
	l.spend(t, "second", r, nil)
	l.spend(t, "third", r, token.ErrExhausted, token.ErrRevoked)
}

func testSpend(t *testing.T, l *ledger) {
	r := l.issue(t, limited(2))
	l.spend(t, "first", r, nil)
	if list := l.list(t, l.app, l.subject); len(list) != 1 || list[0].Uses != 1 {
		t.Errorf("List = %+v, want one with one use", list)
	}
	l.spend(t, "second", r, nil)
	for range 3 {
		l.spend(t, "third", r, token.ErrExhausted, token.ErrRevoked)
	}
	if ids := l.ids(t); len(ids) != 0 {
		t.Errorf("a spent one is listed: %q", ids)
	}
}

func testSpendRace(t *testing.T, l *ledger) {
	for _, uses := range []int{1, 2, 25} {
		r := l.issue(t, limited(int64(uses)))
		errs := atOnce(crowd, func(int) error { return l.use(t.Context(), r) })
		if n := tally(t, errs, token.ErrExhausted, token.ErrRevoked); n != uses {
			t.Errorf("%d of %d uses were spent", n, uses)
		}
	}
}

func testPermanentRace(t *testing.T, l *ledger) {
	r := l.issue(t, nil)
	if n := tally(t, atOnce(crowd, func(int) error { return l.use(t.Context(), r) })); n != crowd {
		t.Errorf("%d of %d were accepted", n, crowd)
	}
}

func testSpendOther(t *testing.T, l *ledger) {
	r := l.issue(t, limited(2))
	for name, change := range map[string]func(*token.Record){
		"id":         func(r *token.Record) { r.ID = random() },
		"no id":      func(r *token.Record) { r.ID = "" },
		"client key": func(r *token.Record) { r.ClientKey = random() },
		"subject":    func(r *token.Record) { r.Subject = l.f.account() },
		"key":        func(r *token.Record) { r.KeyID = random() },
		"more uses":  func(r *token.Record) { r.MaxUses = 3 },
		"permanent":  func(r *token.Record) { r.MaxUses = 0 },
		"zero byte":  func(r *token.Record) { r.Subject += "\x00" },
		"no UTF-8":   func(r *token.Record) { r.Subject += "\xff" },
	} {
		other := r
		change(&other)
		if l.f.Account != nil && !utf8.ValidString(strings.ReplaceAll(other.Subject, "\x00", "\xff")) {
			continue
		}
		l.spend(t, name, other, token.ErrRevoked)
	}
	other := r
	other.Issued, other.Expires, other.Uses = time.Time{}, r.Issued.Add(time.Hour), 7
	l.spend(t, "times and uses are not compared", other, nil)
	l.spend(t, "the record", r, nil)
}

func testExpiry(t *testing.T, l *ledger) {
	expires := l.f.now().Truncate(time.Second).Add(brief + time.Second)
	r := l.issue(t, func(r *token.Record) { r.Expires = expires })
	counted := l.issue(t, func(r *token.Record) { r.Expires, r.MaxUses = expires, 5 })
	l.spend(t, "permanent, before", r, nil)
	l.spend(t, "limited, before", counted, nil)
	expect(t, "Issue at the limit", l.Issue(t.Context(), l.record(), nil, 2), token.ErrTooMany)

	l.f.pass(expires.Sub(l.f.now()) + 10*time.Millisecond)
	l.spend(t, "permanent, after", r, token.ErrRevoked)
	l.spend(t, "limited, after", counted, token.ErrRevoked)
	if ids := l.ids(t); len(ids) != 0 {
		t.Errorf("listed: %q", ids)
	}
	expect(t, "Revoke", l.Revoke(t.Context(), l.of(token.AnySubject), r.ID), token.ErrNotFound)
	expect(t, "Issue at the limit", l.Issue(t.Context(), l.record(), nil, 1), nil)
	if n, err := l.RevokeSubject(t.Context(), l.of(l.subject)); n != 1 || err != nil {
		t.Errorf("RevokeSubject = %d, %v, want the live one", n, err)
	}
}

// testLedgerContext also accepts a ledger that succeeds, because it waits for
// nothing.
func testLedgerContext(t *testing.T, l *ledger) {
	ctx := ended(t)
	refused := func(verb string, err error) bool {
		t.Helper()
		if matches(err, token.ErrRevoked, token.ErrExhausted, token.ErrTooMany, token.ErrNotFound) {
			t.Errorf("%s: error %v, want that of the context", verb, err)
		}
		return err != nil
	}
	if r := l.record(); refused("Issue", l.Issue(ctx, r, nil, many)) {
		l.spend(t, "what was not issued", r, token.ErrRevoked)
	}
	if r := l.issue(t, limited(1)); refused("Spend", l.use(ctx, r)) {
		l.spend(t, "the one use", r, nil)
	}
	r := l.issue(t, nil)
	if refused("Revoke", l.Revoke(ctx, l.of(token.AnySubject), r.ID)) {
		l.spend(t, "what was not revoked", r, nil)
	}
	r = l.issue(t, nil)
	if _, err := l.RevokeSubject(ctx, l.of(l.subject)); refused("RevokeSubject", err) {
		l.spend(t, "what was not revoked with its subject", r, nil)
	}
	if list, _, err := l.List(ctx, l.of(l.subject), token.Position{}, token.MaxPage); refused("List", err) && list != nil {
		t.Error("List returns records beside an error")
	}
}
