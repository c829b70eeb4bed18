package suites

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

func testHoldersLikeIt(t *testing.T, l *suite.Ledger) {
	r, counted := l.Add(t, nil), l.Add(t, suite.Limited(2))
	child := l.Make(t, r, nil)
	mine := r.Holder()
	others := []token.Holder{
		{Org: l.F.NewOrg(), ClientKey: mine.ClientKey, Subject: mine.Subject},
		{Org: "", ClientKey: mine.ClientKey, Subject: mine.Subject},
		{Org: mine.Org, ClientKey: suite.Random(), Subject: mine.Subject},
		{Org: mine.Org, ClientKey: mine.ClientKey, Subject: l.F.NewAccount()},
	}
	if l.F.Org == nil {
		others = append(others,
			token.Holder{Org: mine.Org + "\x00", ClientKey: mine.ClientKey, Subject: mine.Subject},
			token.Holder{Org: mine.Org + "\xff", ClientKey: mine.ClientKey, Subject: mine.Subject})
	}
	for _, of := range others {
		what := fmt.Sprintf("%q", of)
		suite.Expect(t, what+": Revoke", l.Revoke(t.Context(), of, r.ID), token.ErrNotFound)
		l.Gets(t, what, of, r.ID, token.ErrNotFound)
		if list, _, err := l.List(t.Context(), of, token.Position{}, token.MaxPage); len(list) != 0 || err != nil {
			t.Errorf("%s: List = %+v, %v", what, list, err)
		}
		if n, err := l.RevokeSubject(t.Context(), of); n != 0 || err != nil {
			t.Errorf("%s: RevokeSubject = %d, %v", what, n, err)
		}
	}
	rival := mine
	rival.Org, rival.Subject = l.F.NewOrg(), token.AnySubject
	suite.Expect(t, "another org, any subject", l.Revoke(t.Context(), rival, r.ID), token.ErrNotFound)
	l.Gets(t, "another org, any subject", rival, r.ID, token.ErrNotFound)
	nobody := mine
	nobody.Subject = ""
	suite.Expect(t, "the zero principal", l.Revoke(t.Context(), nobody, r.ID), token.ErrNotFound)
	l.Gets(t, "the zero principal", nobody, r.ID, token.ErrNotFound)
	if n, err := l.RevokeSubject(t.Context(), l.Of(token.AnySubject)); n != 0 {
		t.Errorf("RevokeSubject of any subject = %d, %v", n, err)
	}
	for _, r := range []token.Record{r, counted, child} {
		l.Spends(t, "afterwards", r, nil)
	}

	// Two orgs may have had the client key, one after the other.
	theirs := l.Add(t, func(r *token.Record) { r.Org = l.F.NewOrg() })
	if got := l.All(t, l.App, l.Subject); slices.ContainsFunc(got, func(r token.Record) bool { return r.ID == theirs.ID }) || len(got) != 2 {
		t.Errorf("List = %+v", got)
	}
	if n, err := l.RevokeSubject(t.Context(), mine); n != 2 || err != nil {
		t.Errorf("RevokeSubject = %d, %v, want 2", n, err)
	}
	l.Spends(t, "of the other org", theirs, nil)
	if list, _, err := l.List(t.Context(), theirs.Holder(), token.Position{}, token.MaxPage); len(list) != 1 || err != nil || list[0].ID != theirs.ID || list[0].Org != theirs.Org {
		t.Errorf("List of the other org = %+v, %v", list, err)
	}
	suite.Expect(t, "Revoke of its app and subject", l.Revoke(t.Context(), theirs.Holder(), theirs.ID), nil)
	l.Spends(t, "revoked", theirs, token.ErrRevoked)
	l.Spends(t, "made by a revoked one", child, token.ErrRevoked)
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
