package storetest

import (
	"errors"
	"testing"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

func testIssueTwice(t *testing.T, l *suite.Ledger) {
	r := l.Add(t, suite.Limited(1))
	again := r
	again.MaxUses, again.Subject = 5, l.F.NewAccount()
	for _, twin := range []token.Record{r, again} {
		if err := l.Issue(t.Context(), twin, nil, suite.Many); err == nil || errors.Is(err, token.ErrTooMany) {
			t.Errorf("Issue of an id that is there: error %v", err)
		}
	}
	l.Spends(t, "the other record", again, token.ErrRevoked)
	l.Spends(t, "the record", r, nil)
	elsewhere := r
	elsewhere.ClientKey = suite.Random()
	suite.Expect(t, "the id for another app", l.Issue(t.Context(), elsewhere, nil, suite.Many), nil)
}

func testNegativeUses(t *testing.T, l *suite.Ledger) {
	r := l.Record()
	r.MaxUses = -1
	if err := l.Issue(t.Context(), r, nil, 1); err == nil || errors.Is(err, token.ErrTooMany) {
		t.Errorf("Issue: error %v", err)
	}
	l.Spends(t, "the record", r, token.ErrRevoked)
	suite.Expect(t, "another record, of a limit of one", l.Issue(t.Context(), l.Record(), nil, 1), nil)
}

func testLimitRace(t *testing.T, l *suite.Ledger) {
	const limit = 10
	errs := suite.AtOnce(suite.Crowd, func(int) error { return l.Issue(t.Context(), l.Record(), nil, limit) })
	if n := suite.Tally(t, errs, token.ErrTooMany); n != limit {
		t.Errorf("%d issued, want %d", n, limit)
	}
	if n := len(l.IDs(t)); n != limit {
		t.Errorf("%d listed, want %d", n, limit)
	}
}

func testLimit(t *testing.T, l *suite.Ledger) {
	issue := func(what string, change func(*token.Record), want error) token.Record {
		t.Helper()
		r := l.Record()
		change(&r)
		suite.Expect(t, what, l.Issue(t.Context(), r, nil, 2), want)
		return r
	}
	same := func(*token.Record) {}
	first, second := issue("first", suite.Limited(1), nil), issue("second", same, nil)
	issue("third", same, token.ErrTooMany)
	issue("of another app", func(r *token.Record) { r.ClientKey = suite.Random() }, nil)
	issue("of another subject", func(r *token.Record) { r.Subject = l.F.NewAccount() }, nil)
	issue("of another key", func(r *token.Record) { r.KeyID = suite.Random() }, nil)

	l.Spends(t, "the one use", first, nil)
	issue("in place of the spent one", same, nil)
	issue("and one more", same, token.ErrTooMany)
	suite.Expect(t, "Revoke", l.Revoke(t.Context(), l.Of(token.AnySubject), second.ID), nil)
	issue("in place of the revoked one", same, nil)
	issue("and one more", same, token.ErrTooMany)
	none := l.Record()
	none.Subject = l.F.NewAccount()
	suite.Expect(t, "where none is allowed", l.Issue(t.Context(), none, nil, 0), token.ErrTooMany)
}
