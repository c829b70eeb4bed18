package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/tenantkit/tenantkit/token"
)

func testRevoke(t *testing.T, l *ledger) {
	for _, uses := range []int64{0, 2} {
		r := l.issue(t, limited(uses))
		l.spend(t, "before", r, nil)
		expect(t, "Revoke", l.Revoke(t.Context(), l.of(token.AnySubject), r.ID), nil)
		l.spend(t, "after", r, token.ErrRevoked)
		expect(t, "Revoke again", l.Revoke(t.Context(), l.of(token.AnySubject), r.ID), token.ErrNotFound)
		if ids := l.ids(t); len(ids) != 0 {
			t.Errorf("listed: %q", ids)
		}
	}
}

// refusedAfter spends r until it is refused. It fails if a call is accepted that
// began after ended was set.
func (l *ledger) refusedAfter(ctx context.Context, r token.Record, ended *atomic.Bool) error {
	for {
		late := ended.Load()
		err := l.use(ctx, r)
		switch {
		case late && err == nil:
			return fmt.Errorf("accepted after it was revoked")
		case late && errors.Is(err, token.ErrRevoked):
			return nil
		case err != nil && !errors.Is(err, token.ErrRevoked):
			return err
		}
	}
}

func testRevokeRace(t *testing.T, l *ledger) {
	for round := range 10 {
		r := l.issue(t, limited(int64(round%2*1_000_000_000)))
		var revoked atomic.Bool
		errs := atOnce(4, func(i int) error {
			if i > 0 {
				return l.refusedAfter(t.Context(), r, &revoked)
			}
			err := l.Revoke(t.Context(), l.of(token.AnySubject), r.ID)
			revoked.Store(true)
			return err
		})
		tally(t, errs)
	}
}

func testRevokeOther(t *testing.T, l *ledger) {
	r, spent := l.issue(t, nil), l.issue(t, limited(1))
	l.spend(t, "the one use", spent, nil)
	for what, c := range map[string]struct {
		app, id string
		want    error
	}{
		"an ephemeral token":     {l.app, "", token.ErrEphemeral},
		"an unknown id":          {l.app, random(), token.ErrNotFound},
		"an id of another app":   {random(), r.ID, token.ErrNotFound},
		"one that is spent":      {l.app, spent.ID, token.ErrNotFound},
		"an id with a zero byte": {l.app, r.ID + "\x00", token.ErrNotFound},
	} {
		of := token.Holder{Org: l.org, ClientKey: c.app, Subject: token.AnySubject}
		expect(t, what, l.Revoke(t.Context(), of, c.id), c.want)
		l.get(t, what, of, c.id, c.want)
	}
	l.spend(t, "afterwards", r, nil)
}

func testRevokeSubject(t *testing.T, l *ledger) {
	var mine []token.Record
	for range 3 {
		mine = append(mine, l.issue(t, nil))
	}
	mine = append(mine, l.issue(t, func(r *token.Record) { r.KeyID = random() }))
	mine = append(mine, l.issue(t, limited(2)))
	used := l.issue(t, limited(3))
	l.spend(t, "one use of three", used, nil)
	mine = append(mine, used)
	spent := l.issue(t, limited(1)) // so it is not live
	l.spend(t, "the one use", spent, nil)
	others := []token.Record{
		l.issue(t, func(r *token.Record) { r.Subject = l.f.account() }),
		l.issue(t, func(r *token.Record) { r.ClientKey = random() }),
	}
	if n, err := l.RevokeSubject(t.Context(), l.of(l.f.account())); n != 0 || err != nil {
		t.Errorf("RevokeSubject of an unknown one = %d, %v", n, err)
	}
	if n, err := l.RevokeSubject(t.Context(), l.of(l.subject)); n != len(mine) || err != nil {
		t.Errorf("RevokeSubject = %d, %v, want %d", n, err, len(mine))
	}
	for _, r := range mine {
		l.spend(t, "one of the subject's", r, token.ErrRevoked)
	}
	if ids := l.ids(t); len(ids) != 0 {
		t.Errorf("listed afterwards: %q", ids)
	}
	for _, r := range others {
		l.spend(t, "another's", r, nil)
	}
}

// get expects the record that List has, or an error and the zero Record.
func (l *ledger) get(t *testing.T, what string, of token.Holder, id string, want error) {
	t.Helper()
	got, err := l.Get(t.Context(), of, id)
	expect(t, what+": Get", err, want)
	if want != nil && got != (token.Record{}) {
		t.Errorf("%s: Get = %+v beside an error", what, got)
	}
	if want != nil {
		return
	}
	listed := l.list(t, of.ClientKey, got.Subject)
	if got.ID != id || !slices.Contains(listed, got) {
		t.Errorf("%s: Get = %+v, but List has %+v", what, got, listed)
	}
}

func testGet(t *testing.T, l *ledger) {
	permanent, counted := l.issue(t, nil), l.issue(t, limited(2))
	child := l.make(t, counted, nil)
	l.spend(t, "one of two uses", counted, nil)
	for _, r := range []token.Record{permanent, counted, child, counted} {
		l.get(t, "of its subject", r.Holder(), r.ID, nil)
		l.get(t, "of any subject", l.of(token.AnySubject), r.ID, nil)
	}
	l.spend(t, "the use that Get has left", counted, nil)
	l.get(t, "its uses are spent", counted.Holder(), counted.ID, token.ErrNotFound)
	l.get(t, "its ancestor's uses are spent", child.Holder(), child.ID, token.ErrNotFound)
	expect(t, "Revoke", l.Revoke(t.Context(), permanent.Holder(), permanent.ID), nil)
	l.get(t, "revoked", permanent.Holder(), permanent.ID, token.ErrNotFound)
}

func testRevokeAccount(t *testing.T, l *ledger) {
	mine, other := l.issue(t, nil), random()
	child := l.make(t, mine, func(r *token.Record) { r.Subject = l.f.account() })
	spent := l.issue(t, limited(1))
	l.spend(t, "the one use", spent, nil)
	app := l.issue(t, func(r *token.Record) { r.ClientKey = other })
	others := []token.Record{
		l.issue(t, func(r *token.Record) { r.Subject = l.f.account() }),
		l.issue(t, func(r *token.Record) { r.Org = l.f.org() }),
		l.issue(t, func(r *token.Record) { r.Org, r.ClientKey = l.f.org(), other }),
	}
	for what, of := range map[string]token.Holder{
		"another account":         {Org: l.org, ClientKey: token.AnyApp, Subject: l.f.account()},
		"another org":             {Org: l.f.org(), ClientKey: token.AnyApp, Subject: l.subject},
		"no app":                  {Org: l.org, Subject: l.subject},
		"any subject of all apps": {Org: l.org, ClientKey: token.AnyApp, Subject: token.AnySubject},
	} {
		if n, _ := l.RevokeSubject(t.Context(), of); n != 0 {
			t.Errorf("%s: %d records", what, n)
		}
	}
	l.spend(t, "before", mine, nil)
	for _, want := range []int{2, 0} { // which may be called again
		if n, err := l.RevokeSubject(t.Context(), token.Holder{Org: l.org, ClientKey: token.AnyApp, Subject: l.subject}); n != want || err != nil {
			t.Errorf("RevokeSubject = %d, %v, want %d", n, err, want)
		}
	}
	for what, r := range map[string]token.Record{"in one app": mine, "in another": app, "a descendant": child} {
		l.spend(t, what, r, token.ErrRevoked)
	}
	for _, r := range others {
		l.spend(t, "another's", r, nil)
	}
	later := l.issue(t, nil)
	l.spend(t, "issued afterwards", later, nil)
}
