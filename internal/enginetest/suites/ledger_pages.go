package suites

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

// testPageNames has ids of one second that look alike. Their order is that of their bytes.
func testPageNames(t *testing.T, l *suite.Ledger) {
	now := l.F.Time().UTC().Truncate(time.Second)
	var all []token.Record
	for _, name := range spellings() {
		all = append(all, l.Add(t, func(r *token.Record) { r.ID, r.Issued = name, now }))
	}
	slices.SortFunc(all, suite.ByPosition)
	for _, of := range []token.Holder{l.Of(l.Subject), l.Of(token.Any)} {
		for _, limit := range suite.Limits(len(all)) {
			if got := l.Pages(t, of, limit); !slices.EqualFunc(got, all, suite.SameRecord) {
				t.Errorf("in pages of %d: %+v, want %+v", limit, got, all)
			}
		}
	}
}

// testPageAfterGone continues after records that have died since they were listed.
func testPageAfterGone(t *testing.T, l *suite.Ledger) {
	now := l.F.Time().UTC().Truncate(time.Second)
	for _, any := range []bool{false, true} {
		l.App = suite.Random()
		of := l.Of(l.Subject)
		if any {
			of.Subject = token.Any
		}
		var all []token.Record
		for i := range 9 {
			all = append(all, l.Add(t, func(r *token.Record) { r.Issued, r.MaxUses = now.Add(time.Duration(i/4)*time.Second), 1 }))
		}
		slices.SortFunc(all, suite.ByPosition)
		for i, r := range all {
			if i%2 == 0 {
				suite.Expect(t, "Revoke", l.Revoke(t.Context(), of, r.ID), nil)
			} else {
				l.Spends(t, "the only use", r, nil)
			}
			for _, limit := range suite.Limits(len(all)) {
				got, after := []token.Record{}, r.Position()
				for next := after; ; after = next {
					page, to, err := l.List(t.Context(), of, after, limit)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, page...)
					if next = to; next.IsZero() {
						break
					}
				}
				if !slices.EqualFunc(got, all[i+1:], suite.SameRecord) {
					t.Errorf("after record %d, in pages of %d: %+v, want %+v", i, limit, got, all[i+1:])
				}
			}
		}
		for _, limit := range []int{1, token.MaxPage} {
			if got := l.Pages(t, of, limit); len(got) != 0 {
				t.Errorf("in the end: %+v", got)
			}
		}
	}
}

// testAnySubjectLineage lists records with their ancestors. When one dies, so do those that
// it made, whose own records may stay.
func testAnySubjectLineage(t *testing.T, l *suite.Ledger) {
	row, beside := row(t, l, token.MaxAncestors+1), row(t, l, 2)
	spent := l.Add(t, suite.Limited(1))
	ofSpent := l.Make(t, spent, nil)
	check := func(what string, want ...token.Record) {
		t.Helper()
		slices.SortFunc(want, suite.ByPosition)
		for _, limit := range []int{1, 2, token.MaxPage} {
			if got := l.Pages(t, l.Of(token.Any), limit); !slices.EqualFunc(got, want, suite.SameRecord) {
				t.Errorf("%s, in pages of %d: %+v, want %+v", what, limit, got, want)
			}
		}
	}
	check("before", slices.Concat(row, beside, []token.Record{spent, ofSpent})...)
	l.Spends(t, "the only use", spent, nil)
	check("one is exhausted", slices.Concat(row, beside)...)
	suite.Expect(t, "Revoke", l.Revoke(t.Context(), l.Of(token.Any), row[2].ID), nil)
	check("one is revoked", slices.Concat(row[:2], beside)...)
	if _, err := l.RevokeSubject(t.Context(), l.Of(l.Subject)); err != nil {
		t.Fatal(err)
	}
	check("a subject is revoked")
}

