package storetest

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

func testRevoke(t *testing.T, l *suite.Ledger) {
	for _, uses := range []int64{0, 2} {
		r := l.Add(t, suite.Limited(uses))
		l.Spends(t, "before", r, nil)
		suite.Expect(t, "Revoke", l.Revoke(t.Context(), l.Of(token.Any), r.ID), nil)
		l.Spends(t, "after", r, token.ErrRevoked)
		suite.Expect(t, "Revoke again", l.Revoke(t.Context(), l.Of(token.Any), r.ID), token.ErrNotFound)
		l.ListsNone(t, "a revoked one")
	}
}

func testRevokeRace(t *testing.T, l *suite.Ledger) {
	for round := range 10 {
		r := l.Add(t, suite.Limited(int64(round%2*1_000_000_000)))
		var revoked atomic.Bool
		errs := suite.AtOnce(4, func(i int) error {
			if i > 0 {
				return l.RefusedAfter(t.Context(), r, &revoked)
			}
			err := l.Revoke(t.Context(), l.Of(token.Any), r.ID)
			revoked.Store(true)
			return err
		})
		suite.Tally(t, errs)
	}
}

func testRevokeOther(t *testing.T, l *suite.Ledger) {
	r, spent := l.Add(t, nil), l.Add(t, suite.Limited(1))
	l.Spends(t, "the one use", spent, nil)
	for what, c := range map[string]struct{ app, id string }{
		"an ephemeral token":     {l.App, ""},
		"an unknown id":          {l.App, suite.Random()},
		"an id of another app":   {suite.Random(), r.ID},
		"one that is spent":      {l.App, spent.ID},
		"an id with a zero byte": {l.App, r.ID + "\x00"},
	} {
		of := token.Holder{Org: l.Org, ClientKey: c.app, Subject: token.Any}
		suite.Expect(t, what, l.Revoke(t.Context(), of, c.id), token.ErrNotFound)
		l.Gets(t, what, of, c.id, token.ErrNotFound)
	}
	l.Spends(t, "afterwards", r, nil)
}

func testGet(t *testing.T, l *suite.Ledger) {
	permanent, counted := l.Add(t, nil), l.Add(t, suite.Limited(2))
	child := l.Make(t, counted, nil)
	l.Spends(t, "one of two uses", counted, nil)
	for _, r := range []token.Record{permanent, counted, child, counted} {
		l.Gets(t, "of its subject", r.Holder(), r.ID, nil)
		l.Gets(t, "of any subject", l.Of(token.Any), r.ID, nil)
	}
	l.Spends(t, "the use that Get has left", counted, nil)
	l.Gets(t, "its uses are spent", counted.Holder(), counted.ID, token.ErrNotFound)
	l.Gets(t, "its ancestor's uses are spent", child.Holder(), child.ID, token.ErrNotFound)
	suite.Expect(t, "Revoke", l.Revoke(t.Context(), permanent.Holder(), permanent.ID), nil)
	l.Gets(t, "revoked", permanent.Holder(), permanent.ID, token.ErrNotFound)
}

func testRevokeSubject(t *testing.T, l *suite.Ledger) {
	used := l.Add(t, suite.Limited(3))
	l.Spends(t, "one use of three", used, nil)
	spent := l.Add(t, suite.Limited(1)) // so it is not live
	l.Spends(t, "the one use", spent, nil)
	mine := []token.Record{used, l.Add(t, nil), l.Add(t, func(r *token.Record) { r.KeyID = suite.Random() }), l.Add(t, suite.Limited(2))}
	child := l.Make(t, used, nil)
	inAnotherApp := l.Add(t, func(r *token.Record) { r.ClientKey = suite.Random() })
	others := []token.Record{
		l.Add(t, func(r *token.Record) { r.Subject = l.F.NewAccount() }),
		l.Add(t, func(r *token.Record) { r.Org = l.F.NewOrg() }),
		l.Add(t, func(r *token.Record) { r.Subject = l.F.AccountNamed(strings.ToUpper(r.Subject)) }), // in another case
	}
	revoke := func(what string, of token.Holder, want int) {
		t.Helper()
		if n, err := l.RevokeSubject(t.Context(), of); n != want || err != nil {
			t.Errorf("RevokeSubject of %s = %d, %v, want %d", what, n, err, want)
		}
	}
	revoke("an unknown one", l.Of(l.F.NewAccount()), 0)
	revoke("the subject", l.Of(l.Subject), len(mine))
	for _, r := range append(mine, child) {
		l.Spends(t, "one of the subject's, or made by it", r, token.ErrRevoked)
	}
	l.ListsNone(t, "afterwards")
	l.Spends(t, "in another app", inAnotherApp, nil)
	if n, _ := l.RevokeSubject(t.Context(), token.Holder{Org: l.Org, ClientKey: token.Any, Subject: token.Any}); n != 0 {
		t.Errorf("RevokeSubject of any subject of all apps = %d", n)
	}
	account := token.Holder{Org: l.Org, ClientKey: token.Any, Subject: l.Subject}
	revoke("the account in all apps", account, 1)
	revoke("the account again", account, 0)
	l.Spends(t, "in another app, afterwards", inAnotherApp, token.ErrRevoked)
	for _, r := range others {
		l.Spends(t, "another's", r, nil)
	}
}
