package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
	suite.Expect(t, "Revoke", l.Revoke(t.Context(), l.Of(token.Any), second.ID), nil)
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

func testRevoke(t *testing.T, l *suite.Ledger) {
	for _, uses := range []int64{0, 2} {
		r := l.Add(t, suite.Limited(uses))
		l.Spends(t, "before", r, nil)
		suite.Expect(t, "Revoke", l.Revoke(t.Context(), l.Of(token.Any), r.ID), nil)
		l.Spends(t, "after", r, token.ErrRevoked)
		suite.Expect(t, "Revoke again", l.Revoke(t.Context(), l.Of(token.Any), r.ID), token.ErrNotFound)
		l.Lists(t, "a revoked one", l.Of(l.Subject), token.MaxPage)
	}
}

func testRevokeRace(t *testing.T, l *suite.Ledger) {
	for round := range 10 {
		r := l.Add(t, suite.Limited(int64(round%2*1_000_000_000)))
		var revoked atomic.Bool
		suite.Tally(t, suite.AtOnce(4, func(i int) error {
			if i > 0 {
				return l.RefusedAfter(t.Context(), r, &revoked)
			}
			defer revoked.Store(true)
			return l.Revoke(t.Context(), l.Of(token.Any), r.ID)
		}))
	}
}

func testRevokeOther(t *testing.T, l *suite.Ledger) {
	r, spent := l.Add(t, nil), l.Add(t, suite.Limited(1))
	l.Spends(t, "the one use", spent, nil)
	for what, c := range map[string]struct{ app, id string }{
		"an ephemeral token":     {l.App, ""},
		"an unknown id":          {l.App, suite.Random()},
		"an id of another app":   {suite.Random(), r.ID},
		"one that is spent":      {l.App, spent.ID},
		"an id with a zero byte": {l.App, r.ID + "\x00"},
	} {
		of := token.Holder{Org: l.Org, ClientKey: c.app, Subject: token.Any}
		suite.Expect(t, what, l.Revoke(t.Context(), of, c.id), token.ErrNotFound)
		l.Gets(t, what, of, c.id, token.ErrNotFound)
	}
	l.Spends(t, "afterwards", r, nil)
}

func testGet(t *testing.T, l *suite.Ledger) {
	permanent, counted := l.Add(t, nil), l.Add(t, suite.Limited(2))
	child := l.Make(t, counted, nil)
	l.Spends(t, "one of two uses", counted, nil)
	for _, r := range []token.Record{permanent, counted, child, counted} {
		l.Gets(t, "of its subject", r.Holder(), r.ID, nil)
		l.Gets(t, "of any subject", l.Of(token.Any), r.ID, nil)
	}
	l.Spends(t, "the use that Get has left", counted, nil)
	l.Gets(t, "its uses are spent", counted.Holder(), counted.ID, token.ErrNotFound)
	l.Gets(t, "its ancestor's uses are spent", child.Holder(), child.ID, token.ErrNotFound)
	suite.Expect(t, "Revoke", l.Revoke(t.Context(), permanent.Holder(), permanent.ID), nil)
	l.Gets(t, "revoked", permanent.Holder(), permanent.ID, token.ErrNotFound)
}

func testRevokeSubject(t *testing.T, l *suite.Ledger) {
	used := l.Add(t, suite.Limited(3))
	l.Spends(t, "one use of three", used, nil)
	spent := l.Add(t, suite.Limited(1)) // so it is not live
	l.Spends(t, "the one use", spent, nil)
	mine := []token.Record{used, l.Add(t, nil), l.Add(t, func(r *token.Record) { r.KeyID = suite.Random() }), l.Add(t, suite.Limited(2))}
	child := l.Make(t, used, nil)
	inAnotherApp := l.Add(t, func(r *token.Record) { r.ClientKey = suite.Random() })
	others := []token.Record{
		l.Add(t, func(r *token.Record) { r.Subject = l.F.NewAccount() }),
		l.Add(t, func(r *token.Record) { r.Org = l.F.NewOrg() }),
		l.Add(t, func(r *token.Record) { r.Subject = l.F.AccountNamed(strings.ToUpper(r.Subject)) }), // in another case
	}
	l.RevokesSubject(t, "an unknown one", l.Of(l.F.NewAccount()), 0)
	l.RevokesSubject(t, "the subject", l.Of(l.Subject), len(mine))
	for _, r := range append(mine, child) {
		l.Spends(t, "one of the subject's, or made by it", r, token.ErrRevoked)
	}
	l.Lists(t, "afterwards", l.Of(l.Subject), token.MaxPage)
	l.Spends(t, "in another app", inAnotherApp, nil)
	n, _ := l.RevokeSubject(t.Context(), token.Holder{Org: l.Org, ClientKey: token.Any, Subject: token.Any})
	suite.Same(t, "RevokeSubject of any subject of all apps", n, 0)
	account := token.Holder{Org: l.Org, ClientKey: token.Any, Subject: l.Subject}
	l.RevokesSubject(t, "the account in all apps", account, 1)
	l.RevokesSubject(t, "the account again", account, 0)
	l.Spends(t, "in another app, afterwards", inAnotherApp, token.ErrRevoked)
	for _, r := range others {
		l.Spends(t, "another's", r, nil)
	}
}

