package storetest

import (
	"errors"
	"testing"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

func testLineage(t *testing.T, l *suite.Ledger) {
	parent := l.Add(t, nil)
	for _, lineage := range []token.Lineage{
		{Maker: "x", Name: "nightly build, ü☃"},
		{},
		{Maker: l.F.NewAccount()},
		{Maker: l.F.NewAccount(), MakerApp: suite.Random()},
		{Maker: l.F.NewAccount(), Parent: parent.ID},
		{Maker: l.F.NewAccount(), MakerApp: suite.Random(), Parent: parent.ID},
	} {
		for _, uses := range []int64{0, 2} {
			r := l.Add(t, func(r *token.Record) { r.Subject, r.MaxUses, r.Lineage = l.F.NewAccount(), uses, lineage })
			if list := l.All(t, l.App, r.Subject); len(list) != 1 || !suite.SameRecord(list[0], r) {
				t.Errorf("List = %+v, want %+v", list, r)
			}
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
