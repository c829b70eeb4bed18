package suites

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

// generate gives an app a new pair and removes it after the test.
func (k *keys) generate(t *testing.T, app string) *token.PublicKey {
	t.Helper()
	public, err := k.Generate(t.Context(), k.org, app)
	if err != nil {
		t.Fatalf("Generate: %v", err)
	}
	t.Cleanup(func() { k.Delete(context.WithoutCancel(t.Context()), k.org, app) })
	return public
}

func (k *keys) rotate(t *testing.T, app string, overlap time.Duration) *token.PublicKey {
	t.Helper()
	public, err := k.Rotate(t.Context(), k.org, app, overlap)
	if err != nil {
		t.Fatalf("Rotate: %v", err)
	}
	return public
}

// verifying fails unless the app's present key is present and its former keys are
// formers, in any order.
func (k *keys) verifying(t *testing.T, what, app, present string, formers ...string) {
	t.Helper()
	pair, err := k.Signer(t.Context(), app)
	if err != nil {
		t.Fatalf("%s: Signer: %v", what, err)
	}
	if got := slices.Sorted(slices.Values(pair.Former)); pair.KeyID != present || !slices.Equal(got, slices.Sorted(slices.Values(formers))) {
		t.Errorf("%s: the present key is %s and the former keys are %q, want %s and %q", what, pair.KeyID, got, present, formers)
	}
	if err := pair.Validate(); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	for _, kid := range append(formers, present) {
		if public := k.public(t, what, kid, nil); public != nil && public.Ends.IsZero() != (kid == present) {
			t.Errorf("%s: %s ends at %v", what, kid, public.Ends)
		}
	}
}

func testRotated(t *testing.T, k *keys) {
	first := k.put(t, suite.Random())
	app, began := first.ClientKey, k.f.Time()
	second, rotated := k.rotate(t, app, suite.Brief), k.f.Time()
	if second.KeyID == first.KeyID || second.ClientKey != app || second.Org != k.org || !second.Ends.IsZero() || second.Validate() != nil {
		t.Errorf("Rotate = %+v", second)
	}
	k.verifying(t, "after a rotation", app, second.KeyID, first.KeyID)
	former := k.public(t, "the former key", first.KeyID, nil)
	if !former.Key.Equal(first.Key) || former.ClientKey != app || former.Org != k.org || former.Validate() != nil {
		t.Errorf("the former key: %+v", former)
	}
	// The engine's clock may differ from this one.
	if ends := former.Ends.Add(-suite.Brief); ends.Before(began.Add(-2*time.Second)) || ends.After(rotated.Add(5*time.Second)) {
		t.Errorf("the former key ends at %v, want %v after the rotation from %v to %v", former.Ends, suite.Brief, began, rotated)
	}
	third := k.rotate(t, app, time.Hour)
	k.verifying(t, "after another", app, third.KeyID, first.KeyID, second.KeyID)
	if again := k.public(t, "the first key", first.KeyID, nil); !again.Ends.Equal(former.Ends) {
		t.Errorf("the former key ends at %v, before at %v", again.Ends, former.Ends)
	}
	k.f.Wait(former.Ends.Sub(k.f.Time()) + 50*time.Millisecond)
	k.public(t, "at its end", first.KeyID, token.ErrNotFound)
	k.verifying(t, "after that end", app, third.KeyID, second.KeyID)
}

func testOverlapRange(t *testing.T, k *keys) {
	pair := k.put(t, suite.Random())
	for _, overlap := range []time.Duration{-time.Hour, 0, time.Second - 1, token.MaxOverlap + 1} {
		_, err := k.Rotate(t.Context(), k.org, pair.ClientKey, overlap)
		suite.Expect(t, fmt.Sprint("an overlap of ", overlap), err, token.ErrOverlap)
	}
	_, err := k.Rotate(t.Context(), k.org, suite.Random(), time.Hour)
	suite.Expect(t, "an app without a pair", err, token.ErrNotFound)
	for _, name := range []string{"", "\x00", "\xff", "a b"} {
		_, err := k.Rotate(t.Context(), k.org, name, time.Hour)
		suite.Expect(t, fmt.Sprintf("the client key %q", name), err, token.ErrNotFound)
	}
	k.verifying(t, "afterwards", pair.ClientKey, pair.KeyID)
	second := k.rotate(t, pair.ClientKey, token.MaxOverlap)
	k.verifying(t, "the longest overlap", pair.ClientKey, second.KeyID, pair.KeyID)
}

