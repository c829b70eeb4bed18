package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

// successor returns the record of the token that follows r's, signed with another key.
func successor(r token.Record) token.Record {
	r.Generation++
	r.KeyID, r.Issued = suite.Random(), r.Issued.Add(time.Second)
	return r
}

// renew renews r and returns the record of the successor.
func renew(t *testing.T, l *suite.Ledger, r token.Record, grace time.Duration) token.Record {
	t.Helper()
	next := successor(r)
	suite.Expect(t, "Renew", l.Renew(t.Context(), r, next, grace), nil)
	return next
}

func testRenew(t *testing.T, l *suite.Ledger) {
	for _, uses := range []int64{0, 1000} {
		first := l.Add(t, suite.Limited(uses))
		beside := l.Add(t, suite.Limited(uses))
		child := l.Make(t, first, nil)
		second := renew(t, l, first, time.Hour)
		l.Spends(t, "the successor", second, nil)
		l.Spends(t, "the one before, within its grace", first, nil)
		got, err := l.Get(t.Context(), second.Holder(), second.ID)
		got.Uses = 0
		suite.Check(t, err == nil && suite.SameRecord(got, second), "Get = %+v, %v, want %+v", got, err, second)
		third := renew(t, l, second, time.Hour)
		l.Spends(t, "the successor's", third, nil)
		l.Spends(t, "the one before that", second, nil)
		l.Spends(t, "what the first has made", child, nil)
		l.Spends(t, "another one", beside, nil)
		l.Spends(t, "one to come", successor(third), token.ErrRevoked)
		forged := suite.With(third, func(r *token.Record) { r.KeyID = suite.Random() })
		l.Spends(t, "of another key", forged, token.ErrRevoked)
		one := suite.With(l.Record(), func(r *token.Record) { r.KeyID = third.KeyID })
		suite.Expect(t, "Issue at the limit", l.Issue(t.Context(), one, nil, 1), token.ErrTooMany)
		suite.Expect(t, "Revoke", l.Revoke(t.Context(), third.Holder(), third.ID), nil)
		l.Spends(t, "revoked", third, token.ErrRevoked)
		l.Spends(t, "revoked, the one before", second, token.ErrRevoked)
		suite.Expect(t, "Renew of a revoked one", l.Renew(t.Context(), third, successor(third), 0), token.ErrRevoked)
	}
}

// presents are the verbs that present a token.
func presents(t *testing.T, l *suite.Ledger) map[string]func(token.Record) error {
	return map[string]func(token.Record) error{
		"Spend": func(r token.Record) error { return l.Use(t.Context(), r) },
		"Renew": func(r token.Record) error { return l.Renew(t.Context(), r, successor(r), time.Hour) },
	}
}

// testReuse presents a token after its grace: the family ends, also for whoever has renewed it.
func testReuse(t *testing.T, l *suite.Ledger) {
	for name, use := range presents(t, l) {
		for _, uses := range []int64{0, 1000} {
			for _, grace := range []time.Duration{-time.Hour, 0, suite.Brief} {
				if grace > 0 && (name != "Spend" || uses > 0) {
					continue // once, because it takes its time
				}
				first, beside := l.Add(t, suite.Limited(uses)), l.Add(t, suite.Limited(uses))
				second := renew(t, l, first, grace)
				if grace > 0 {
					suite.Expect(t, "Renew again, which must not prolong the grace", l.Renew(t.Context(), first, second, time.Hour), nil)
				}
				child := l.Make(t, second, func(r *token.Record) { r.KeyID = second.KeyID })
				l.F.Wait(max(grace, 0) + 10*time.Millisecond)
				l.Spends(t, "the successor", second, nil)
				for what, change := range map[string]func(*token.Record){
					"another subject": func(r *token.Record) { r.Subject = l.F.NewAccount() },
					"other uses":      func(r *token.Record) { r.MaxUses += 7 },
					"another app":     func(r *token.Record) { r.ClientKey = suite.Random() },
				} {
					suite.Expect(t, name+" of "+what, use(suite.With(first, change)), token.ErrRevoked)
				}
				l.Spends(t, "the successor, afterwards", second, nil)
				err := use(first)
				suite.Expect(t, name+" after the grace", err, token.ErrReused)
				suite.Expect(t, name+" matches the other error, too", err, token.ErrRevoked)
				l.Spends(t, "the successor, of an ended family", second, token.ErrRevoked)
				l.Spends(t, "what it has made", child, token.ErrRevoked)
				suite.Expect(t, name+" once more", use(first), token.ErrRevoked)
				l.Spends(t, "another family", beside, nil)
			}
		}
	}
}

