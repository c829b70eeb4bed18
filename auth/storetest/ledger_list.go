package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

// testPages has three records in each second, of several subjects.
func testPages(t *testing.T, l *suite.Ledger) {
	now := l.F.Time().UTC().Truncate(time.Second)
	subjects := []string{l.Subject, l.F.NewAccount(), l.F.NewAccount()}
	var all []token.Record
	for i := range 12 {
		all = append(all, l.Add(t, func(r *token.Record) {
			r.Subject, r.Issued, r.MaxUses = subjects[i%2], now.Add(time.Duration(i%4-6)*time.Second), int64(i%3)
			if i > 8 {
				r.Subject = subjects[2]
			}
		}))
	}
	slices.SortFunc(all, suite.ByPosition)
	for _, limit := range suite.Limits(len(all)) {
		if got := l.Pages(t, l.Of(token.AnySubject), limit); !slices.EqualFunc(got, all, suite.SameRecord) {
			t.Errorf("in pages of %d: %+v, want %+v", limit, got, all)
		}
		for _, subject := range subjects {
			want := slices.DeleteFunc(slices.Clone(all), func(r token.Record) bool { return r.Subject != subject })
			if got := l.Pages(t, l.Of(subject), limit); !slices.EqualFunc(got, want, suite.SameRecord) {
				t.Errorf("of one subject, in pages of %d: %+v, want %+v", limit, got, want)
			}
		}
	}
	for _, subject := range append(subjects, token.AnySubject) {
		n := len(l.Pages(t, l.Of(subject), token.MaxPage))
		for limit, last := range map[int]bool{n - 1: false, n: true, n + 1: true} {
			if _, next, err := l.List(t.Context(), l.Of(subject), token.Position{}, limit); next.IsZero() != last || err != nil {
				t.Errorf("after %d records of %d, the next page begins after %+v, %v", limit, n, next, err)
			}
		}
	}
}

func testPageLimits(t *testing.T, l *suite.Ledger) {
	l.Add(t, nil)
	for _, subject := range []string{l.Subject, token.AnySubject} {
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
		{"the app, one record with another key", l.Of(token.AnySubject), mine},
		{"the other org of the client key", token.Holder{Org: theirs.Org, ClientKey: l.App, Subject: token.AnySubject}, []token.Record{theirs}},
		{"another app", token.Holder{Org: l.Org, ClientKey: elsewhere.ClientKey, Subject: token.AnySubject}, []token.Record{elsewhere}},
		{"another org", token.Holder{Org: l.F.NewOrg(), ClientKey: l.App, Subject: token.AnySubject}, nil},
		{"no org", token.Holder{ClientKey: l.App, Subject: token.AnySubject}, nil},
		{"no app", token.Holder{Org: l.Org, Subject: token.AnySubject}, nil},
		{"an app that does not exist", token.Holder{Org: l.Org, ClientKey: suite.Random(), Subject: token.AnySubject}, nil},
		{"an app whose name has the beginning of this one", token.Holder{Org: l.Org, ClientKey: l.App[:5], Subject: token.AnySubject}, nil},
		{"the zero principal", l.Of(""), nil},
	} {
		for _, limit := range suite.Limits(3) {
			if got := l.Pages(t, c.of, limit); !slices.EqualFunc(got, c.want, suite.SameRecord) {
				t.Errorf("%s, in pages of %d: %+v, want %+v", c.what, limit, got, c.want)
			}
		}
	}
}
