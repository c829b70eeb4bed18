package storetest

import (
	"sync/atomic"
	"testing"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

func testRevoke(t *testing.T, l *suite.Ledger) {
	for _, uses := range []int64{0, 2} {
		r := l.Add(t, suite.Limited(uses))
		l.Spends(t, "before", r, nil)
		suite.Expect(t, "Revoke", l.Revoke(t.Context(), l.Of(token.AnySubject), r.ID), nil)
		l.Spends(t, "after", r, token.ErrRevoked)
		suite.Expect(t, "Revoke again", l.Revoke(t.Context(), l.Of(token.AnySubject), r.ID), token.ErrNotFound)
		if ids := l.IDs(t); len(ids) != 0 {
			t.Errorf("listed: %q", ids)
		}
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
			err := l.Revoke(t.Context(), l.Of(token.AnySubject), r.ID)
			revoked.Store(true)
			return err
		})
		suite.Tally(t, errs)
	}
}

func testRevokeOther(t *testing.T, l *suite.Ledger) {
	r, spent := l.Add(t, nil), l.Add(t, suite.Limited(1))
	l.Spends(t, "the one use", spent, nil)
	for what, c := range map[string]struct {
		app, id string
		want    error
	}{
		"an ephemeral token":     {l.App, "", token.ErrEphemeral},
		"an unknown id":          {l.App, suite.Random(), token.ErrNotFound},
		"an id of another app":   {suite.Random(), r.ID, token.ErrNotFound},
		"one that is spent":      {l.App, spent.ID, token.ErrNotFound},
		"an id with a zero byte": {l.App, r.ID + "\x00", token.ErrNotFound},
	} {
		of := token.Holder{Org: l.Org, ClientKey: c.app, Subject: token.AnySubject}
		suite.Expect(t, what, l.Revoke(t.Context(), of, c.id), c.want)
		l.Gets(t, what, of, c.id, c.want)
	}
	l.Spends(t, "afterwards", r, nil)
}

func testRevokeSubject(t *testing.T, l *suite.Ledger) {
	var mine []token.Record
	for range 3 {
		mine = append(mine, l.Add(t, nil))
	}
	mine = append(mine, l.Add(t, func(r *token.Record) { r.KeyID = suite.Random() }))
	mine = append(mine, l.Add(t, suite.Limited(2)))
	used := l.Add(t, suite.Limited(3))
	l.Spends(t, "one use of three", used, nil)
	mine = append(mine, used)
	spent := l.Add(t, suite.Limited(1)) // so it is not live
	l.Spends(t, "the one use", spent, nil)
	others := []token.Record{
		l.Add(t, func(r *token.Record) { r.Subject = l.F.NewAccount() }),
		l.Add(t, func(r *token.Record) { r.ClientKey = suite.Random() }),
	}
	if n, err := l.RevokeSubject(t.Context(), l.Of(l.F.NewAccount())); n != 0 || err != nil {
		t.Errorf("RevokeSubject of an unknown one = %d, %v", n, err)
	}
	if n, err := l.RevokeSubject(t.Context(), l.Of(l.Subject)); n != len(mine) || err != nil {
		t.Errorf("RevokeSubject = %d, %v, want %d", n, err, len(mine))
	}
	for _, r := range mine {
		l.Spends(t, "one of the subject's", r, token.ErrRevoked)
	}
	if ids := l.IDs(t); len(ids) != 0 {
		t.Errorf("listed afterwards: %q", ids)
	}
	for _, r := range others {
		l.Spends(t, "another's", r, nil)
	}
}

func testGet(t *testing.T, l *suite.Ledger) {
	permanent, counted := l.Add(t, nil), l.Add(t, suite.Limited(2))
	child := l.Make(t, counted, nil)
	l.Spends(t, "one of two uses", counted, nil)
	for _, r := range []token.Record{permanent, counted, child, counted} {
		l.Gets(t, "of its subject", r.Holder(), r.ID, nil)
		l.Gets(t, "of any subject", l.Of(token.AnySubject), r.ID, nil)
	}
	l.Spends(t, "the use that Get has left", counted, nil)
	l.Gets(t, "its uses are spent", counted.Holder(), counted.ID, token.ErrNotFound)
	l.Gets(t, "its ancestor's uses are spent", child.Holder(), child.ID, token.ErrNotFound)
	suite.Expect(t, "Revoke", l.Revoke(t.Context(), permanent.Holder(), permanent.ID), nil)
	l.Gets(t, "revoked", permanent.Holder(), permanent.ID, token.ErrNotFound)
}

func testRevokeAccount(t *testing.T, l *suite.Ledger) {
	mine, other := l.Add(t, nil), suite.Random()
	child := l.Make(t, mine, func(r *token.Record) { r.Subject = l.F.NewAccount() })
	spent := l.Add(t, suite.Limited(1))
	l.Spends(t, "the one use", spent, nil)
	app := l.Add(t, func(r *token.Record) { r.ClientKey = other })
	others := []token.Record{
		l.Add(t, func(r *token.Record) { r.Subject = l.F.NewAccount() }),
		l.Add(t, func(r *token.Record) { r.Org = l.F.NewOrg() }),
		l.Add(t, func(r *token.Record) { r.Org, r.ClientKey = l.F.NewOrg(), other }),
	}
	for what, of := range map[string]token.Holder{
		"another account":         {Org: l.Org, ClientKey: token.AnyApp, Subject: l.F.NewAccount()},
		"another org":             {Org: l.F.NewOrg(), ClientKey: token.AnyApp, Subject: l.Subject},
		"no app":                  {Org: l.Org, Subject: l.Subject},
		"any subject of all apps": {Org: l.Org, ClientKey: token.AnyApp, Subject: token.AnySubject},
	} {
		if n, _ := l.RevokeSubject(t.Context(), of); n != 0 {
			t.Errorf("%s: %d records", what, n)
		}
	}
	l.Spends(t, "before", mine, nil)
	for _, want := range []int{2, 0} { // which may be called again
		if n, err := l.RevokeSubject(t.Context(), token.Holder{Org: l.Org, ClientKey: token.AnyApp, Subject: l.Subject}); n != want || err != nil {
			t.Errorf("RevokeSubject = %d, %v, want %d", n, err, want)
		}
	}
	for what, r := range map[string]token.Record{"in one app": mine, "in another": app, "a descendant": child} {
		l.Spends(t, what, r, token.ErrRevoked)
	}
	for _, r := range others {
		l.Spends(t, "another's", r, nil)
	}
	later := l.Add(t, nil)
	l.Spends(t, "issued afterwards", later, nil)
}
