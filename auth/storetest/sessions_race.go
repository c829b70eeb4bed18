package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/internal/suite"
)

func sessionRaceCreate(t *suite.Sessions) {
	const limit = 3
	var all [suite.Crowd]session.Session
	for i := range all {
		all[i] = t.One("ann")
	}
	suite.Wins(t.T, suite.Crowd, func(i int) error { return t.Store.Create(t.Context(), all[i], limit) })
	living := slices.DeleteFunc(all[:], func(s session.Session) bool {
		_, err := t.Store.Get(t.Context(), s.Org, s.Hash)
		suite.Expect(t.T, "Get", err, nil, session.ErrEvicted)
		return err != nil
	})
	suite.Same(t.T, "records that live", len(living), limit)
	t.Lists(t.Org, "ann", living...)
}

func sessionRaceReplace(t *suite.Sessions) {
	s := t.One("ann")
	t.Create(0, s)
	var next [suite.Crowd]session.Session
	for i := range next {
		next[i] = suite.Rehashed(s)
		next[i].Seen = s.Seen.Add(time.Duration(i) * time.Second)
	}
	won := suite.Wins(t.T, 1, func(i int) error { return t.Store.Replace(t.Context(), s.Org, s.Hash, next[i]) }, auth.ErrNotFound)
	for i := range next {
		if i != won {
			t.Ends(auth.ErrNotFound, next[i])
		}
	}
	t.Ends(auth.ErrNotFound, s)
	t.Lives(next[won])
	t.Lists(t.Org, "ann", next[won])
}

// sessionRaceDeleteID redeems a ticket many times: whoever gets nil may go on.
func sessionRaceDeleteID(t *suite.Sessions) {
	s := t.Ticket("ann")
	t.Create(0, s)
	suite.Wins(t.T, 1, func(int) error { return t.Store.DeleteID(t.Context(), s.Org, s.Account, s.ID) }, auth.ErrNotFound)
	t.Nothing(s)
}

// sessionRaceEnd ends a record by each verb in turn, while other calls touch and replace
// it.
func sessionRaceEnd(t *suite.Sessions) {
	ends := []string{"Delete", "DeleteID", "DeleteAll", "DeleteOrg", "Create"}
	for round := range 200 {
		s := t.One(fmt.Sprint("ann-", round))
		next, newer := suite.Rehashed(s), suite.Rehashed(s)
		newer.ID, newer.Created = suite.NewID(), s.Created.Add(time.Second)
		t.Create(0, s)
		verbs, end := t.Verbs(t.Context(), s, next, newer), ends[round%len(ends)]
		errs := suite.AtOnce(4, func(i int) error {
			if i < 3 {
				return []func() error{verbs["Replace"], verbs["Touch"], t.Verbs(t.Context(), next, s, s)["Touch"]}[i]()
			}
			err := verbs[end]()
			if err == nil {
				t.Gone("at once", s, next)
			}
			return err
		})
		suite.Tally(t.T, errs[:3], auth.ErrNotFound)
		suite.Expect(t.T, fmt.Sprint(end, ", round ", round), errs[3], nil)
		t.Gone("after all", s, next)
	}
}
