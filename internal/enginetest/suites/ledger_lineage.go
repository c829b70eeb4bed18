package suites

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

func testMadeByExhausted(t *testing.T, l *suite.Ledger) {
	parent := l.Add(t, suite.Limited(2))
	child := l.Make(t, parent, suite.Limited(5))
	grandchild := l.Make(t, child, nil)
	l.Spends(t, "first use of the parent", parent, nil)
	l.Spends(t, "the child", child, nil)
	l.Spends(t, "its child", grandchild, nil)
	l.Spends(t, "last use of the parent", parent, nil)
	l.Dead(t, "the child's child", grandchild)
	l.Dead(t, "the child", child)
	l.Barren(t, "the parent", parent, token.ErrRevoked)
}

func testRevokeMakerRace(t *testing.T, l *suite.Ledger) {
	for round := range 10 {
		row := row(t, l, 2)
		counted := l.Make(t, row[1], suite.Limited(1_000_000))
		var revoked atomic.Bool
		errs := suite.AtOnce(5, func(i int) error {
			switch i {
			case 0:
				err := revokeEither(t, l, row[0], round)
				revoked.Store(true)
				return err
			case 1, 2:
				return l.RefusedAfter(t.Context(), counted, &revoked)
			}
			return l.RefusedAfter(t.Context(), row[1], &revoked)
		})
		suite.Tally(t, errs)
	}
}

// revokeEither revokes a record by itself, or its subject.
func revokeEither(t *testing.T, l *suite.Ledger, r token.Record, round int) error {
	if round%2 == 0 {
		return l.Revoke(t.Context(), l.Of(token.Any), r.ID)
	}
	_, err := l.RevokeSubject(t.Context(), l.Of(r.Subject))
	return err
}

// testRevokeWhileMaking issues children of a record until it is revoked. No child
// may be accepted afterwards.
func testRevokeWhileMaking(t *testing.T, l *suite.Ledger) {
	for round := range 5 {
		row := row(t, l, 2)
		var revoked atomic.Bool
		errs := suite.AtOnce(4, func(i int) error {
			if i == 0 {
				err := revokeEither(t, l, row[0], round)
				revoked.Store(true)
				return err
			}
			return makeUntil(t, l, row[1], &revoked)
		})
		suite.Tally(t, errs)
	}
}

// makeUntil issues children of a record until one is refused, and then spends them.
func makeUntil(t *testing.T, l *suite.Ledger, parent token.Record, ended *atomic.Bool) error {
	var made []token.Record
	for {
		late := ended.Load()
		child := l.Child(parent)
		err := l.Issue(t.Context(), child, nil, suite.Many)
		if err == nil && late {
			return errors.New("made by a token that was revoked")
		}
		if err != nil && !errors.Is(err, token.ErrRevoked) {
			return err
		}
		made = append(made, child)
		if late {
			break
		}
	}
	for _, child := range made {
		if err := l.Use(t.Context(), child); !errors.Is(err, token.ErrRevoked) {
			return fmt.Errorf("a token made by one that was revoked: %w", err)
		}
	}
	return nil
}

func testMakerNames(t *testing.T, l *suite.Ledger) {
	var children []token.Record
	for _, name := range spellings() {
		parent := l.Add(t, func(r *token.Record) { r.ID = name })
		children = append(children, l.Make(t, parent, func(r *token.Record) { r.Maker, r.MakerApp = l.F.AccountNamed(name), name }))
	}
	for i, child := range children {
		suite.Expect(t, "Revoke", l.Revoke(t.Context(), l.Of(token.Any), child.Parent), nil)
		l.Dead(t, fmt.Sprintf("made by %q", child.Parent), child)
		for _, other := range children[i+1:] {
			if got, err := l.Spend(t.Context(), other); got != other.Lineage || err != nil {
				t.Errorf("made by %q, when %q is revoked: %+v, %v", other.Parent, child.Parent, got, err)
			}
		}
	}
}

func testMadeByAnotherApp(t *testing.T, l *suite.Ledger) {
	elsewhere := l.Add(t, func(r *token.Record) { r.ClientKey = suite.Random() })
	foreign := elsewhere
	foreign.ClientKey = l.App
	l.Barren(t, "one of another app", foreign, token.ErrRevoked)

	// Now both apps have a record with this ID.
	here := l.Add(t, func(r *token.Record) { r.ID = elsewhere.ID })
	child := l.Make(t, here, nil)
	theirs := l.Make(t, elsewhere, func(r *token.Record) { r.ClientKey = elsewhere.ClientKey })
	suite.Expect(t, "Revoke", l.Revoke(t.Context(), elsewhere.Holder(), elsewhere.ID), nil)
	l.Spends(t, "made by that of the other app", child, nil)
	l.Dead(t, "made by the revoked one", theirs)
	suite.Expect(t, "Revoke", l.Revoke(t.Context(), l.Of(token.Any), here.ID), nil)
	l.Dead(t, "made by the other, revoked too", child)
}

// testMadeByReplacedKey makes tokens with the key that has followed the one of their maker.
func testMadeByReplacedKey(t *testing.T, l *suite.Ledger) {
	parent, next := l.Add(t, nil), suite.Random()
	for what, c := range map[string]struct {
		verifying []string
		want      error
	}{
		"replaced":                            {nil, token.ErrRevoked},
		"replaced, beside another former key": {[]string{next, suite.Random()}, token.ErrRevoked},
		"rotated":                             {[]string{next, parent.KeyID}, nil},
	} {
		child := l.Child(parent)
		child.KeyID = next
		suite.Expect(t, what, l.Issue(t.Context(), child, c.verifying, suite.Many), c.want)
		if c.want != nil {
			l.Spends(t, what+": the child", child, token.ErrRevoked)
			continue
		}
		l.Spends(t, what+": the child", child, nil)
		suite.Expect(t, "Revoke", l.Revoke(t.Context(), parent.Holder(), parent.ID), nil)
		l.Spends(t, what+", made by a revoked one", child, token.ErrRevoked)
		parent = l.Add(t, nil)
	}
}

// testDeadAncestorCostsNoUse spends more often than there are uses. If refused
// calls took a use, the last ones would return ErrExhausted.
func testDeadAncestorCostsNoUse(t *testing.T, l *suite.Ledger) {
	row := row(t, l, 2)
	child := l.Make(t, row[1], suite.Limited(3))
	l.Spends(t, "before", child, nil)
	suite.Expect(t, "Revoke", l.Revoke(t.Context(), l.Of(token.Any), row[0].ID), nil)
	for range 5 {
		if err := l.Use(t.Context(), child); errors.Is(err, token.ErrExhausted) || !errors.Is(err, token.ErrRevoked) {
			t.Errorf("Spend: error %v, want ErrRevoked", err)
		}
	}
	l.Dead(t, "the child", child)
}