func testMostFormers(t *testing.T, k *keys) {
	first := k.put(t, suite.Random())
	app, kids := first.ClientKey, []string{k.rotate(t, first.ClientKey, suite.Brief).KeyID}
	// What has ended takes no place.
	k.f.Wait(k.public(t, "the first", first.KeyID, nil).Ends.Sub(k.f.Time()) + 50*time.Millisecond)
	for len(kids) <= token.MaxFormers {
		kids = append(kids, k.rotate(t, app, time.Hour).KeyID)
	}
	_, err := k.Rotate(t.Context(), k.org, app, time.Hour)
	suite.Expect(t, "one more", err, token.ErrFormers)
	last := len(kids) - 1
	k.verifying(t, "afterwards", app, kids[last], kids[:last]...)
	kid := k.generate(t, app).KeyID
	k.verifying(t, "after Generate", app, kid)
	k.verifying(t, "a rotation after that", app, k.rotate(t, app, time.Hour).KeyID, kid)
}

// testFormersEnd replaces or deletes a pair that has a former key. All tokens of the app
// must end at once, and those of other apps must not.
func testFormersEnd(t *testing.T, k *keys) {
	beside := k.put(t, suite.Random())
	presentBeside := k.rotate(t, beside.ClientKey, time.Hour)
	another := func(what string) {
		t.Helper()
		k.verifying(t, what+": another app", beside.ClientKey, presentBeside.KeyID, beside.KeyID)
	}
	for what, end := range map[string]func(app string) error{
		"Put":      func(app string) error { return k.Put(t.Context(), k.pair(t, app)) },
		"Generate": func(app string) error { _, err := k.Generate(t.Context(), k.org, app); return err },
		"Delete":   func(app string) error { return k.Delete(t.Context(), k.org, app) },
	} {
		first := k.put(t, suite.Random())
		second := k.rotate(t, first.ClientKey, time.Hour)
		another("Rotate")
		suite.Expect(t, what, end(first.ClientKey), nil)
		another(what)
		k.public(t, what+": the former key", first.KeyID, token.ErrNotFound)
		k.public(t, what+": the present key", second.KeyID, token.ErrNotFound)
		third := k.generate(t, first.ClientKey)
		k.public(t, what+" and another pair: the former key", first.KeyID, token.ErrNotFound)
		k.verifying(t, what+" and another pair", first.ClientKey, third.KeyID)
	}
	first := k.put(t, suite.Random())
	second := k.rotate(t, first.ClientKey, time.Hour)
	suite.Expect(t, "Put of the former pair", k.Put(t.Context(), first), nil)
	k.verifying(t, "Put of the former pair", first.ClientKey, first.KeyID)
	k.public(t, "the key between", second.KeyID, token.ErrNotFound)
}

func testFormerHasOwner(t *testing.T, k *keys) {
	first := k.put(t, suite.Random())
	k.rotate(t, first.ClientKey, suite.Brief)
	thief := *first
	thief.ClientKey, thief.Org = suite.Random(), token.OrgKey(suite.Random())
	suite.Expect(t, "the former pair of another app", k.Put(t.Context(), &thief), token.ErrBadKey)
	former := k.public(t, "the former key", first.KeyID, nil)
	if former.ClientKey != first.ClientKey {
		t.Error("the former key has moved")
	}
	k.f.Wait(former.Ends.Sub(k.f.Time()) + 50*time.Millisecond)
	suite.Expect(t, "once it has ended", k.Put(t.Context(), &thief), nil)
	_, err := k.Rotate(t.Context(), thief.Org, thief.ClientKey, time.Hour)
	suite.Expect(t, "and is a former key of the new owner", err, nil)
	kid := k.rotate(t, first.ClientKey, time.Hour).KeyID
	if public := k.public(t, "the new owner's", first.KeyID, nil); public != nil && public.ClientKey != thief.ClientKey {
		t.Error("it is not the new owner's")
	}
	suite.Expect(t, "Delete", k.Delete(t.Context(), k.org, first.ClientKey), nil)
	k.public(t, "the new owner's", first.KeyID, nil)
	k.public(t, "the deleted one", kid, token.ErrNotFound)
	suite.Expect(t, "Delete", k.Delete(t.Context(), thief.Org, thief.ClientKey), nil)
}

