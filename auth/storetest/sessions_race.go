package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/internal/suite"
)

func (t *sessionTest) raceCreate() {
	const limit = 3
	var all [suite.Crowd]session.Session
	for i := range all {
		all[i] = t.one("ann")
	}
	suite.Tally(t.T, suite.AtOnce(len(all), func(i int) error { return t.store.Create(t.Context(), all[i], limit) }))
	var living []session.Session
	for _, s := range all {
		_, err := t.store.Get(t.Context(), s.Org, s.Hash)
		switch {
		case err == nil:
			living = append(living, s)
		case !errors.Is(err, session.ErrEvicted):
			t.Errorf("Get: %v", err)
		}
	}
	if len(living) != limit {
		t.Errorf("%d records live, want %d", len(living), limit)
	}
	t.lists(t.org, "ann", living...)
}

func (t *sessionTest) raceReplace() {
	s := t.one("ann")
	t.create(0, s)
	var next [suite.Crowd]session.Session
	for i := range next {
		next[i] = s
		next[i].Hash, next[i].Seen = newHash(), s.Seen.Add(time.Duration(i)*time.Second)
	}
	errs := suite.AtOnce(len(next), func(i int) error { return t.store.Replace(t.Context(), s.Org, s.Hash, next[i]) })
	won := suite.Winner(t.T, errs, auth.ErrNotFound)
	for i := range next {
		if i != won {
			t.ends(auth.ErrNotFound, next[i])
		}
	}
	t.ends(auth.ErrNotFound, s)
	t.lives(next[won])
	t.lists(t.org, "ann", next[won])
}

// raceDeleteID redeems a ticket many times: whoever gets nil may go on.
func (t *sessionTest) raceDeleteID() {
	s := t.ticket("ann")
	t.create(0, s)
	errs := suite.AtOnce(suite.Crowd, func(int) error { return t.store.DeleteID(t.Context(), s.Org, s.Account, s.ID) })
	suite.Winner(t.T, errs, auth.ErrNotFound)
	t.nothing(s)
}

// raceEnd ends a record by each verb in turn, while other calls touch and replace
// it.
func (t *sessionTest) raceEnd() {
	const rounds = 200
	ends := []func(s session.Session) error{
		func(s session.Session) error { return t.store.Delete(t.Context(), s.Org, s.Hash) },
		func(s session.Session) error { return t.store.DeleteID(t.Context(), s.Org, s.Account, s.ID) },
		func(s session.Session) error {
			_, err := t.store.DeleteAll(t.Context(), s.Org, s.Account, "")
			return err
		},
		func(s session.Session) error {
			_, err := t.store.DeleteOrg(t.Context(), s.Org)
			return err
		},
		func(s session.Session) error {
			newer := s
			newer.Hash, newer.ID, newer.Created = newHash(), newID(), s.Created.Add(time.Second)
			return t.store.Create(t.Context(), newer, 1)
		},
	}
	for round := range rounds {
		s := t.one(fmt.Sprint("ann-", round))
		next := s
		next.Hash = newHash()
		t.create(0, s)
		errs := suite.AtOnce(4, func(i int) error {
			switch i {
			case 0:
				return t.store.Replace(t.Context(), s.Org, s.Hash, next)
			case 1:
				return t.store.Touch(t.Context(), s.Org, s.Hash, s.Seen.Add(time.Minute))
			case 2:
				return t.store.Touch(t.Context(), next.Org, next.Hash, s.Seen.Add(time.Minute))
			}
			err := ends[round%len(ends)](s)
			if err == nil {
				t.gone("at once", s, next)
			}
			return err
		})
		suite.Tally(t.T, errs[:3], auth.ErrNotFound)
		suite.Expect(t.T, fmt.Sprint("the end of round ", round), errs[3], nil)
		t.gone("after all", s, next)
	}
}

// raceRenewal touches a record by the hash that a concurrent Replace gives it, and creates another
// one with the hash that it takes away.
func (t *sessionTest) raceRenewal() {
	for round := range 200 {
		s := t.one(fmt.Sprint("ann-", round))
		t.create(0, s)
		next, late := s, s.Seen.Add(time.Minute)
		next.Hash = newHash()
		second := t.one(fmt.Sprint("ann-", round))
		second.Hash = s.Hash
		errs := suite.AtOnce(3, func(i int) error {
			switch i {
			case 0:
				return t.store.Replace(t.Context(), s.Org, s.Hash, next)
			case 1:
				return t.store.Touch(t.Context(), next.Org, next.Hash, late)
			}
			return t.store.Create(t.Context(), second, 3*(round%2))
		})
		suite.Expect(t.T, "Replace", errs[0], nil)
		if errs[2] == nil {
			t.Errorf("round %d: Create with a hash that a record had until a concurrent Replace", round)
		}
		if errs[1] == nil {
			next.Seen = late
		} else {
			suite.Expect(t.T, "Touch", errs[1], auth.ErrNotFound)
		}
		t.lists(t.org, fmt.Sprint("ann-", round), next)
	}
}

func (t *sessionTest) gone(when string, all ...session.Session) {
	for i, s := range all {
		_, err := t.store.Get(t.Context(), s.Org, s.Hash)
		if !errors.Is(err, auth.ErrNotFound) && !errors.Is(err, session.ErrEvicted) {
			t.Errorf("%s: Get of hash %d after its end: %v", when, i, err)
		}
	}
	list, err := t.store.List(t.Context(), all[0].Org, all[0].Account)
	if err != nil || slices.ContainsFunc(list, func(s session.Session) bool { return s.ID == all[0].ID }) {
		t.Errorf("%s: List after its end: %+v, %v", when, list, err)
	}
}
