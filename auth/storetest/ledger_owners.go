package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/token"
)

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

func testOtherHolders(t *testing.T, l *ledger) {
	r, counted := l.issue(t, nil), l.issue(t, limited(2))
	child := l.make(t, r, nil)
	mine := r.Holder()
	others := []token.Holder{
		{Org: l.f.org(), ClientKey: mine.ClientKey, Subject: mine.Subject},
		{Org: "", ClientKey: mine.ClientKey, Subject: mine.Subject},
		{Org: mine.Org, ClientKey: random(), Subject: mine.Subject},
		{Org: mine.Org, ClientKey: mine.ClientKey, Subject: l.f.account()},
	}
	if l.f.Org == nil {
		others = append(others,
			token.Holder{Org: mine.Org + "\x00", ClientKey: mine.ClientKey, Subject: mine.Subject},
			token.Holder{Org: mine.Org + "\xff", ClientKey: mine.ClientKey, Subject: mine.Subject})
	}
	for _, of := range others {
		what := fmt.Sprintf("%q", of)
		expect(t, what+": Revoke", l.Revoke(t.Context(), of, r.ID), token.ErrNotFound)
		l.get(t, what, of, r.ID, token.ErrNotFound)
		if list, _, err := l.List(t.Context(), of, token.Position{}, token.MaxPage); len(list) != 0 || err != nil {
			t.Errorf("%s: List = %+v, %v", what, list, err)
		}
		if n, err := l.RevokeSubject(t.Context(), of); n != 0 || err != nil {
			t.Errorf("%s: RevokeSubject = %d, %v", what, n, err)
		}
	}
	rival := mine
	rival.Org, rival.Subject = l.f.org(), token.AnySubject
	expect(t, "another org, any subject", l.Revoke(t.Context(), rival, r.ID), token.ErrNotFound)
	l.get(t, "another org, any subject", rival, r.ID, token.ErrNotFound)
	nobody := mine
	nobody.Subject = ""
	expect(t, "the zero principal", l.Revoke(t.Context(), nobody, r.ID), token.ErrNotFound)
	l.get(t, "the zero principal", nobody, r.ID, token.ErrNotFound)
	if n, err := l.RevokeSubject(t.Context(), l.of(token.AnySubject)); n != 0 {
		t.Errorf("RevokeSubject of any subject = %d, %v", n, err)
	}
	for _, r := range []token.Record{r, counted, child} {
		l.spend(t, "afterwards", r, nil)
	}

	// Two orgs may have had the client key, one after the other.
	theirs := l.issue(t, func(r *token.Record) { r.Org = l.f.org() })
	if got := l.list(t, l.app, l.subject); slices.ContainsFunc(got, func(r token.Record) bool { return r.ID == theirs.ID }) || len(got) != 2 {
		t.Errorf("List = %+v", got)
	}
	if n, err := l.RevokeSubject(t.Context(), mine); n != 2 || err != nil {
		t.Errorf("RevokeSubject = %d, %v, want 2", n, err)
	}
	l.spend(t, "of the other org", theirs, nil)
	if list, _, err := l.List(t.Context(), theirs.Holder(), token.Position{}, token.MaxPage); len(list) != 1 || err != nil || list[0].ID != theirs.ID || list[0].Org != theirs.Org {
		t.Errorf("List of the other org = %+v, %v", list, err)
	}
	expect(t, "Revoke of its app and subject", l.Revoke(t.Context(), theirs.Holder(), theirs.ID), nil)
	l.spend(t, "revoked", theirs, token.ErrRevoked)
	l.spend(t, "made by a revoked one", child, token.ErrRevoked)
}

func testNoSubject(t *testing.T, l *ledger) {
	r := l.issue(t, nil)
	if n, err := l.RevokeSubject(t.Context(), l.of("")); n != 0 || err == nil {
		t.Errorf("RevokeSubject = %d, %v, want an error", n, err)
	}
	if list, _, err := l.List(t.Context(), l.of(""), token.Position{}, token.MaxPage); len(list) != 0 || err != nil {
		t.Errorf("List = %+v, %v, want none", list, err)
	}
	l.spend(t, "afterwards", r, nil)
}
