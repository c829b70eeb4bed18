package storetest

import (
	"errors"
	"testing"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

func testIssueTwice(t *testing.T, l *suite.Ledger) {
	r := l.Add(t, suite.Limited(1))
	again := suite.With(r, func(r *token.Record) { r.MaxUses, r.Subject = 5, l.F.NewAccount() })
	for _, twin := range []token.Record{r, again} {
		suite.Fails(t, "Issue of an id that is there", l.Issue(t.Context(), twin, nil, suite.Many), token.ErrTooMany)
	}
	l.Spends(t, "the other record", again, token.ErrRevoked)
	l.Spends(t, "the record", r, nil)
	elsewhere := suite.With(r, func(r *token.Record) { r.ClientKey = suite.Random() })
	suite.Expect(t, "the id for another app", l.Issue(t.Context(), elsewhere, nil, suite.Many), nil)
}

func testLimitRace(t *testing.T, l *suite.Ledger) {
	const limit = 10
	suite.Wins(t, limit, func(int) error { return l.Issue(t.Context(), l.Record(), nil, limit) }, token.ErrTooMany)
	suite.Same(t, "listed", len(l.Pages(t, l.Of(l.Subject), token.MaxPage)), limit)
}

func testLimit(t *testing.T, l *suite.Ledger) {
	issue := func(what string, change func(*token.Record), want error) token.Record {
		t.Helper()
		r := suite.With(l.Record(), change)
		suite.Expect(t, what, l.Issue(t.Context(), r, nil, 2), want)
		return r
	}
	first, second := issue("first", suite.Limited(1), nil), issue("second", nil, nil)
	issue("third", nil, token.ErrTooMany)
	issue("of another app", func(r *token.Record) { r.ClientKey = suite.Random() }, nil)
	issue("of another subject", func(r *token.Record) { r.Subject = l.F.NewAccount() }, nil)
	issue("of another key", func(r *token.Record) { r.KeyID = suite.Random() }, nil)

	l.Spends(t, "the one use", first, nil)
	issue("in place of the spent one", nil, nil)
	issue("and one more", nil, token.ErrTooMany)
	suite.Expect(t, "Revoke", l.Revoke(t.Context(), l.Of(token.AnySubject), second.ID), nil)
	issue("in place of the revoked one", nil, nil)
	issue("and one more", nil, token.ErrTooMany)
	none := suite.With(l.Record(), func(r *token.Record) { r.Subject = l.F.NewAccount() })
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
				got, err := l.Spend(t.Context(), r)
				suite.Check(t, got == lineage && err == nil, "Spend = %+v, %v, want %+v", got, err, lineage)
			}
			r.KeyID = suite.Random()
			got, err := l.Spend(t.Context(), r)
			suite.Check(t, got == token.Lineage{} && errors.Is(err, token.ErrRevoked), "Spend of another key's = %+v, %v", got, err)
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
