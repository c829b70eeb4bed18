package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

// testPages has several records in each second, of two subjects.
func testPages(t *testing.T, l *suite.Ledger) {
	now, other := l.F.Time().UTC().Truncate(time.Second), l.F.NewAccount()
	var all, mine []token.Record
	for i := range 9 {
		r := l.Add(t, func(r *token.Record) {
			if r.Issued = now.Add(time.Duration(i%3-6) * time.Second); i%2 > 0 {
				r.Subject = other
			}
		})
		if all = append(all, r); r.Subject == l.Subject {
			mine = append(mine, r)
		}
	}
	for _, limit := range suite.Limits(len(all)) {
		for subject, want := range map[string][]token.Record{token.Any: all, l.Subject: mine} {
			slices.SortFunc(want, suite.ByPosition)
			l.Lists(t, "of "+subject, l.Of(subject), limit, want...)
		}
	}
}

func testPageLimits(t *testing.T, l *suite.Ledger) {
	l.Add(t, nil)
	for _, subject := range []string{l.Subject, token.Any} {
		for _, limit := range []int{-1, 0, token.MaxPage + 1} {
			if page, next, err := l.List(t.Context(), l.Of(subject), token.Position{}, limit); page != nil || !next.IsZero() || err == nil {
				t.Errorf("List of %d = %+v, %+v, %v, want an error", limit, page, next, err)
			}
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
		if list, _, err := l.List(t.Context(), of, token.Position{}, token.MaxPage); len(list) != 0 || err != nil {
			t.Errorf("%s: List = %+v, %v", what, list, err)
		}
		if n, err := l.RevokeSubject(t.Context(), of); n != 0 || err == nil && of.Subject == "" {
			t.Errorf("%s: RevokeSubject = %d, %v", what, n, err)
		}
	}
	if n, _ := l.RevokeSubject(t.Context(), l.Of(token.Any)); n != 0 {
		t.Errorf("RevokeSubject of any subject = %d", n)
	}
	l.Spends(t, "afterwards", r, nil)
}
