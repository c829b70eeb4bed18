package storetest

import (
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/internal/face"
	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

// Ledger checks the contract of token.Ledger. Each subtest opens a ledger. It may
// be the same one each time, and in use.
func Ledger(t *testing.T, open func(t *testing.T) token.Ledger, f Features) {
	suite.Run(t, suite.Tests[func(*testing.T, *suite.Ledger)]{
		{"what is issued is listed, the oldest first", testList},
		{"a live record is found by its id, and keeps its uses", testGet},
		{"pages of any limit have each record once, also within one second", testPages},
		{"a page has 1 to MaxPage records", testPageLimits},
		{"T35 any subject is that of one app and org", testAnySubject},
		{"an id is issued once", testIssueTwice},
		{"T19 a use is spent once, and a record begins without uses", testSpend},
		{"T19 uses at once are spent once", testSpendRace},
		{"T24 a record that differs is another token's", testSpendOther},
		{"expired records are dead", testExpiry},
		{"T20 nothing is accepted after a revocation", testRevoke},
		{"T20 revoking while uses are spent", testRevokeRace},
		{"T23 what cannot be revoked", testRevokeOther},
		{"T20 revoking a subject ends its tokens in one app or in all, and no others", testRevokeSubject},
		{"T21 issuing at once stays within the limit", testLimitRace},
		{"T21 the limit is for live records of one app, subject and key", testLimit},
		{"T35 verbs of another org, app or subject find nothing, and a subject must be named", testOtherHolders},
		{"lineage comes back", testLineage},
		{"M07 a token made by a revoked one", testMadeByRevoked},
		{"M08 five makers in a row", testTooDeep},
		{"M25 a renewed token is accepted for its grace, and its successor from then on", testRenew},
		{"M25 a token that is used after its grace ends its family", testReuse},
		{"M25 a token two generations behind ends its family, also within a grace", testReuseWithinAGrace},
		{"within its grace a token whose record ended otherwise is no reuse", testEndedWithinAGrace},
		{"M25 renewals at once have one successor", testRenewRace},
		{"M25 uses are carried and never given back", testRenewCarriesUses},
		{"M25 a successor ends no later", testRenewEnds},
		{"a use is recorded once an hour, and never creates a record", testSeen},
		{"uses at once are recorded once", testSeenRace},
		{"calls whose context has ended change nothing", testLedgerContext},
	}, func(t *testing.T, test func(*testing.T, *suite.Ledger)) {
		test(t, suite.NewLedger(open(t), suite.Features(f)))
	})
}

func testList(t *testing.T, l *suite.Ledger) {
	l.Lists(t, "a subject without tokens", l.Of(l.Subject), token.MaxPage)
	now := l.F.Time().UTC().Truncate(time.Second)
	third := l.Add(t, func(r *token.Record) { r.Issued = now })
	first := l.Add(t, func(r *token.Record) { r.Issued, r.MaxUses = now.Add(-time.Hour), 3 })
	second := l.Add(t, func(r *token.Record) {
		r.Issued, r.Expires, r.KeyID = now.Add(-time.Minute), now.Add(time.Hour), suite.Random()
	})
	l.Spends(t, "one of three uses", first, nil)
	first.Uses = 1
	l.Lists(t, "all three", l.Of(l.Subject), token.MaxPage, first, second, third)
}

func testSpend(t *testing.T, l *suite.Ledger) {
	r := l.Add(t, func(r *token.Record) { r.MaxUses, r.Uses = 2, 2 })
	l.Spends(t, "first", r, nil)
	r.Uses = 1
	l.Lists(t, "one with one use", l.Of(l.Subject), token.MaxPage, r)
	l.Spends(t, "second", r, nil)
	for range 3 {
		l.Spends(t, "third", r, token.ErrExhausted, token.ErrRevoked)
	}
	l.Lists(t, "a spent one", l.Of(l.Subject), token.MaxPage)
}

func testSpendRace(t *testing.T, l *suite.Ledger) {
	for uses, want := range map[int]int{0: suite.Crowd, 1: 1, 2: 2, 25: 25} { // 0: permanent
		r := l.Add(t, suite.Limited(int64(uses)))
		suite.Wins(t, want, func(int) error { return l.Use(t.Context(), r) }, token.ErrExhausted, token.ErrRevoked)
	}
}

func testSpendOther(t *testing.T, l *suite.Ledger) {
	r := l.Add(t, suite.Limited(2))
	for name, change := range map[string]func(*token.Record){
		"id":         func(r *token.Record) { r.ID = suite.Random() },
		"no id":      func(r *token.Record) { r.ID = "" },
		"client key": func(r *token.Record) { r.ClientKey = suite.Random() },
		"subject":    func(r *token.Record) { r.Subject = l.F.NewAccount() },
		"key":        func(r *token.Record) { r.KeyID = suite.Random() },
		"more uses":  func(r *token.Record) { r.MaxUses = 3 },
		"permanent":  func(r *token.Record) { r.MaxUses = 0 },
		"zero byte":  func(r *token.Record) { r.Subject += "\x00" },
		"no UTF-8":   func(r *token.Record) { r.Subject += "\xff" },
	} {
		other := suite.With(r, change)
		if l.F.Account != nil && !utf8.ValidString(strings.ReplaceAll(other.Subject, "\x00", "\xff")) {
			continue
		}
		l.Spends(t, name, other, token.ErrRevoked)
	}
	other := suite.With(r, func(r *token.Record) { r.Issued, r.Expires, r.Uses = time.Time{}, r.Issued.Add(time.Hour), 7 })
	l.Spends(t, "times and uses are not compared", other, nil)
	l.Spends(t, "the record", r, nil)
}

func testExpiry(t *testing.T, l *suite.Ledger) {
	expires := l.F.Time().Truncate(time.Second).Add(suite.Brief + time.Second)
	r := l.Add(t, func(r *token.Record) { r.Expires = expires })
	counted := l.Add(t, func(r *token.Record) { r.Expires, r.MaxUses = expires, 5 })
	child := l.Make(t, r, func(r *token.Record) { r.Expires = expires.Add(time.Hour) })
	l.Spends(t, "permanent, before", r, nil)
	l.Spends(t, "limited, before", counted, nil)
	suite.Expect(t, "Issue at the limit", l.Issue(t.Context(), l.Record(), nil, 2), token.ErrTooMany)

	l.F.Wait(expires.Sub(l.F.Time()) + 10*time.Millisecond)
	l.Spends(t, "permanent, after", r, token.ErrRevoked)
	l.Spends(t, "made by it, after", child, token.ErrRevoked)
	l.Spends(t, "limited, after", counted, token.ErrRevoked)
	l.Lists(t, "expired ones", l.Of(l.Subject), token.MaxPage)
	suite.Expect(t, "Revoke", l.Revoke(t.Context(), l.Of(token.Any), r.ID), token.ErrNotFound)
	suite.Expect(t, "Issue at the limit", l.Issue(t.Context(), l.Record(), nil, 1), nil)
	l.RevokesSubject(t, "the live one", l.Of(l.Subject), 1)
}

// testLedgerContext also accepts a ledger that succeeds, because it waits for
// nothing.
func testLedgerContext(t *testing.T, l *suite.Ledger) {
	ctx := suite.Ended(t)
	unchanged := func(verb string, err error, r token.Record, want error) {
		t.Helper()
		absent := suite.Matches(err, token.ErrRevoked, token.ErrExhausted, token.ErrTooMany, token.ErrNotFound)
		suite.Check(t, !absent, "%s: error %v, want that of the context", verb, err)
		if err != nil {
			l.Spends(t, "after "+verb, r, want)
		}
	}
	fresh, counted, one, another := l.Record(), l.Add(t, suite.Limited(1)), l.Add(t, nil), l.Add(t, nil)
	list, _, err := l.List(ctx, l.Of(l.Subject), token.Position{}, token.MaxPage)
	suite.Check(t, err == nil || list == nil, "List returns records beside an error")
	unchanged("List", err, one, nil)
	unchanged("Issue", l.Issue(ctx, fresh, nil, suite.Many), fresh, token.ErrRevoked)
	unchanged("Spend", l.Use(ctx, counted), counted, nil)
	unchanged("Revoke", l.Revoke(ctx, l.Of(token.Any), one.ID), one, nil)
	_, err = l.RevokeSubject(ctx, l.Of(l.Subject))
	unchanged("RevokeSubject", err, another, nil)
}

var anywhere = netip.MustParsePrefix("192.0.2.0/24")

// used returns the record of a token that is used at a time.
func used(r token.Record, at time.Time, from netip.Prefix) token.Record {
	r.Use = face.Use{Seen: at, From: from}
	return r
}

// seen fails unless the record of a token, as Get and List have it, was last used then and there.
func seen(t *testing.T, l *suite.Ledger, what string, r token.Record, at time.Time, from netip.Prefix) {
	t.Helper()
	got := l.Gets(t, what, r.Holder(), r.ID, nil)
	suite.Check(t, got.Seen.Equal(at) && got.From == from, "%s: %v from %v, want %v from %v", what, got.Seen, got.From, at, from)
}

func testSeen(t *testing.T, l *suite.Ledger) {
	at := l.F.Time().UTC().Truncate(time.Millisecond)
	for _, uses := range []int64{0, suite.Many} {
		r := l.Add(t, func(r *token.Record) { r.MaxUses, r.Seen, r.From = uses, at, anywhere })
		seen(t, l, "issued with a use", r, time.Time{}, netip.Prefix{})
		suite.Seen(t, at, func(use face.Use) {
			l.Spends(t, "a use", used(r, use.Seen, use.From), nil)
			l.Spends(t, "a use that is not to be recorded", used(r, time.Time{}, anywhere), nil)
		}, func() face.Use { return l.Gets(t, "a record", r.Holder(), r.ID, nil).Use })
		other := suite.With(used(r, at.Add(9*time.Hour), anywhere), func(r *token.Record) { r.KeyID = suite.Random() })
		l.Spends(t, "another token's", other, token.ErrRevoked)
		seen(t, l, "after a refused use", r, at.Add(2*time.Hour), netip.Prefix{})
		next := renew(t, l, r, 0)
		seen(t, l, "renewed", next, at.Add(2*time.Hour), netip.Prefix{})
		suite.Expect(t, "Revoke", l.Revoke(t.Context(), next.Holder(), next.ID), nil)
		l.Spends(t, "a revoked one", used(next, at.Add(9*time.Hour), anywhere), token.ErrRevoked)
		l.Gets(t, "revoked", next.Holder(), next.ID, token.ErrNotFound)
	}
}

func testSeenRace(t *testing.T, l *suite.Ledger) {
	at := l.F.Time().UTC().Truncate(time.Millisecond)
	for _, uses := range []int64{0, suite.Many} {
		r := l.Add(t, suite.Limited(uses))
		suite.Wins(t, suite.Crowd, func(i int) error {
			return l.Use(t.Context(), used(r, at.Add(time.Duration(i)*time.Millisecond), anywhere))
		})
		// Which of them is recorded first is open. None replaces it.
		first := l.Gets(t, "used", r.Holder(), r.ID, nil).Seen
		suite.Check(t, !first.Before(at), "seen at %v, before the first use at %v", first, at)
		l.Spends(t, "one more", used(r, first.Add(time.Hour-time.Millisecond), netip.Prefix{}), nil)
		seen(t, l, "after one more", r, first, anywhere)
	}
}
