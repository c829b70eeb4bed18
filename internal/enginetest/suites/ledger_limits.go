package suites

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

func testLimitOfDescendants(t *testing.T, l *suite.Ledger) {
	row, subject := row(t, l, 2), l.F.NewAccount()
	issue := func(what string, parent string, want error) {
		t.Helper()
		r := l.Record()
		r.Subject, r.Parent = subject, parent
		suite.Expect(t, what, l.Issue(t.Context(), r, nil, 2), want)
	}
	issue("first", row[1].ID, nil)
	issue("second", row[0].ID, nil)
	issue("third", "", token.ErrTooMany)
	suite.Expect(t, "Revoke", l.Revoke(t.Context(), l.Of(token.Any), row[1].ID), nil)
	issue("in place of the child of the revoked one", "", nil)
	issue("and one more", "", token.ErrTooMany)
	suite.Expect(t, "Revoke", l.Revoke(t.Context(), l.Of(token.Any), row[0].ID), nil)
	issue("in place of the child of the other", "", nil)
	issue("and one more", "", token.ErrTooMany)
}

func testLimitOverKeys(t *testing.T, l *suite.Ledger) {
	former, present, replaced := suite.Random(), suite.Random(), suite.Random()
	issue := func(what, kid string, verifying []string, want error) token.Record {
		t.Helper()
		r := l.Record()
		r.KeyID = kid
		suite.Expect(t, what, l.Issue(t.Context(), r, verifying, 3), want)
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
		l.Spends(t, "one that was issued before", r, nil)
	}
	suite.Expect(t, "Revoke", l.Revoke(t.Context(), l.Of(l.Subject), first.ID), nil)
	issue("in place of the one of the former key", present, both, nil)
	issue("and one more", present, both, token.ErrTooMany)
	for _, name := range []string{"zero\x00byte", "no UTF-8 \xff"} {
		// A key of such a name verifies nothing. Whether Issue refuses it is open.
		r := l.Record()
		r.Subject = l.F.NewAccount()
		l.Issue(t.Context(), r, []string{name}, 3)
	}
}

func testKeptForAnHour(t *testing.T, l *suite.Ledger) {
	now := l.F.Time().UTC().Truncate(time.Second)
	issued := func(kid string, ago time.Duration) token.Record {
		return l.Add(t, func(r *token.Record) { r.KeyID, r.Issued = kid, now.Add(-ago) })
	}
	former, newer := suite.Random(), suite.Random()
	var kept []token.Record
	for range 4 {
		kept = append(kept, issued(newer, time.Hour))
	}
	kept = append(kept, issued(newer, 0), issued(former, 2*time.Hour), issued(l.Key, 2*time.Hour))
	// The caller knows of the former key, but not of the newer one.
	r := l.Record()
	r.Issued = now
	suite.Expect(t, "Issue", l.Issue(t.Context(), r, []string{former}, 5), nil)
	for i, r := range kept {
		l.Spends(t, fmt.Sprint("record ", i), r, nil)
	}
	if ids := idsOf(t, l); len(ids) != len(kept)+1 {
		t.Errorf("%d are listed, want %d", len(ids), len(kept)+1)
	}
}

// testReplacedAllTheTime has as many records of other keys as Issue looks at.
func testReplacedAllTheTime(t *testing.T, l *suite.Ledger) {
	const limit = 2
	for range limit + token.MaxReplaced {
		l.Add(t, func(r *token.Record) { r.KeyID = suite.Random() })
	}
	next := l.Record()
	suite.Expect(t, "one more", l.Issue(t.Context(), next, nil, limit), token.ErrTooMany)
	l.Spends(t, "one more", next, token.ErrRevoked)
	if n := len(idsOf(t, l)); n != limit+token.MaxReplaced {
		t.Errorf("%d listed, want %d", n, limit+token.MaxReplaced)
	}
	suite.Expect(t, "with a greater limit", l.Issue(t.Context(), next, nil, math.MaxInt32), nil)
	next = l.Record()
	named := l.Pages(t, l.Of(l.Subject), token.MaxPage)[0].KeyID
	suite.Expect(t, "one of them is of a key that verifies", l.Issue(t.Context(), next, []string{named}, limit+1), nil)
	another := l.Record()
	another.Subject = l.F.NewAccount()
	suite.Expect(t, "of another subject", l.Issue(t.Context(), another, nil, suite.Many), nil)
	later := l.Record()
	later.Issued = later.Issued.Add(time.Hour + time.Second)
	suite.Expect(t, "an hour later", l.Issue(t.Context(), later, nil, suite.Many), nil)
	if n := len(idsOf(t, l)); n != 3 {
		t.Errorf("%d listed an hour later, want 3", n)
	}
}

func testIssueTwiceRace(t *testing.T, l *suite.Ledger) {
	r, subjects := l.Record(), [4]string{l.F.NewAccount(), l.F.NewAccount(), l.F.NewAccount(), l.F.NewAccount()}
	errs := suite.AtOnce(suite.Crowd, func(i int) error {
		twin := r
		twin.Subject = subjects[i%4]
		return l.Issue(t.Context(), twin, nil, suite.Many)
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