// testReuseWithinAGrace presents a token two generations behind. The grace of a later renewal must not
// hide it: a thief who renews again and again would never be found out.
func testReuseWithinAGrace(t *testing.T, l *suite.Ledger) {
	for name, use := range presents(t, l) {
		for _, uses := range []int64{0, 1000} {
			first := l.Add(t, suite.Limited(uses))
			second := renew(t, l, first, time.Hour)
			third := renew(t, l, second, time.Hour)
			l.Spends(t, "the one before", second, nil)
			suite.Expect(t, name+" of the first", use(first), token.ErrReused)
			l.Spends(t, "the one before, of an ended family", second, token.ErrRevoked)
			l.Spends(t, "the newest, of an ended family", third, token.ErrRevoked)
		}
	}
}

// testEndedWithinAGrace presents a token within its grace whose record has ended otherwise. That is no reuse:
// nobody else need have the token.
func testEndedWithinAGrace(t *testing.T, l *suite.Ledger) {
	for name, use := range presents(t, l) {
		spent := l.Add(t, suite.Limited(1))
		last := renew(t, l, spent, time.Hour)
		l.Spends(t, "the only use", last, nil)

		maker := l.Add(t, nil)
		made := l.Make(t, maker, nil)
		next := renew(t, l, made, time.Hour)
		suite.Expect(t, "Revoke", l.Revoke(t.Context(), maker.Holder(), maker.ID), nil)

		for what, r := range map[string]token.Record{"spent": spent, "spent, its successor": last, "without its maker": made, "without its maker, its successor": next} {
			err := use(r)
			ended := suite.Matches(err, token.ErrRevoked, token.ErrExhausted) && !errors.Is(err, token.ErrReused)
			suite.Check(t, ended, "%s of a renewed token, %s = %v", name, what, err)
		}
	}
}

func testRenewRace(t *testing.T, l *suite.Ledger) {
	for _, uses := range []int64{0, 1000} {
		r := l.Add(t, suite.Limited(uses))
		next := successor(r)
		suite.Wins(t, suite.Crowd, func(int) error { return l.Renew(t.Context(), r, next, time.Hour) })
		got, err := l.Get(t.Context(), r.Holder(), r.ID)
		suite.Check(t, got.Generation == 1 && err == nil, "Generation = %d, %v, want one successor", got.Generation, err)
		l.Spends(t, "the successor", next, nil)

		// Without a grace the second one presents an ended token.
		r = l.Add(t, suite.Limited(uses))
		next = successor(r)
		suite.Wins(t, 1, func(int) error { return l.Renew(t.Context(), r, next, 0) }, token.ErrRevoked)
		l.Spends(t, "the successor, of an ended family", next, token.ErrRevoked)
	}
}

func testRenewCarriesUses(t *testing.T, l *suite.Ledger) {
	first := l.Add(t, suite.Limited(25))
	l.Spends(t, "one of 25 uses", first, nil)
	second := renew(t, l, first, time.Hour)
	use := func(i int) error { return l.Use(t.Context(), []token.Record{first, second}[i%2]) }
	suite.Wins(t, 24, use, token.ErrExhausted, token.ErrRevoked)
	suite.Expect(t, "Renew of a spent one", l.Renew(t.Context(), second, successor(second), 0), token.ErrExhausted, token.ErrRevoked)
}

func testRenewEnds(t *testing.T, l *suite.Ledger) {
	soon := l.F.Time().UTC().Truncate(time.Second).Add(suite.Brief + time.Second)
	for _, c := range []struct{ own, next, want time.Time }{
		{time.Time{}, time.Time{}, time.Time{}},
		{time.Time{}, soon, soon},
		{soon, time.Time{}, soon},
		{soon, soon.Add(time.Hour), soon},
		{soon.Add(time.Hour), soon, soon},
	} {
		r := l.Add(t, func(r *token.Record) { r.Expires = c.own })
		next := suite.With(successor(r), func(r *token.Record) { r.Expires = c.next })
		suite.Expect(t, "Renew", l.Renew(t.Context(), r, next, time.Hour), nil)
		got, err := l.Get(t.Context(), r.Holder(), r.ID)
		suite.Check(t, got.Expires.Equal(c.want) && err == nil, "%+v: Expires = %v, %v", c, got.Expires, err)
		l.Spends(t, "before its end", next, nil)
		if !c.want.IsZero() {
			defer func() { l.Dead(t, "after its end", next) }()
		}
	}
	l.F.Wait(soon.Sub(l.F.Time()) + 10*time.Millisecond)
}