func testRotateRace(t *testing.T, k *keys) {
	first := k.put(t, suite.Random())
	made := make([]string, 4)
	errs := suite.AtOnce(len(made), func(i int) error {
		public, err := k.Rotate(t.Context(), k.org, first.ClientKey, time.Hour)
		if err == nil {
			made[i] = public.KeyID
		}
		return err
	})
	suite.Tally(t, errs)
	pair, err := k.Signer(t.Context(), first.ClientKey)
	if err != nil {
		t.Fatal(err)
	}
	formers := slices.DeleteFunc(append(made, first.KeyID), func(kid string) bool { return kid == pair.KeyID })
	k.verifying(t, "afterwards", first.ClientKey, pair.KeyID, formers...)
	if len(formers) != 4 {
		t.Errorf("%d former keys, want 4", len(formers))
	}
}

// testRotateWhileReading looks for a moment in which the app has no key, or a key is
// unknown.
func testRotateWhileReading(t *testing.T, k *keys) {
	first := k.put(t, suite.Random())
	suite.Expect(t, "Expose", k.Expose(t.Context(), k.org, first.ClientKey, true), nil)
	var rotated atomic.Bool
	errs := suite.AtOnce(4, func(i int) error {
		if i == 0 {
			defer rotated.Store(true)
			_, err := k.Rotate(t.Context(), k.org, first.ClientKey, time.Hour)
			return err
		}
		for late := false; !late; {
			late = rotated.Load()
			public, err := k.Public(t.Context(), first.KeyID)
			if err != nil {
				return err
			}
			pair, err := k.Signer(t.Context(), first.ClientKey)
			if err != nil {
				return err
			}
			list, err := k.Exposed(t.Context(), k.org)
			if err != nil {
				return err
			}
			if late && (public.Ends.IsZero() || pair.KeyID == first.KeyID) {
				return errors.New("the pair before is found after it was rotated")
			}
			if (pair.KeyID == first.KeyID) != (len(pair.Former) == 0) || len(list) != 1 && len(list) != 2 {
				return fmt.Errorf("neither before nor after: %d former keys, %d exposed ones", len(pair.Former), len(list))
			}
		}
		return nil
	})
	suite.Tally(t, errs)
}

func testFormersExposed(t *testing.T, k *keys) {
	exposed := func(what string, want ...string) {
		t.Helper()
		list, err := k.Exposed(t.Context(), k.org)
		if err != nil {
			t.Fatal(err)
		}
		var kids []string
		for _, public := range list {
			kids = append(kids, public.KeyID)
			if !public.Exposed || public.Org != k.org || public.Validate() != nil {
				t.Errorf("listed: %+v", public)
			}
		}
		if !slices.Equal(kids, want) {
			t.Errorf("%s: exposed %q, want %q", what, kids, want)
		}
	}
	other := k.pair(t, "b"+suite.Random())
	other.Exposed = true
	suite.Expect(t, "Put", k.Put(t.Context(), other), nil)
	first := k.put(t, "a"+suite.Random())
	app := first.ClientKey
	second := k.rotate(t, app, time.Hour)
	exposed("not exposed", other.KeyID)
	suite.Expect(t, "Expose", k.Expose(t.Context(), k.org, app, true), nil)
	exposed("exposed", second.KeyID, first.KeyID, other.KeyID)
	third := k.rotate(t, app, suite.Brief)
	exposed("rotated again", third.KeyID, first.KeyID, second.KeyID, other.KeyID)
	if public := k.public(t, "a former key", first.KeyID, nil); public != nil && !public.Exposed {
		t.Error("a former key is not exposed")
	}
	k.f.Wait(k.public(t, "the second", second.KeyID, nil).Ends.Sub(k.f.Time()) + 50*time.Millisecond)
	exposed("after an end", third.KeyID, first.KeyID, other.KeyID)
	suite.Expect(t, "Expose no longer", k.Expose(t.Context(), k.org, app, false), nil)
	exposed("hidden", other.KeyID)
	suite.Expect(t, "Expose", k.Expose(t.Context(), k.org, app, true), nil)
	fourth := k.generate(t, app)
	exposed("replaced", fourth.KeyID, other.KeyID)
}

