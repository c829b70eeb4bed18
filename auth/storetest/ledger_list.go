package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/token"
)

// pages lists all records of a holder in pages of a limit, and checks what List promises of
// each page.
func (l *ledger) pages(t *testing.T, of token.Holder, limit int) (all []token.Record) {
	t.Helper()
	var after token.Position
	for {
		page, next, err := l.List(t.Context(), of, after, limit)
		if err != nil {
			t.Fatalf("List: %v", err)
		}
		if len(page) > limit {
			t.Fatalf("List returns %d records, and the limit is %d", len(page), limit)
		}
		last := after
		for _, r := range page {
			if r.Position().Compare(last) <= 0 {
				t.Fatalf("List returns %+v after %+v", r, last)
			}
			last = r.Position()
		}
		all = append(all, page...)
		if next.IsZero() {
			return all
		}
		if next.Compare(last) < 0 || next.Compare(after) <= 0 {
			t.Fatalf("the page after %+v ends with %+v, and the next begins after %+v", after, last, next)
		}
		after = next
	}
}

// limits are those of a test of n records: each boundary is somewhere within them.
func limits(n int) []int { return []int{1, 2, 3, n - 1, n, n + 1, token.MaxPage} }

func byPosition(a, b token.Record) int { return a.Position().Compare(b.Position()) }

// testPages has three records in each second, of several subjects.
func testPages(t *testing.T, l *ledger) {
	now := l.f.now().UTC().Truncate(time.Second)
	subjects := []string{l.subject, l.f.account(), l.f.account()}
	var all []token.Record
	for i := range 12 {
		all = append(all, l.issue(t, func(r *token.Record) {
			r.Subject, r.Issued, r.MaxUses = subjects[i%2], now.Add(time.Duration(i%4-6)*time.Second), int64(i%3)
			if i > 8 {
				r.Subject = subjects[2]
			}
		}))
	}
	slices.SortFunc(all, byPosition)
	for _, limit := range limits(len(all)) {
		if got := l.pages(t, l.of(token.AnySubject), limit); !slices.EqualFunc(got, all, sameRecord) {
			t.Errorf("in pages of %d: %+v, want %+v", limit, got, all)
		}
		for _, subject := range subjects {
			want := slices.DeleteFunc(slices.Clone(all), func(r token.Record) bool { return r.Subject != subject })
			if got := l.pages(t, l.of(subject), limit); !slices.EqualFunc(got, want, sameRecord) {
				t.Errorf("of one subject, in pages of %d: %+v, want %+v", limit, got, want)
			}
		}
	}
	for _, subject := range append(subjects, token.AnySubject) {
		n := len(l.pages(t, l.of(subject), token.MaxPage))
		for limit, last := range map[int]bool{n - 1: false, n: true, n + 1: true} {
			if _, next, err := l.List(t.Context(), l.of(subject), token.Position{}, limit); next.IsZero() != last || err != nil {
				t.Errorf("after %d records of %d, the next page begins after %+v, %v", limit, n, next, err)
			}
		}
	}
}

func testPageLimits(t *testing.T, l *ledger) {
	l.issue(t, nil)
	for _, subject := range []string{l.subject, token.AnySubject} {
		for _, limit := range []int{-1, 0, token.MaxPage + 1} {
			if page, next, err := l.List(t.Context(), l.of(subject), token.Position{}, limit); page != nil || !next.IsZero() || err == nil {
				t.Errorf("List of %d = %+v, %+v, %v, want an error", limit, page, next, err)
			}
		}
	}
}

// testAnySubject has records of another org under the same client key, and of other apps.
func testAnySubject(t *testing.T, l *ledger) {
	mine := []token.Record{l.issue(t, nil), l.issue(t, func(r *token.Record) { r.Subject, r.KeyID = l.f.account(), random() })}
	theirs := l.issue(t, func(r *token.Record) { r.Org, r.Subject = l.f.org(), l.f.account() })
	elsewhere := l.issue(t, func(r *token.Record) { r.ClientKey = random() })
	slices.SortFunc(mine, byPosition)
	for _, c := range []struct {
		what string
		of   token.Holder
		want []token.Record
	}{
		{"the app, one record with another key", l.of(token.AnySubject), mine},
		{"the other org of the client key", token.Holder{Org: theirs.Org, ClientKey: l.app, Subject: token.AnySubject}, []token.Record{theirs}},
		{"another app", token.Holder{Org: l.org, ClientKey: elsewhere.ClientKey, Subject: token.AnySubject}, []token.Record{elsewhere}},
		{"another org", token.Holder{Org: l.f.org(), ClientKey: l.app, Subject: token.AnySubject}, nil},
		{"no org", token.Holder{ClientKey: l.app, Subject: token.AnySubject}, nil},
		{"no app", token.Holder{Org: l.org, Subject: token.AnySubject}, nil},
		{"an app that does not exist", token.Holder{Org: l.org, ClientKey: random(), Subject: token.AnySubject}, nil},
		{"an app whose name has the beginning of this one", token.Holder{Org: l.org, ClientKey: l.app[:5], Subject: token.AnySubject}, nil},
		{"the zero principal", l.of(""), nil},
	} {
		for _, limit := range limits(3) {
			if got := l.pages(t, c.of, limit); !slices.EqualFunc(got, c.want, sameRecord) {
				t.Errorf("%s, in pages of %d: %+v, want %+v", c.what, limit, got, c.want)
			}
		}
	}
}
