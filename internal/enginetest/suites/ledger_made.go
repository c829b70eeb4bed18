package suites

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

func testLedgerNames(t *testing.T, l *suite.Ledger) {
	names := spellings()
	for _, of := range []func(r *token.Record, name string){
		func(r *token.Record, name string) { r.ID = name },
		func(r *token.Record, name string) { r.Subject = l.F.AccountNamed(name) },
		func(r *token.Record, name string) { r.ClientKey = name },
		func(r *token.Record, name string) { r.KeyID = name },
	} {
		var records []token.Record
		for _, name := range names {
			r := l.Record()
			r.MaxUses = 1
			of(&r, name)
			if err := l.Issue(t.Context(), r, nil, suite.Many); err != nil {
				t.Fatalf("Issue for %q: %v", name, err)
			}
			records = append(records, r)
		}
		for _, r := range records {
			l.Spends(t, fmt.Sprintf("%q", []string{r.ClientKey, r.ID, r.Subject, r.KeyID}), r, nil)
		}
	}
	subject := l.F.AccountNamed(names[1])
	r := l.Add(t, func(r *token.Record) { r.Subject = subject })
	if list := l.Pages(t, l.Of(subject), token.MaxPage); len(list) != 1 || !suite.SameRecord(list[0], r) {
		t.Errorf("List of %q = %+v", subject, list)
	}
}

func testMadeByRevokedSubject(t *testing.T, l *suite.Ledger) {
	row, ended := row(t, l, 3), row(t, l, 2)
	of := func(r *token.Record) { r.Subject = row[2].Subject }
	// Each of them counts, although one is the parent of another.
	second := l.Make(t, row[2], of)
	l.Make(t, second, of)
	l.Make(t, ended[1], of)
	suite.Expect(t, "Revoke", l.Revoke(t.Context(), l.Of(token.Any), ended[0].ID), nil)

	revoke := func(subject string, want int) {
		t.Helper()
		if n, err := l.RevokeSubject(t.Context(), l.Of(subject)); n != want || err != nil {
			t.Errorf("RevokeSubject = %d, %v, want %d", n, err, want)
		}
	}
	revoke(row[2].Subject, 3)
	l.Dead(t, "one of the subject", second)
	l.Spends(t, "its parent", row[1], nil)

	last := l.Make(t, row[1], nil)
	revoke(l.Subject, 1)
	l.Dead(t, "made by what the subject's has made", last)
	l.Dead(t, "made by the subject's", row[1])
	revoke(last.Subject, 0)
}

func testMadeByExpired(t *testing.T, l *suite.Ledger) {
	expires := l.F.Time().Truncate(time.Second).Add(suite.Brief + time.Second)
	parent := l.Add(t, func(r *token.Record) { r.Expires = expires })
	endless := l.Make(t, parent, nil)
	longer := l.Make(t, parent, func(r *token.Record) { r.Expires, r.MaxUses = expires.Add(time.Hour), 5 })
	grandchild := l.Make(t, endless, nil)
	lasting := l.Add(t, func(r *token.Record) { r.Expires = expires.Add(time.Hour) })
	shorter := l.Make(t, lasting, func(r *token.Record) { r.Expires = expires })
	for _, r := range []token.Record{parent, endless, longer, grandchild, lasting, shorter} {
		l.Spends(t, "before", r, nil)
	}
	l.F.Wait(expires.Sub(l.F.Time()) + 10*time.Millisecond)
	for _, limit := range []int{1, token.MaxPage} {
		if list := l.Pages(t, l.Of(token.Any), limit); len(list) != 1 || list[0].ID != lasting.ID {
			t.Errorf("List of any subject, in pages of %d = %+v, want %+v", limit, list, lasting)
		}
	}
	l.Dead(t, "made by an endless one", grandchild)
	l.Dead(t, "endless", endless)
	l.Dead(t, "longer", longer)
	l.Dead(t, "shorter than its parent", shorter)
	l.Spends(t, "the parent of that", lasting, nil)
	l.Barren(t, "the parent", parent, token.ErrRevoked)
}

// row issues n records, each the parent of the next.
func row(t *testing.T, l *suite.Ledger, n int) []token.Record {
	t.Helper()
	row := []token.Record{l.Add(t, nil)}
	for len(row) < n {
		row = append(row, l.Make(t, row[len(row)-1], nil))
	}
	return row
}

// testMadeByEachRevoked revokes each record in a row of five, one per round.
func testMadeByEachRevoked(t *testing.T, l *suite.Ledger) {
	for ended := range token.MaxAncestors + 1 {
		row, beside := row(t, l, token.MaxAncestors+1), row(t, l, 2)
		for _, r := range row {
			l.Spends(t, "before", r, nil)
		}
		suite.Expect(t, "Revoke", l.Revoke(t.Context(), l.Of(token.Any), row[ended].ID), nil)
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
	orphan.Parent = orphan.ID
	suite.Expect(t, "its own parent", l.Issue(t.Context(), orphan, nil, suite.Many), token.ErrRevoked)
	for _, name := range []string{"zero\x00byte", "no UTF-8 \xff"} {
		orphan.Parent = name
		suite.Expect(t, fmt.Sprintf("the parent %q", name), l.Issue(t.Context(), orphan, nil, suite.Many), token.ErrRevoked)
	}
}

func testDeepest(t *testing.T, l *suite.Ledger) {
	row := row(t, l, token.MaxAncestors+1)
	last := row[len(row)-1]
	l.Make(t, row[len(row)-2], nil)
	counted := l.Make(t, row[len(row)-2], suite.Limited(1))
	l.Spends(t, "counted, with the most ancestors", counted, nil)
	if list := l.Pages(t, l.Of(last.Subject), token.MaxPage); len(list) != 1 {
		t.Errorf("List = %+v, want the last one", list)
	}
}

// spellings returns similar names that a store must keep apart.
func spellings() []string {
	name := suite.Random()
	return []string{
		name, strings.ToUpper(name), name + " ", " " + name, name + "%", name + "_", name + "'", name + `"`, name + `\`,
		name + "é", name + "e\u0301", name + "ß", name + "ss", name + "日本", name + "😀", name + "\t", name + ":" + name,
	}
}
