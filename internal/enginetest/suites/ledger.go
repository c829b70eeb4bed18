package suites

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/token"
)

// Ledger checks what storetest.Ledger leaves out: the details of lineage, of replaced keys and of
// pages. Each subtest opens a ledger.
func Ledger(t *testing.T, open func(t *testing.T) token.Ledger, f Features) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *ledger)
	}{
		{"M07 a token made by an exhausted one", testMadeByExhausted},
		{"M07 the limit is for records whose ancestors are live", testLimitOfDescendants},
		{"M07 revoking a token while those it made are spent", testRevokeMakerRace},
		{"M07 revoking a token while it makes others", testRevokeWhileMaking},
		{"M07 makers whose names look alike", testMakerNames},
		{"pages of ids that look alike", testPageNames},
		{"a page begins after a record that is gone", testPageAfterGone},
		{"M07 any subject, and records whose ancestors are dead", testAnySubjectLineage},
		{"T20 listing while tokens are issued and revoked", testListRace},
		{"T21 the limit is for the records of all keys that verify", testLimitOverKeys},
		{"T34 records of keys that an issue does not name are kept for an hour", testKeptForAnHour},
		{"K36 records of keys that were replaced all the time", testReplacedAllTheTime},
		{"a last use beside the end of its subject is counted once", testRevokeSubjectCounts},
		{"M07 a token made by one of another app", testMadeByAnotherApp},
		{"M20 a token whose maker's key was replaced meanwhile", testMadeByReplacedKey},
		{"M07 a dead ancestor costs no use", testDeadAncestorCostsNoUse},
		{"an id issued at once is issued once", testIssueTwiceRace},
		{"T20 revoking a subject while tokens are issued", testRevokeSubjectRace},
		{"a list is the caller's own", testListAliasing},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.test(t, &ledger{Ledger: open(t), f: f, org: f.org(), app: random(), subject: f.account(), key: random()})
		})
	}
}

// ledger is a token.Ledger, with names that no other subtest uses.
type ledger struct {
	token.Ledger
	f                 Features
	org               token.OrgKey
	app, subject, key string
}

const many = 1000

// of returns the holder of the records of a subject.
func (l *ledger) of(subject string) token.Holder {
	return token.Holder{Org: l.org, ClientKey: l.app, Subject: subject}
}

// record returns a permanent record, issued now.
func (l *ledger) record() token.Record {
	return token.Record{
		ID: random(), Org: l.org, ClientKey: l.app, Subject: l.subject, KeyID: l.key,
		Issued: l.f.now().UTC().Truncate(time.Second),
	}
}

// issue adds a record and returns it.
func (l *ledger) issue(t *testing.T, change func(*token.Record)) token.Record {
	t.Helper()
	r := l.record()
	if change != nil {
		change(&r)
	}
	if err := l.Issue(t.Context(), r, nil, many); err != nil {
		t.Fatalf("Issue: %v", err)
	}
	return r
}

// use spends one use of r, and ignores the lineage.
func (l *ledger) use(ctx context.Context, r token.Record) error {
	_, err := l.Spend(ctx, r)
	return err
}

func (l *ledger) spend(t *testing.T, what string, r token.Record, want ...error) {
	t.Helper()
	expect(t, what, l.use(t.Context(), r), want...)
}

func (l *ledger) list(t *testing.T, app, subject string) []token.Record {
	t.Helper()
	return l.pages(t, token.Holder{Org: l.org, ClientKey: app, Subject: subject}, token.MaxPage)
}

func (l *ledger) ids(t *testing.T) (ids []string) {
	t.Helper()
	for _, r := range l.list(t, l.app, l.subject) {
		ids = append(ids, r.ID)
	}
	return ids
}

func limited(uses int64) func(*token.Record) {
	return func(r *token.Record) { r.MaxUses = uses }
}

func sameRecord(a, b token.Record) bool {
	same := a.Issued.Equal(b.Issued) && a.Expires.Equal(b.Expires) && a.Expires.IsZero() == b.Expires.IsZero()
	a.Issued, a.Expires, b.Issued, b.Expires = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	return same && a == b
}

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

