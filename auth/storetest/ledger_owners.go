package storetest

import (
	"fmt"
	"testing"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

func testOtherHolders(t *testing.T, l *suite.Ledger) {
	r, mine := l.Add(t, nil), l.Of(l.Subject)
	for _, of := range []token.Holder{
		{Org: l.F.NewOrg(), ClientKey: mine.ClientKey, Subject: mine.Subject},
		{Org: l.F.NewOrg(), ClientKey: mine.ClientKey, Subject: token.AnySubject},
		{Org: "", ClientKey: mine.ClientKey, Subject: mine.Subject},
		{Org: mine.Org, ClientKey: suite.Random(), Subject: mine.Subject},
		{Org: mine.Org, ClientKey: mine.ClientKey, Subject: l.F.NewAccount()},
		{Org: mine.Org, ClientKey: mine.ClientKey, Subject: ""},
		{Org: "", ClientKey: mine.ClientKey, Subject: token.AnySubject},
		{Org: mine.Org, ClientKey: "", Subject: token.AnySubject},
		{Org: mine.Org, ClientKey: "", Subject: mine.Subject},
		{Org: mine.Org, ClientKey: suite.Random(), Subject: token.AnySubject},
	} {
		what := fmt.Sprintf("%q", of)
		suite.Expect(t, what+": Revoke", l.Revoke(t.Context(), of, r.ID), token.ErrNotFound)
		l.Gets(t, what, of, r.ID, token.ErrNotFound)
		if list, _, err := l.List(t.Context(), of, token.Position{}, token.MaxPage); len(list) != 0 || err != nil {
			t.Errorf("%s: List = %+v, %v", what, list, err)
		}
		if n, err := l.RevokeSubject(t.Context(), of); n != 0 || err == nil && of.Subject == "" {
			t.Errorf("%s: RevokeSubject = %d, %v", what, n, err)
		}
	}
	if n, _ := l.RevokeSubject(t.Context(), l.Of(token.AnySubject)); n != 0 {
		t.Errorf("RevokeSubject of any subject = %d", n)
	}
	l.Spends(t, "afterwards", r, nil)
}
