package storetest

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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
	l.ListsNone(t, "a subject without tokens")
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
	l.ListsNone(t, "a spent one")
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
		other := r
		change(&other)
		if l.F.Account != nil && !utf8.ValidString(strings.ReplaceAll(other.Subject, "\x00", "\xff")) {
			continue
		}
		l.Spends(t, name, other, token.ErrRevoked)
	}
	other := r
	other.Issued, other.Expires, other.Uses = time.Time{}, r.Issued.Add(time.Hour), 7
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
	l.ListsNone(t, "expired ones")
	suite.Expect(t, "Revoke", l.Revoke(t.Context(), l.Of(token.Any), r.ID), token.ErrNotFound)
	suite.Expect(t, "Issue at the limit", l.Issue(t.Context(), l.Record(), nil, 1), nil)
	if n, err := l.RevokeSubject(t.Context(), l.Of(l.Subject)); n != 1 || err != nil {
		t.Errorf("RevokeSubject = %d, %v, want the live one", n, err)
	}
}

// testLedgerContext also accepts a ledger that succeeds, because it waits for
// nothing.
func testLedgerContext(t *testing.T, l *suite.Ledger) {
	ctx := suite.Ended(t)
	refused := func(verb string, err error) bool {
		t.Helper()
		if suite.Matches(err, token.ErrRevoked, token.ErrExhausted, token.ErrTooMany, token.ErrNotFound) {
			t.Errorf("%s: error %v, want that of the context", verb, err)
		}
		return err != nil
	}
	if r := l.Record(); refused("Issue", l.Issue(ctx, r, nil, suite.Many)) {
		l.Spends(t, "what was not issued", r, token.ErrRevoked)
	}
	if r := l.Add(t, suite.Limited(1)); refused("Spend", l.Use(ctx, r)) {
		l.Spends(t, "the one use", r, nil)
	}
	r := l.Add(t, nil)
	if refused("Revoke", l.Revoke(ctx, l.Of(token.Any), r.ID)) {
		l.Spends(t, "what was not revoked", r, nil)
	}
	r = l.Add(t, nil)
	if _, err := l.RevokeSubject(ctx, l.Of(l.Subject)); refused("RevokeSubject", err) {
		l.Spends(t, "what was not revoked with its subject", r, nil)
	}
	if list, _, err := l.List(ctx, l.Of(l.Subject), token.Position{}, token.MaxPage); refused("List", err) && list != nil {
		t.Error("List returns records beside an error")
	}
}
