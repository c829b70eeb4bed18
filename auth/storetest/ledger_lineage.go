package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

func testLineage(t *testing.T, l *suite.Ledger) {
	parent := l.Add(t, nil)
	for _, lineage := range []token.Lineage{
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

// testMadeByRevoked revokes each record in a row of five, one per round.
func testMadeByRevoked(t *testing.T, l *suite.Ledger) {
	for ended := range token.MaxAncestors + 1 {
		row, beside := l.Row(t, token.MaxAncestors+1), l.Row(t, 2)
		for _, r := range row {
			l.Spends(t, "before", r, nil)
		}
		suite.Expect(t, "Revoke", l.Revoke(t.Context(), l.Of(token.AnySubject), row[ended].ID), nil)
		for i, r := range slices.Backward(row) {
			if i < ended {
				l.Spends(t, "an ancestor of the revoked one", r, nil)
				continue
			}
			l.Dead(t, fmt.Sprintf("%d below the revoked one", i-ended), r)
		}
		for _, r := range beside {
			l.Spends(t, "another one", r, nil)
		}
	}
	orphan := l.Child(token.Record{ID: suite.Random(), Subject: l.Subject})
	l.Barren(t, "a parent that nobody issued", token.Record{ClientKey: l.App, ID: suite.Random()}, token.ErrRevoked)
	orphan.Parent = orphan.ID
	suite.Expect(t, "its own parent", l.Issue(t.Context(), orphan, nil, suite.Many), token.ErrRevoked)
	for _, name := range []string{"zero\x00byte", "no UTF-8 \xff"} {
		orphan.Parent = name
		suite.Expect(t, fmt.Sprintf("the parent %q", name), l.Issue(t.Context(), orphan, nil, suite.Many), token.ErrRevoked)
	}
}

func testTooDeep(t *testing.T, l *suite.Ledger) {
	row := l.Row(t, token.MaxAncestors+1)
	last := row[len(row)-1]
	l.Barren(t, "one that has the most ancestors", last, token.ErrTooDeep)
	l.Spends(t, "the last one", last, nil)
	l.Make(t, row[len(row)-2], nil)
	counted := l.Make(t, row[len(row)-2], suite.Limited(1))
	l.Spends(t, "counted, with the most ancestors", counted, nil)
	if list := l.All(t, l.App, last.Subject); len(list) != 1 {
		t.Errorf("List = %+v, want the last one", list)
	}
}
