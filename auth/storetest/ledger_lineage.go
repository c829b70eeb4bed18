package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/token"
)

// child returns a record whose parent is the given one, for a subject of its own.
func (l *ledger) child(parent token.Record) token.Record {
	r := l.record()
	r.Subject, r.Lineage = l.f.account(), token.Lineage{Maker: parent.Subject, Parent: parent.ID}
	return r
}

// make issues a child of a record.
func (l *ledger) make(t *testing.T, parent token.Record, change func(*token.Record)) token.Record {
	t.Helper()
	return l.issue(t, func(r *token.Record) {
		*r = l.child(parent)
		if change != nil {
			change(r)
		}
	})
}

// row issues n records, each the parent of the next.
func (l *ledger) row(t *testing.T, n int) []token.Record {
	t.Helper()
	row := []token.Record{l.issue(t, nil)}
	for len(row) < n {
		row = append(row, l.make(t, row[len(row)-1], nil))
	}
	return row
}

// dead fails unless each verb treats the issued record r as not live. Call it for
// descendants first, because the ledger may forget r in the end.
func (l *ledger) dead(t *testing.T, what string, r token.Record) {
	t.Helper()
	l.spend(t, what+": Spend", r, token.ErrRevoked)
	for _, listed := range l.list(t, r.ClientKey, r.Subject) {
		if listed.ID == r.ID {
			t.Errorf("%s: listed", what)
		}
	}
	l.barren(t, what, r, token.ErrRevoked)
	expect(t, what+": Revoke", l.Revoke(t.Context(), r.Holder(), r.ID), token.ErrNotFound)
}

// barren fails unless Issue of a child of parent returns want and changes nothing.
func (l *ledger) barren(t *testing.T, what string, parent token.Record, want error) {
	t.Helper()
	child := l.child(parent)
	child.ClientKey = parent.ClientKey
	expect(t, what+": Issue of a child", l.Issue(t.Context(), child, nil, many), want)
	l.spend(t, what+": a child that was not issued", child, token.ErrRevoked)
	child.Parent = ""
	expect(t, what+": its id without a parent", l.Issue(t.Context(), child, nil, many), nil)
}

func testLineage(t *testing.T, l *ledger) {
	parent := l.issue(t, nil)
	for _, lineage := range []token.Lineage{
		{},
		{Maker: l.f.account()},
		{Maker: l.f.account(), MakerApp: random()},
		{Maker: l.f.account(), Parent: parent.ID},
		{Maker: l.f.account(), MakerApp: random(), Parent: parent.ID},
	} {
		for _, uses := range []int64{0, 2} {
			r := l.issue(t, func(r *token.Record) { r.Subject, r.MaxUses, r.Lineage = l.f.account(), uses, lineage })
			if list := l.list(t, l.app, r.Subject); len(list) != 1 || !sameRecord(list[0], r) {
				t.Errorf("List = %+v, want %+v", list, r)
			}
			r.Lineage = token.Lineage{Maker: "x", MakerApp: "y", Parent: random()}
			for range 2 {
				if got, err := l.Spend(t.Context(), r); got != lineage || err != nil {
					t.Errorf("Spend = %+v, %v, want %+v", got, err, lineage)
				}
			}
			r.KeyID = random()
			if got, err := l.Spend(t.Context(), r); got != (token.Lineage{}) || !errors.Is(err, token.ErrRevoked) {
				t.Errorf("Spend of another key's = %+v, %v", got, err)
			}
		}
	}
}

