package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tenantkit/tenantkit/token"
)

func testIssueTwice(t *testing.T, l *ledger) {
	r := l.issue(t, limited(1))
	again := r
	again.MaxUses, again.Subject = 5, l.f.account()
	for _, twin := range []token.Record{r, again} {
		if err := l.Issue(t.Context(), twin, nil, many); err == nil || errors.Is(err, token.ErrTooMany) {
			t.Errorf("Issue of an id that is there: error %v", err)
		}
	}
	l.spend(t, "the other record", again, token.ErrRevoked)
	l.spend(t, "the record", r, nil)
	elsewhere := r
	elsewhere.ClientKey = random()
	expect(t, "the id for another app", l.Issue(t.Context(), elsewhere, nil, many), nil)
}

func testNegativeUses(t *testing.T, l *ledger) {
	r := l.record()
	r.MaxUses = -1
	if err := l.Issue(t.Context(), r, nil, 1); err == nil || errors.Is(err, token.ErrTooMany) {
		t.Errorf("Issue: error %v", err)
	}
	l.spend(t, "the record", r, token.ErrRevoked)
	expect(t, "another record, of a limit of one", l.Issue(t.Context(), l.record(), nil, 1), nil)
}

func testLimitRace(t *testing.T, l *ledger) {
	const limit = 10
	errs := atOnce(crowd, func(int) error { return l.Issue(t.Context(), l.record(), nil, limit) })
	if n := tally(t, errs, token.ErrTooMany); n != limit {
		t.Errorf("%d issued, want %d", n, limit)
	}
	if n := len(l.ids(t)); n != limit {
		t.Errorf("%d listed, want %d", n, limit)
	}
}

func testLimit(t *testing.T, l *ledger) {
	issue := func(what string, change func(*token.Record), want error) token.Record {
		t.Helper()
		r := l.record()
		change(&r)
		expect(t, what, l.Issue(t.Context(), r, nil, 2), want)
		return r
	}
	same := func(*token.Record) {}
	first, second := issue("first", limited(1), nil), issue("second", same, nil)
	issue("third", same, token.ErrTooMany)
	issue("of another app", func(r *token.Record) { r.ClientKey = random() }, nil)
	issue("of another subject", func(r *token.Record) { r.Subject = l.f.account() }, nil)
	issue("of another key", func(r *token.Record) { r.KeyID = random() }, nil)

	l.spend(t, "the one use", first, nil)
	issue("in place of the spent one", same, nil)
	issue("and one more", same, token.ErrTooMany)
	expect(t, "Revoke", l.Revoke(t.Context(), l.of(token.AnySubject), second.ID), nil)
	issue("in place of the revoked one", same, nil)
	issue("and one more", same, token.ErrTooMany)
	none := l.record()
	none.Subject = l.f.account()
	expect(t, "where none is allowed", l.Issue(t.Context(), none, nil, 0), token.ErrTooMany)
}

func testLedgerNames(t *testing.T, l *ledger) {
	names := spellings()
	for _, of := range []func(r *token.Record, name string){
		func(r *token.Record, name string) { r.ID = name },
		func(r *token.Record, name string) { r.Subject = l.f.accountNamed(name) },
		func(r *token.Record, name string) { r.ClientKey = name },
		func(r *token.Record, name string) { r.KeyID = name },
	} {
		var records []token.Record
		for _, name := range names {
			r := l.record()
			r.MaxUses = 1
			of(&r, name)
			if err := l.Issue(t.Context(), r, nil, many); err != nil {
				t.Fatalf("Issue for %q: %v", name, err)
			}
			records = append(records, r)
		}
		for _, r := range records {
			l.spend(t, fmt.Sprintf("%q", []string{r.ClientKey, r.ID, r.Subject, r.KeyID}), r, nil)
		}
	}
	subject := l.f.accountNamed(names[1])
	r := l.issue(t, func(r *token.Record) { r.Subject = subject })
	if list := l.list(t, l.app, subject); len(list) != 1 || !sameRecord(list[0], r) {
		t.Errorf("List of %q = %+v", subject, list)
	}
}