// testKeysOfAnotherOrg calls each verb with a client key of another org.
func testKeysOfAnotherOrg(t *testing.T, k *keys) {
	former := k.put(t, suite.Random())
	app, rival := former.ClientKey, suite.Random()
	present := k.rotate(t, app, time.Hour).KeyID
	theirs := k.pair(t, app)
	theirs.Org = token.OrgKey(rival)
	suite.Expect(t, "Put", k.Put(t.Context(), theirs), token.ErrBadKey)
	same := *former
	same.Org = token.OrgKey(rival)
	suite.Expect(t, "Put of the same pair", k.Put(t.Context(), &same), token.ErrBadKey)
	_, err := k.Generate(t.Context(), auth.OrgKey(rival), app)
	suite.Expect(t, "Generate", err, token.ErrBadKey)
	_, err = k.Ensure(t.Context(), auth.OrgKey(rival), app)
	suite.Expect(t, "Ensure", err, token.ErrBadKey)
	_, err = k.Rotate(t.Context(), auth.OrgKey(rival), app, time.Hour)
	suite.Expect(t, "Rotate", err, token.ErrNotFound)
	suite.Expect(t, "Delete", k.Delete(t.Context(), auth.OrgKey(rival), app), token.ErrNotFound)
	suite.Expect(t, "Expose", k.Expose(t.Context(), auth.OrgKey(rival), app, true), token.ErrNotFound)
	for _, org := range []string{"", "\x00", "\xff"} {
		_, err = k.Rotate(t.Context(), auth.OrgKey(org), app, time.Hour)
		suite.Expect(t, fmt.Sprintf("Rotate of the org %q", org), err, token.ErrNotFound)
		suite.Expect(t, fmt.Sprintf("Delete of the org %q", org), k.Delete(t.Context(), auth.OrgKey(org), app), token.ErrNotFound)
		suite.Expect(t, fmt.Sprintf("Expose of the org %q", org), k.Expose(t.Context(), auth.OrgKey(org), app, true), token.ErrNotFound)
	}
	k.public(t, "their pair", theirs.KeyID, token.ErrNotFound)
	k.verifying(t, "afterwards", app, present, former.KeyID)
	if public := k.public(t, "the owner's", present, nil); public != nil && (public.Org != k.org || public.Exposed) {
		t.Errorf("afterwards: %+v", public)
	}
	suite.Expect(t, "Delete by the owner", k.Delete(t.Context(), k.org, app), nil)
	suite.Expect(t, "once it is free", k.Put(t.Context(), theirs), nil)
	suite.Expect(t, "Delete", k.Delete(t.Context(), auth.OrgKey(rival), app), nil)
}

// testEnsureRace ensures the pair of an app several times at once, twice: the pair is deleted
// between. A pair that is there stays, with its former keys and its exposure.
func testEnsureRace(t *testing.T, k *keys) {
	app, before := suite.Random(), ""
	for range 2 {
		kids := make([]string, 6)
		errs := suite.AtOnce(len(kids), func(i int) error {
			public, err := k.Ensure(t.Context(), k.org, app)
			if err == nil {
				kids[i] = public.KeyID
			}
			return err
		})
		for i, err := range errs {
			suite.Expect(t, "Ensure", err, nil)
			if kids[i] != kids[0] || kids[i] == before {
				t.Errorf("the keys %q, after %q", kids, before)
			}
		}
		pair, err := k.Signer(t.Context(), app)
		if err != nil || pair.KeyID != kids[0] || pair.Org != k.org || pair.Exposed {
			t.Fatalf("Signer = %+v, %v", pair, err)
		}
		before = kids[0]
		suite.Expect(t, "Delete", k.Delete(t.Context(), k.org, app), nil)
	}
	former := k.put(t, suite.Random())
	app = former.ClientKey
	suite.Expect(t, "Expose", k.Expose(t.Context(), k.org, app, true), nil)
	present := k.rotate(t, app, time.Hour).KeyID
	public, err := k.Ensure(t.Context(), k.org, app)
	if err != nil || public.KeyID != present || !public.Exposed || public.Org != k.org || public.ClientKey != app {
		t.Errorf("Ensure = %+v, %v", public, err)
	}
	k.verifying(t, "afterwards", app, present, former.KeyID)
	for _, bad := range []string{"", "a b", "\x00", "\xff"} {
		_, err := k.Ensure(t.Context(), k.org, bad)
		suite.Expect(t, fmt.Sprintf("Ensure of %q", bad), err, token.ErrBadKey)
	}
}
