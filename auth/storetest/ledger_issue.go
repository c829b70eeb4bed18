package storetest

import (
	"errors"
	"testing"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

func testIssueTwice(t *testing.T, l *suite.Ledger) {
	r := l.Add(t, suite.Limited(1))
	again := r
	again.MaxUses, again.Subject = 5, l.F.NewAccount()
	for _, twin := range []token.Record{r, again} {
		suite.Fails(t, "Issue of an id that is there", l.Issue(t.Context(), twin, nil, suite.Many), token.ErrTooMany)
	}
	l.Spends(t, "the other record", again, token.ErrRevoked)
	l.Spends(t, "the record", r, nil)
	elsewhere := r
	elsewhere.ClientKey = suite.Random()
	suite.Expect(t, "the id for another app", l.Issue(t.Context(), elsewhere, nil, suite.Many), nil)
}

func testLimitRace(t *testing.T, l *suite.Ledger) {
	const limit = 10
	suite.Wins(t, limit, func(int) error { return l.Issue(t.Context(), l.Record(), nil, limit) }, token.ErrTooMany)
	if n := len(l.All(t, l.App, l.Subject)); n != limit {
		t.Errorf("%d listed, want %d", n, limit)
	}
}

func testLimit(t *testing.T, l *suite.Ledger) {
	issue := func(what string, change func(*token.Record), want error) token.Record {
		t.Helper()
		r := l.Record()
		change(&r)
		suite.Expect(t, what, l.Issue(t.Context(), r, nil, 2), want)
		return r
	}
	same := func(*token.Record) {}
	first, second := issue("first", suite.Limited(1), nil), issue("second", same, nil)
	issue("third", same, token.ErrTooMany)
	issue("of another app", func(r *token.Record) { r.ClientKey = suite.Random() }, nil)
	issue("of another subject", func(r *token.Record) { r.Subject = l.F.NewAccount() }, nil)
	issue("of another key", func(r *token.Record) { r.KeyID = suite.Random() }, nil)

	l.Spends(t, "the one use", first, nil)
	issue("in place of the spent one", same, nil)
	issue("and one more", same, token.ErrTooMany)
	suite.Expect(t, "Revoke", l.Revoke(t.Context(), l.Of(token.Any), second.ID), nil)
	issue("in place of the revoked one", same, nil)
	issue("and one more", same, token.ErrTooMany)
	none := l.Record()
	none.Subject = l.F.NewAccount()
	suite.Expect(t, "where none is allowed", l.Issue(t.Context(), none, nil, 0), token.ErrTooMany)
}

func testLineage(t *testing.T, l *suite.Ledger) {
	parent := l.Add(t, nil)
	for _, lineage := range []token.Lineage{
		{Maker: l.F.NewAccount(), Name: "nightly build, ü☃"},
		{},
		{Maker: l.F.NewAccount()},
		{Maker: l.F.NewAccount(), MakerApp: suite.Random()},
		{Maker: l.F.NewAccount(), Parent: parent.ID},
		{Maker: l.F.NewAccount(), MakerApp: suite.Random(), Parent: parent.ID},
	} {
		for _, uses := range []int64{0, 2} {
			r := l.Add(t, func(r *token.Record) { r.Subject, r.MaxUses, r.Lineage = l.F.NewAccount(), uses, lineage })
			l.Lists(t, "one with a lineage", r.Holder(), token.MaxPage, r)
			r.Lineage = token.Lineage{Maker: "x", MakerApp: "y", Parent: suite.Random()}
			for range 2 {
				if got, err := l.Spend(t.Context(), r); got != lineage || err != nil {
					t.Errorf("Spend = %+v, %v, want %+v", got, err, lineage)
				}
			}
			r.KeyID = suite.Random()
			if got, err := l.Spend(t.Context(), r); got != (token.Lineage{}) || !errors.Is(err, token.ErrRevoked) {
				t.Errorf("Spend of another key's = %+v, %v", got, err)
			}
		}
	}
}

func testMadeByRevoked(t *testing.T, l *suite.Ledger) {
	first := l.Add(t, nil)
	second := l.Make(t, first, nil)
	third := l.Make(t, second, nil)
	l.Spends(t, "before", third, nil)
	suite.Expect(t, "Revoke", l.Revoke(t.Context(), second.Holder(), second.ID), nil)
	l.Dead(t, "made by the revoked one", third)
	l.Dead(t, "the revoked one", second)
	l.Spends(t, "its parent", first, nil)
	l.Barren(t, "a parent that nobody issued", token.Record{ClientKey: l.App, ID: suite.Random()}, token.ErrRevoked)
}

func testTooDeep(t *testing.T, l *suite.Ledger) {
	last := l.Add(t, nil)
	for range token.MaxAncestors {
		last = l.Make(t, last, nil)
	}
	l.Barren(t, "one that has the most ancestors", last, token.ErrTooDeep)
	l.Spends(t, "the last one", last, nil)
}