// testPages has several records in each second, of two subjects.
func testPages(t *testing.T, l *suite.Ledger) {
	now, subjects := l.F.Time().UTC().Truncate(time.Second), []string{l.Subject, l.F.NewAccount()}
	var all []token.Record
	for i := range 9 {
		all = append(all, l.Add(t, func(r *token.Record) {
			r.Issued, r.Subject = now.Add(time.Duration(i%3-6)*time.Second), subjects[i%2]
		}))
	}
	slices.SortFunc(all, suite.ByPosition)
	mine := slices.DeleteFunc(slices.Clone(all), func(r token.Record) bool { return r.Subject != l.Subject })
	for _, limit := range suite.Limits(len(all)) {
		for subject, want := range map[string][]token.Record{token.Any: all, l.Subject: mine} {
			l.Lists(t, "of "+subject, l.Of(subject), limit, want...)
		}
	}
}

func testPageLimits(t *testing.T, l *suite.Ledger) {
	l.Add(t, nil)
	for _, subject := range []string{l.Subject, token.Any} {
		for _, limit := range []int{-1, 0, token.MaxPage + 1} {
			page, next, err := l.List(t.Context(), l.Of(subject), token.Position{}, limit)
			suite.Check(t, page == nil && next.IsZero() && err != nil, "List of %d = %+v, %+v, %v, want an error", limit, page, next, err)
		}
	}
}

// testAnySubject has records of another org under the same client key, and of other apps.
func testAnySubject(t *testing.T, l *suite.Ledger) {
	mine := []token.Record{l.Add(t, nil), l.Add(t, func(r *token.Record) { r.Subject, r.KeyID = l.F.NewAccount(), suite.Random() })}
	theirs := l.Add(t, func(r *token.Record) { r.Org, r.Subject = l.F.NewOrg(), l.F.NewAccount() })
	elsewhere := l.Add(t, func(r *token.Record) { r.ClientKey = suite.Random() })
	slices.SortFunc(mine, suite.ByPosition)
	for _, c := range []struct {
		what string
		of   token.Holder
		want []token.Record
	}{
		{"the app, one record with another key", l.Of(token.Any), mine},
		{"the other org of the client key", token.Holder{Org: theirs.Org, ClientKey: l.App, Subject: token.Any}, []token.Record{theirs}},
		{"another app", token.Holder{Org: l.Org, ClientKey: elsewhere.ClientKey, Subject: token.Any}, []token.Record{elsewhere}},
		{"all apps, which only RevokeSubject knows", token.Holder{Org: l.Org, ClientKey: token.Any, Subject: token.Any}, nil},
		{"one account in all apps", token.Holder{Org: l.Org, ClientKey: token.Any, Subject: l.Subject}, nil},
		{"an app whose name has the beginning of this one", token.Holder{Org: l.Org, ClientKey: l.App[:5], Subject: token.Any}, nil},
	} {
		for _, limit := range suite.Limits(3) {
			l.Lists(t, c.what, c.of, limit, c.want...)
		}
	}
}

func testOtherHolders(t *testing.T, l *suite.Ledger) {
	r, mine := l.Add(t, nil), l.Of(l.Subject)
	for _, of := range []token.Holder{
		{Org: l.F.NewOrg(), ClientKey: mine.ClientKey, Subject: mine.Subject},
		{Org: l.F.NewOrg(), ClientKey: mine.ClientKey, Subject: token.Any},
		{Org: "", ClientKey: mine.ClientKey, Subject: mine.Subject},
		{Org: mine.Org, ClientKey: suite.Random(), Subject: mine.Subject},
		{Org: mine.Org, ClientKey: mine.ClientKey, Subject: l.F.NewAccount()},
		{Org: mine.Org, ClientKey: mine.ClientKey, Subject: ""},
		{Org: "", ClientKey: mine.ClientKey, Subject: token.Any},
		{Org: mine.Org, ClientKey: "", Subject: token.Any},
		{Org: mine.Org, ClientKey: "", Subject: mine.Subject},
		{Org: mine.Org, ClientKey: suite.Random(), Subject: token.Any},
	} {
		what := fmt.Sprintf("%q", of)
		suite.Expect(t, what+": Revoke", l.Revoke(t.Context(), of, r.ID), token.ErrNotFound)
		l.Gets(t, what, of, r.ID, token.ErrNotFound)
		list, _, err := l.List(t.Context(), of, token.Position{}, token.MaxPage)
		suite.Check(t, len(list) == 0 && err == nil, "%s: List = %+v, %v", what, list, err)
		n, err := l.RevokeSubject(t.Context(), of)
		suite.Check(t, n == 0 && (err != nil || of.Subject != ""), "%s: RevokeSubject = %d, %v", what, n, err)
	}
	n, _ := l.RevokeSubject(t.Context(), l.Of(token.Any))
	suite.Same(t, "RevokeSubject of any subject", n, 0)
	l.Spends(t, "afterwards", r, nil)
}