// testListRace walks while others issue and revoke. What lives all the time must be found
// once, and what was revoked before must not be found.
func testListRace(t *testing.T, l *suite.Ledger) {
	now := l.F.Time().UTC().Truncate(time.Second)
	lasting := map[string]bool{}
	var brief, gone []token.Record
	for i := range 60 {
		r := l.Add(t, func(r *token.Record) {
			r.Subject, r.Issued = l.F.NewAccount(), now.Add(time.Duration(i/20-3)*time.Second)
		})
		switch i % 3 {
		case 0:
			lasting[r.ID] = true
		case 1:
			brief = append(brief, r)
		default:
			suite.Expect(t, "Revoke", l.Revoke(t.Context(), r.Holder(), r.ID), nil)
			gone = append(gone, r)
		}
	}
	var done atomic.Bool
	errs := suite.AtOnce(3, func(i int) error {
		switch i {
		case 0:
			defer done.Store(true)
			for _, r := range brief {
				if err := l.Revoke(t.Context(), l.Of(token.Any), r.ID); err != nil {
					return err
				}
			}
			return nil
		case 1:
			for n := 0; n < 500 && !done.Load(); n++ { // a memory store issues far more than a walk in small pages reads
				r := l.Record()
				r.Subject = l.F.NewAccount()
				if err := l.Issue(t.Context(), r, nil, suite.Many); err != nil {
					return err
				}
			}
			return nil
		}
		for last := false; !last; {
			last = done.Load()
			if err := walkOnce(t, l, lasting, gone); err != nil {
				return err
			}
		}
		return nil
	})
	suite.Tally(t, errs)
	for _, r := range l.Pages(t, l.Of(token.Any), token.MaxPage) {
		if slices.ContainsFunc(brief, func(b token.Record) bool { return b.ID == r.ID }) {
			t.Errorf("listed after it was revoked: %+v", r)
		}
	}
}

// walkOnce lists all records in small pages.
func walkOnce(t *testing.T, l *suite.Ledger, lasting map[string]bool, gone []token.Record) error {
	found := map[string]int{}
	var after token.Position
	for {
		page, next, err := l.List(t.Context(), l.Of(token.Any), after, 7)
		if err != nil {
			return err
		}
		for _, r := range page {
			found[r.ID]++
		}
		if after = next; next.IsZero() {
			break
		}
	}
	for id, n := range found {
		if n > 1 {
			return fmt.Errorf("%s was found %d times", id, n)
		}
	}
	for id := range lasting {
		if found[id] == 0 {
			return fmt.Errorf("%s was not found", id)
		}
	}
	for _, r := range gone {
		if found[r.ID] > 0 {
			return fmt.Errorf("%s was found after it was revoked", r.ID)
		}
	}
	return nil
}

func testListAliasing(t *testing.T, l *suite.Ledger) {
	r := l.Add(t, nil)
	page, _, err := l.List(t.Context(), l.Of(l.Subject), token.Position{}, token.MaxPage) // Pages returns a copy
	suite.Must(t, "List", err)
	clear(page)
	if got := l.Pages(t, l.Of(l.Subject), token.MaxPage); len(got) != 1 || !suite.SameRecord(got[0], r) {
		t.Errorf("List = %+v, want %+v", got, r)
	}
}

// testPageBoundaries has three records in each second, of several subjects.
func testPageBoundaries(t *testing.T, l *suite.Ledger) {
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
		if got := l.Pages(t, l.Of(token.Any), limit); !slices.EqualFunc(got, all, suite.SameRecord) {
			t.Errorf("in pages of %d: %+v, want %+v", limit, got, all)
		}
		for _, subject := range subjects {
			want := slices.DeleteFunc(slices.Clone(all), func(r token.Record) bool { return r.Subject != subject })
			if got := l.Pages(t, l.Of(subject), limit); !slices.EqualFunc(got, want, suite.SameRecord) {
				t.Errorf("of one subject, in pages of %d: %+v, want %+v", limit, got, want)
			}
		}
	}
	for _, subject := range append(subjects, token.Any) {
		n := len(l.Pages(t, l.Of(subject), token.MaxPage))
		for limit, last := range map[int]bool{n - 1: false, n: true, n + 1: true} {
			if _, next, err := l.List(t.Context(), l.Of(subject), token.Position{}, limit); next.IsZero() != last || err != nil {
				t.Errorf("after %d records of %d, the next page begins after %+v, %v", limit, n, next, err)
			}
		}
	}
}
