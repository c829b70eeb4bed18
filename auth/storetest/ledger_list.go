package storetest

import (
	"fmt"
	"slices"
	"sync/atomic"
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

// testPageNames has ids of one second that look alike. Their order is that of their bytes.
func testPageNames(t *testing.T, l *ledger) {
	now := l.f.now().UTC().Truncate(time.Second)
	var all []token.Record
	for _, name := range spellings() {
		all = append(all, l.issue(t, func(r *token.Record) { r.ID, r.Issued = name, now }))
	}
	slices.SortFunc(all, byPosition)
	for _, of := range []token.Holder{l.of(l.subject), l.of(token.AnySubject)} {
		for _, limit := range limits(len(all)) {
			if got := l.pages(t, of, limit); !slices.EqualFunc(got, all, sameRecord) {
				t.Errorf("in pages of %d: %+v, want %+v", limit, got, all)
			}
		}
	}
}

// testPageAfterGone continues after records that have died since they were listed.
func testPageAfterGone(t *testing.T, l *ledger) {
	now := l.f.now().UTC().Truncate(time.Second)
	for _, any := range []bool{false, true} {
		l.app = random()
		of := l.of(l.subject)
		if any {
			of.Subject = token.AnySubject
		}
		var all []token.Record
		for i := range 9 {
			all = append(all, l.issue(t, func(r *token.Record) { r.Issued, r.MaxUses = now.Add(time.Duration(i/4)*time.Second), 1 }))
		}
		slices.SortFunc(all, byPosition)
		for i, r := range all {
			if i%2 == 0 {
				expect(t, "Revoke", l.Revoke(t.Context(), of, r.ID), nil)
			} else {
				l.spend(t, "the only use", r, nil)
			}
			for _, limit := range limits(len(all)) {
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
				if !slices.EqualFunc(got, all[i+1:], sameRecord) {
					t.Errorf("after record %d, in pages of %d: %+v, want %+v", i, limit, got, all[i+1:])
				}
			}
		}
		for _, limit := range []int{1, token.MaxPage} {
			if got := l.pages(t, of, limit); len(got) != 0 {
				t.Errorf("in the end: %+v", got)
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

// testAnySubjectLineage lists records with their ancestors. When one dies, so do those that
// it made, whose own records may stay.
func testAnySubjectLineage(t *testing.T, l *ledger) {
	row, beside := l.row(t, token.MaxAncestors+1), l.row(t, 2)
	spent := l.issue(t, limited(1))
	ofSpent := l.make(t, spent, nil)
	check := func(what string, want ...token.Record) {
		t.Helper()
		slices.SortFunc(want, byPosition)
		for _, limit := range []int{1, 2, token.MaxPage} {
			if got := l.pages(t, l.of(token.AnySubject), limit); !slices.EqualFunc(got, want, sameRecord) {
				t.Errorf("%s, in pages of %d: %+v, want %+v", what, limit, got, want)
			}
		}
	}
	check("before", slices.Concat(row, beside, []token.Record{spent, ofSpent})...)
	l.spend(t, "the only use", spent, nil)
	check("one is exhausted", slices.Concat(row, beside)...)
	expect(t, "Revoke", l.Revoke(t.Context(), l.of(token.AnySubject), row[2].ID), nil)
	check("one is revoked", slices.Concat(row[:2], beside)...)
	if _, err := l.RevokeSubject(t.Context(), l.of(l.subject)); err != nil {
		t.Fatal(err)
	}
	check("a subject is revoked")
}

// testListRace walks while others issue and revoke. What lives all the time must be found
// once, and what was revoked before must not be found.
func testListRace(t *testing.T, l *ledger) {
	now := l.f.now().UTC().Truncate(time.Second)
	lasting := map[string]bool{}
	var brief, gone []token.Record
	for i := range 60 {
		r := l.issue(t, func(r *token.Record) { r.Subject, r.Issued = l.f.account(), now.Add(time.Duration(i/20-3)*time.Second) })
		switch i % 3 {
		case 0:
			lasting[r.ID] = true
		case 1:
			brief = append(brief, r)
		default:
			expect(t, "Revoke", l.Revoke(t.Context(), r.Holder(), r.ID), nil)
			gone = append(gone, r)
		}
	}
	var done atomic.Bool
	errs := atOnce(3, func(i int) error {
		switch i {
		case 0:
			defer done.Store(true)
			for _, r := range brief {
				if err := l.Revoke(t.Context(), l.of(token.AnySubject), r.ID); err != nil {
					return err
				}
			}
			return nil
		case 1:
			for !done.Load() {
				r := l.record()
				r.Subject = l.f.account()
				if err := l.Issue(t.Context(), r, nil, many); err != nil {
					return err
				}
			}
			return nil
		}
		for last := false; !last; {
			last = done.Load()
			if err := l.walkOnce(t, lasting, gone); err != nil {
				return err
			}
		}
		return nil
	})
	tally(t, errs)
	for _, r := range l.pages(t, l.of(token.AnySubject), token.MaxPage) {
		if slices.ContainsFunc(brief, func(b token.Record) bool { return b.ID == r.ID }) {
			t.Errorf("listed after it was revoked: %+v", r)
		}
	}
}

// walkOnce lists all records in small pages.
func (l *ledger) walkOnce(t *testing.T, lasting map[string]bool, gone []token.Record) error {
	found := map[string]int{}
	var after token.Position
	for {
		page, next, err := l.List(t.Context(), l.of(token.AnySubject), after, 7)
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