// testMadeByRevoked revokes each record in a row of five, one per round.
func testMadeByRevoked(t *testing.T, l *ledger) {
	for ended := range token.MaxAncestors + 1 {
		row, beside := l.row(t, token.MaxAncestors+1), l.row(t, 2)
		for _, r := range row {
			l.spend(t, "before", r, nil)
		}
		expect(t, "Revoke", l.Revoke(t.Context(), l.of(token.AnySubject), row[ended].ID), nil)
		for i, r := range slices.Backward(row) {
			if i < ended {
				l.spend(t, "an ancestor of the revoked one", r, nil)
				continue
			}
			l.dead(t, fmt.Sprintf("%d below the revoked one", i-ended), r)
		}
		for _, r := range beside {
			l.spend(t, "another one", r, nil)
		}
	}
	orphan := l.child(token.Record{ID: random(), Subject: l.subject})
	l.barren(t, "a parent that nobody issued", token.Record{ClientKey: l.app, ID: random()}, token.ErrRevoked)
	orphan.Parent = orphan.ID
	expect(t, "its own parent", l.Issue(t.Context(), orphan, nil, many), token.ErrRevoked)
	for _, name := range []string{"zero\x00byte", "no UTF-8 \xff"} {
		orphan.Parent = name
		expect(t, fmt.Sprintf("the parent %q", name), l.Issue(t.Context(), orphan, nil, many), token.ErrRevoked)
	}
}

func testMadeByRevokedSubject(t *testing.T, l *ledger) {
	row, ended := l.row(t, 3), l.row(t, 2)
	of := func(r *token.Record) { r.Subject = row[2].Subject }
	// Each of them counts, although one is the parent of another.
	second := l.make(t, row[2], of)
	l.make(t, second, of)
	l.make(t, ended[1], of)
	expect(t, "Revoke", l.Revoke(t.Context(), l.of(token.AnySubject), ended[0].ID), nil)

	revoke := func(subject string, want int) {
		t.Helper()
		if n, err := l.RevokeSubject(t.Context(), l.of(subject)); n != want || err != nil {
			t.Errorf("RevokeSubject = %d, %v, want %d", n, err, want)
		}
	}
	revoke(row[2].Subject, 3)
	l.dead(t, "one of the subject", second)
	l.spend(t, "its parent", row[1], nil)

	last := l.make(t, row[1], nil)
	revoke(l.subject, 1)
	l.dead(t, "made by what the subject's has made", last)
	l.dead(t, "made by the subject's", row[1])
	revoke(last.Subject, 0)
}

func testMadeByExpired(t *testing.T, l *ledger) {
	expires := l.f.now().Truncate(time.Second).Add(brief + time.Second)
	parent := l.issue(t, func(r *token.Record) { r.Expires = expires })
	endless := l.make(t, parent, nil)
	longer := l.make(t, parent, func(r *token.Record) { r.Expires, r.MaxUses = expires.Add(time.Hour), 5 })
	grandchild := l.make(t, endless, nil)
	lasting := l.issue(t, func(r *token.Record) { r.Expires = expires.Add(time.Hour) })
	shorter := l.make(t, lasting, func(r *token.Record) { r.Expires = expires })
	for _, r := range []token.Record{parent, endless, longer, grandchild, lasting, shorter} {
		l.spend(t, "before", r, nil)
	}
	l.f.pass(expires.Sub(l.f.now()) + 10*time.Millisecond)
	for _, limit := range []int{1, token.MaxPage} {
		if list := l.pages(t, l.of(token.AnySubject), limit); len(list) != 1 || list[0].ID != lasting.ID {
			t.Errorf("List of any subject, in pages of %d = %+v, want %+v", limit, list, lasting)
		}
	}
	l.dead(t, "made by an endless one", grandchild)
	l.dead(t, "endless", endless)
	l.dead(t, "longer", longer)
	l.dead(t, "shorter than its parent", shorter)
	l.spend(t, "the parent of that", lasting, nil)
	l.barren(t, "the parent", parent, token.ErrRevoked)
}

func testTooDeep(t *testing.T, l *ledger) {
	row := l.row(t, token.MaxAncestors+1)
	last := row[len(row)-1]
	l.barren(t, "one that has the most ancestors", last, token.ErrTooDeep)
	l.spend(t, "the last one", last, nil)
	l.make(t, row[len(row)-2], nil)
	counted := l.make(t, row[len(row)-2], limited(1))
	l.spend(t, "counted, with the most ancestors", counted, nil)
	if list := l.list(t, l.app, last.Subject); len(list) != 1 {
		t.Errorf("List = %+v, want the last one", list)
	}
}