// row issues n records, each the parent of the next.
func (l *ledger) row(t *testing.T, n int) []token.Record {
	t.Helper()
	row := []token.Record{l.issue(t, nil)}
	for len(row) < n {
		row = append(row, l.make(t, row[len(row)-1], nil))
	}
	return row
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

func testMadeByExhausted(t *testing.T, l *ledger) {
	parent := l.issue(t, limited(2))
	child := l.make(t, parent, limited(5))
	grandchild := l.make(t, child, nil)
	l.spend(t, "first use of the parent", parent, nil)
	l.spend(t, "the child", child, nil)
	l.spend(t, "its child", grandchild, nil)
	l.spend(t, "last use of the parent", parent, nil)
	l.dead(t, "the child's child", grandchild)
	l.dead(t, "the child", child)
	l.barren(t, "the parent", parent, token.ErrRevoked)
}

func testLimitOfDescendants(t *testing.T, l *ledger) {
	row, subject := l.row(t, 2), l.f.account()
	issue := func(what string, parent string, want error) {
		t.Helper()
		r := l.record()
		r.Subject, r.Parent = subject, parent
		expect(t, what, l.Issue(t.Context(), r, nil, 2), want)
	}
	issue("first", row[1].ID, nil)
	issue("second", row[0].ID, nil)
	issue("third", "", token.ErrTooMany)
	expect(t, "Revoke", l.Revoke(t.Context(), l.of(token.AnySubject), row[1].ID), nil)
	issue("in place of the child of the revoked one", "", nil)
	issue("and one more", "", token.ErrTooMany)
	expect(t, "Revoke", l.Revoke(t.Context(), l.of(token.AnySubject), row[0].ID), nil)
	issue("in place of the child of the other", "", nil)
	issue("and one more", "", token.ErrTooMany)
}

func testRevokeMakerRace(t *testing.T, l *ledger) {
	for round := range 10 {
		row := l.row(t, 2)
		counted := l.make(t, row[1], limited(1_000_000))
		var revoked atomic.Bool
		errs := atOnce(5, func(i int) error {
			switch i {
			case 0:
				err := l.revokeEither(t, row[0], round)
				revoked.Store(true)
				return err
			case 1, 2:
				return l.refusedAfter(t.Context(), counted, &revoked)
			}
			return l.refusedAfter(t.Context(), row[1], &revoked)
		})
		tally(t, errs)
	}
}

// revokeEither revokes a record by itself, or its subject.
func (l *ledger) revokeEither(t *testing.T, r token.Record, round int) error {
	if round%2 == 0 {
		return l.Revoke(t.Context(), l.of(token.AnySubject), r.ID)
	}
	_, err := l.RevokeSubject(t.Context(), l.of(r.Subject))
	return err
}

// testRevokeWhileMaking issues children of a record until it is revoked. No child
// may be accepted afterwards.
func testRevokeWhileMaking(t *testing.T, l *ledger) {
	for round := range 5 {
		row := l.row(t, 2)
		var revoked atomic.Bool
		errs := atOnce(4, func(i int) error {
			if i == 0 {
				err := l.revokeEither(t, row[0], round)
				revoked.Store(true)
				return err
			}
			return l.makeUntil(t, row[1], &revoked)
		})
		tally(t, errs)
	}
}

// makeUntil issues children of a record until one is refused, and then spends them.
func (l *ledger) makeUntil(t *testing.T, parent token.Record, ended *atomic.Bool) error {
	var made []token.Record
	for {
		late := ended.Load()
		child := l.child(parent)
		err := l.Issue(t.Context(), child, nil, many)
		if err == nil && late {
			return errors.New("made by a token that was revoked")
		}
		if err != nil && !errors.Is(err, token.ErrRevoked) {
			return err
		}
		made = append(made, child)
		if late {
			break
		}
	}
	for _, child := range made {
		if err := l.use(t.Context(), child); !errors.Is(err, token.ErrRevoked) {
			return fmt.Errorf("a token made by one that was revoked: %w", err)
		}
	}
	return nil
}

func testMakerNames(t *testing.T, l *ledger) {
	var children []token.Record
	for _, name := range spellings() {
		parent := l.issue(t, func(r *token.Record) { r.ID = name })
		children = append(children, l.make(t, parent, func(r *token.Record) { r.Maker, r.MakerApp = l.f.accountNamed(name), name }))
	}
	for i, child := range children {
		expect(t, "Revoke", l.Revoke(t.Context(), l.of(token.AnySubject), child.Parent), nil)
		l.dead(t, fmt.Sprintf("made by %q", child.Parent), child)
		for _, other := range children[i+1:] {
			if got, err := l.Spend(t.Context(), other); got != other.Lineage || err != nil {
				t.Errorf("made by %q, when %q is revoked: %+v, %v", other.Parent, child.Parent, got, err)
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

func testLimitOverKeys(t *testing.T, l *ledger) {
	former, present, replaced := random(), random(), random()
	issue := func(what, kid string, verifying []string, want error) token.Record {
		t.Helper()
		r := l.record()
		r.KeyID = kid
		expect(t, what, l.Issue(t.Context(), r, verifying, 3), want)
		return r
	}
	both := []string{present, former}
	dead := issue("of a replaced key", replaced, nil, nil)
	first := issue("of the former key, before the rotation", former, nil, nil)
	second := issue("of the present key", present, both, nil)
	issue("another, naming keys twice", present, append(both, former, former), nil)
	issue("one more", present, both, token.ErrTooMany)
	issue("of the former key, by a caller that knows both", former, both, token.ErrTooMany)
	issue("whose own key is not named", present, []string{former}, token.ErrTooMany)
	for _, r := range []token.Record{dead, first, second} {
		l.spend(t, "one that was issued before", r, nil)
	}
	expect(t, "Revoke", l.Revoke(t.Context(), l.of(l.subject), first.ID), nil)
	issue("in place of the one of the former key", present, both, nil)
	issue("and one more", present, both, token.ErrTooMany)
	for _, name := range []string{"zero\x00byte", "no UTF-8 \xff"} {
		// A key of such a name verifies nothing. Whether Issue refuses it is open.
		r := l.record()
		r.Subject = l.f.account()
		l.Issue(t.Context(), r, []string{name}, 3)
	}
}

func testKeptForAnHour(t *testing.T, l *ledger) {
	now := l.f.now().UTC().Truncate(time.Second)
	issued := func(kid string, ago time.Duration) token.Record {
		return l.issue(t, func(r *token.Record) { r.KeyID, r.Issued = kid, now.Add(-ago) })
	}
	former, newer := random(), random()
	var kept []token.Record
	for range 4 {
		kept = append(kept, issued(newer, time.Hour))
	}
	kept = append(kept, issued(newer, 0), issued(former, 2*time.Hour), issued(l.key, 2*time.Hour))
	// The caller knows of the former key, but not of the newer one.
	r := l.record()
	r.Issued = now
	expect(t, "Issue", l.Issue(t.Context(), r, []string{former}, 5), nil)
	for i, r := range kept {
		l.spend(t, fmt.Sprint("record ", i), r, nil)
	}
	if ids := l.ids(t); len(ids) != len(kept)+1 {
		t.Errorf("%d are listed, want %d", len(ids), len(kept)+1)
	}
}

// testReplacedAllTheTime has as many records of other keys as Issue looks at.
func testReplacedAllTheTime(t *testing.T, l *ledger) {
	const limit = 2
	for range limit + token.MaxReplaced {
		l.issue(t, func(r *token.Record) { r.KeyID = random() })
	}
	next := l.record()
	expect(t, "one more", l.Issue(t.Context(), next, nil, limit), token.ErrTooMany)
	l.spend(t, "one more", next, token.ErrRevoked)
	if n := len(l.ids(t)); n != limit+token.MaxReplaced {
		t.Errorf("%d listed, want %d", n, limit+token.MaxReplaced)
	}
	expect(t, "with a greater limit", l.Issue(t.Context(), next, nil, math.MaxInt32), nil)
	next = l.record()
	named := l.list(t, l.app, l.subject)[0].KeyID
	expect(t, "one of them is of a key that verifies", l.Issue(t.Context(), next, []string{named}, limit+1), nil)
	another := l.record()
	another.Subject = l.f.account()
	expect(t, "of another subject", l.Issue(t.Context(), another, nil, many), nil)
	later := l.record()
	later.Issued = later.Issued.Add(time.Hour + time.Second)
	expect(t, "an hour later", l.Issue(t.Context(), later, nil, many), nil)
	if n := len(l.ids(t)); n != 3 {
		t.Errorf("%d listed an hour later, want 3", n)
	}
}

// testRevokeSubjectCounts spends the only use of a token while its subject is revoked. Either the use
// comes first, and the token is not live any more, or it is refused.
func testRevokeSubjectCounts(t *testing.T, l *ledger) {
	for range 50 {
		r, counted := l.issue(t, limited(1)), 0
		errs := atOnce(2, func(i int) (err error) {
			if i == 0 {
				return l.use(t.Context(), r)
			}
			counted, err = l.RevokeSubject(t.Context(), l.of(l.subject))
			return err
		})
		expect(t, "RevokeSubject", errs[1], nil)
		if used := errs[0] == nil; used == (counted == 1) {
			t.Errorf("Spend: %v, and %d were live", errs[0], counted)
		}
	}
}

// refusedAfter spends r until it is refused. It fails if a call is accepted that
// began after ended was set.
func (l *ledger) refusedAfter(ctx context.Context, r token.Record, ended *atomic.Bool) error {
	for {
		late := ended.Load()
		err := l.use(ctx, r)
		switch {
		case late && err == nil:
			return fmt.Errorf("accepted after it was revoked")
		case late && errors.Is(err, token.ErrRevoked):
			return nil
		case err != nil && !errors.Is(err, token.ErrRevoked):
			return err
		}
	}
}

func testMadeByAnotherApp(t *testing.T, l *ledger) {
	elsewhere := l.issue(t, func(r *token.Record) { r.ClientKey = random() })
	foreign := elsewhere
	foreign.ClientKey = l.app
	l.barren(t, "one of another app", foreign, token.ErrRevoked)

	// Now both apps have a record with this ID.
	here := l.issue(t, func(r *token.Record) { r.ID = elsewhere.ID })
	child := l.make(t, here, nil)
	theirs := l.make(t, elsewhere, func(r *token.Record) { r.ClientKey = elsewhere.ClientKey })
	expect(t, "Revoke", l.Revoke(t.Context(), elsewhere.Holder(), elsewhere.ID), nil)
	l.spend(t, "made by that of the other app", child, nil)
	l.dead(t, "made by the revoked one", theirs)
	expect(t, "Revoke", l.Revoke(t.Context(), l.of(token.AnySubject), here.ID), nil)
	l.dead(t, "made by the other, revoked too", child)
}

// testMadeByReplacedKey makes tokens with the key that has followed the one of their maker.
func testMadeByReplacedKey(t *testing.T, l *ledger) {
	parent, next := l.issue(t, nil), random()
	for what, c := range map[string]struct {
		verifying []string
		want      error
	}{
		"replaced":                            {nil, token.ErrRevoked},
		"replaced, beside another former key": {[]string{next, random()}, token.ErrRevoked},
		"rotated":                             {[]string{next, parent.KeyID}, nil},
	} {
		child := l.child(parent)
		child.KeyID = next
		expect(t, what, l.Issue(t.Context(), child, c.verifying, many), c.want)
		if c.want != nil {
			l.spend(t, what+": the child", child, token.ErrRevoked)
			continue
		}
		l.spend(t, what+": the child", child, nil)
		expect(t, "Revoke", l.Revoke(t.Context(), parent.Holder(), parent.ID), nil)
		l.spend(t, what+", made by a revoked one", child, token.ErrRevoked)
		parent = l.issue(t, nil)
	}
}

// testDeadAncestorCostsNoUse spends more often than there are uses. If refused
// calls took a use, the last ones would return ErrExhausted.
func testDeadAncestorCostsNoUse(t *testing.T, l *ledger) {
	row := l.row(t, 2)
	child := l.make(t, row[1], limited(3))
	l.spend(t, "before", child, nil)
	expect(t, "Revoke", l.Revoke(t.Context(), l.of(token.AnySubject), row[0].ID), nil)
	for range 5 {
		if err := l.use(t.Context(), child); errors.Is(err, token.ErrExhausted) || !errors.Is(err, token.ErrRevoked) {
			t.Errorf("Spend: error %v, want ErrRevoked", err)
		}
	}
	l.dead(t, "the child", child)
}

func testIssueTwiceRace(t *testing.T, l *ledger) {
	r, subjects := l.record(), [4]string{l.f.account(), l.f.account(), l.f.account(), l.f.account()}
	errs := atOnce(crowd, func(i int) error {
		twin := r
		twin.Subject = subjects[i%4]
		return l.Issue(t.Context(), twin, nil, many)
	})
	issued := 0
	for _, err := range errs {
		if err == nil {
			issued++
		}
		if errors.Is(err, token.ErrTooMany) {
			t.Error(err)
		}
	}
	if issued != 1 {
		t.Errorf("issued %d times, want 1", issued)
	}
}

func testRevokeSubjectRace(t *testing.T, l *ledger) {
	for range 5 {
		before := l.issue(t, nil)
		var revoked atomic.Bool
		errs := atOnce(4, func(i int) error {
			switch i {
			case 0:
				_, err := l.RevokeSubject(t.Context(), l.of(l.subject))
				revoked.Store(true)
				return err
			case 1:
				return l.refusedAfter(t.Context(), before, &revoked)
			}
			return l.Issue(t.Context(), l.record(), nil, many)
		})
		tally(t, errs)
		if slices.Contains(l.ids(t), before.ID) {
			t.Error("listed after the subject was revoked")
		}
	}
}

func testListAliasing(t *testing.T, l *ledger) {
	r := l.issue(t, nil)
	l.list(t, l.app, l.subject)[0] = token.Record{}
	if got := l.list(t, l.app, l.subject); len(got) != 1 || !sameRecord(got[0], r) {
		t.Errorf("List = %+v, want %+v", got, r)
	}
}
