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
	if l.F.Org == nil {
		for _, suffix := range []token.OrgKey{"\x00", "\xff"} {
			of := mine
			of.Org += suffix
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
	}
	for _, r := range []token.Record{r, counted, child} {
		l.Spends(t, "afterwards", r, nil)
	}

	// Two orgs may have had the client key, one after the other.
	theirs := l.Add(t, func(r *token.Record) { r.Org = l.F.NewOrg() })
	if got := l.Pages(t, l.Of(l.Subject), token.MaxPage); slices.ContainsFunc(got, func(r token.Record) bool { return r.ID == theirs.ID }) || len(got) != 2 {
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
