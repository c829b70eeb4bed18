package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/internal/suite"
)

func sessionExpiry(t *suite.Sessions) {
	first, second, later := t.One("ann"), t.Ticket("ann"), t.One("ann")
	bob := t.One("bob") // no verb touches bob and cay before DeleteAll counts them
	short, long := t.One("cay"), t.One("cay")
	end := t.Time().UTC().Truncate(time.Millisecond).Add(suite.Brief)
	first.Expires, second.Expires, bob.Expires, short.Expires = end, end, end, end
	t.Create(0, first, second, later, bob, short, long)
	t.Lives(first, second, later)
	t.Wait(suite.Brief + 200*time.Millisecond)
	t.Lists(t.Org, "ann", later)
	t.Nothing(first, second)
	t.DeletesAll(1, t.Org, "ann", "")
	t.DeletesAll(0, t.Org, "bob", "")
	t.DeletesAll(1, t.Org, "cay", "")
}

func sessionDeletePrevious(t *suite.Sessions) {
	first, other := t.One("ann"), t.One("ann")
	t.Create(0, first, other)
	second := t.Renew(first)
	third := t.Renew(second)
	t.Deletes(first) // its hash is the one before the last two
	t.Lives(third, other)
	t.Deletes(second)
	t.Nothing(first, second, third)
	t.Lists(t.Org, "ann", other)
	t.Deletes(other)
	t.Nothing(other)
	t.Lists(t.Org, "ann")
}

func sessionDeleteID(t *suite.Sessions) {
	s, other, bob := t.One("ann"), t.One("ann"), t.One("bob")
	t.Create(0, s, other, bob)
	for _, c := range [][3]string{
		{string(t.Org), "bob", s.ID}, {string(t.Other("-2")), "ann", s.ID}, {string(t.Org), "", s.ID}, {"", "ann", s.ID},
		{string(t.Org), "ann", ""}, {string(t.Org), "ann", s.ID[:31]}, {string(t.Org), "ann", "%"}, {string(t.Org), "ann", suite.NewID()},
	} {
		suite.Expect(t.T, fmt.Sprintf("DeleteID%q", c), t.Store.DeleteID(t.Context(), auth.OrgKey(c[0]), t.ID(c[1]), c[2]), auth.ErrNotFound)
	}
	t.Lives(s, other, bob)
	suite.Expect(t.T, "DeleteID", t.Store.DeleteID(t.Context(), t.Org, t.ID("ann"), s.ID), nil)
	t.Nothing(s)
	t.Lives(other, bob)
}

func sessionDeleteAccount(t *suite.Sessions) {
	a, b, code, bob := t.One("ann"), t.One("ann"), t.Ticket("ann"), t.One("bob")
	foreign := suite.With(t.One("ann"), func(s *session.Session) { s.Org = t.Other("-2") })
	t.Create(0, a, b, code, bob, foreign)
	t.DeletesAll(1, t.Org, "ann", a.ID)
	t.Nothing(b, code)
	t.Lives(a, bob, foreign)
	t.DeletesAll(1, t.Org, "ann", bob.ID)
	t.Nothing(a)
	t.DeletesAll(0, t.Org, "ann", "")
	t.Lives(bob, foreign)
}

func sessionDeleteOrg(t *suite.Sessions) {
	a, b, code, bob := t.One("ann"), t.One("ann"), t.Ticket("cay"), t.One("bob")
	t.Create(0, a, b, code, bob)
	var foreign []session.Session
	others := []auth.OrgKey{t.Other("-2"), t.Other("%"), t.Other(" ")}
	if t.Features.Org == nil {
		others = append(others, ":"+t.Org, auth.OrgKey(strings.ToLower(string(t.Org))), t.Org[:len(t.Org)-1])
	}
	for _, org := range others {
		s := suite.With(t.One("ann"), func(s *session.Session) { s.Org = org })
		t.Create(0, s)
		foreign = append(foreign, s)
	}
	before, after := t.One("dan"), t.One("dan")
	t.Create(1, before, after)
	t.DeletesOrg(4, t.Org)
	t.Ends(session.ErrEvicted, before) // DeleteOrg does not change what is evicted already
	for _, s := range []session.Session{a, b, code, bob, after} {
		t.Nothing(s)
		t.Lists(t.Org, s.Account)
	}
	t.Lives(foreign...)
	t.DeletesOrg(0, t.Org)
	t.Create(0, a) // its hash and ID are free again
	t.Lives(a)
	t.DeletesOrg(1, t.Org)
	for _, s := range foreign {
		t.DeletesOrg(1, s.Org)
		t.Nothing(s)
	}
}

func sessionLimit(t *suite.Sessions) {
	a, b, c, d, e := t.One("ann"), t.One("ann"), t.One("ann"), t.One("ann"), t.One("ann")
	// The earliest Seen goes first, then the earliest Created, then the lowest ID. The order of
	// the calls does not matter, and a Touch is a use.
	a.Created, a.Seen, a.ID = b.Created, b.Seen, strings.Repeat("0", 32)
	d.Seen = b.Seen.Add(-time.Minute)
	d.Created = d.Seen // so that age alone would end d
	t.Create(4, c, d, a, b)
	t.Lives(a, b, c, d)
	used := t.Time().UTC().Truncate(time.Millisecond)
	suite.Expect(t.T, "Touch", t.Store.Touch(t.Context(), d.Org, d.Hash, used), nil)
	d.Seen = used
	t.Create(4, e)
	t.Ends(session.ErrEvicted, a)
	t.Lives(b, c, d, e)
	last, latest := t.One("ann"), t.One("ann")
	t.Create(3, last)
	t.Ends(session.ErrEvicted, b, c)
	t.Lists(t.Org, "ann", d, e, last)
	t.Create(1, latest)
	t.Ends(session.ErrEvicted, d, e, last)
	t.Lists(t.Org, "ann", latest)
}

func sessionLimitApart(t *suite.Sessions) {
	s, code, other := t.One("ann"), t.Ticket("ann"), t.One("bob")
	enrol := suite.With(t.One("ann"), func(s *session.Session) { s.Ticket = "enrol" })
	foreign := suite.With(t.One("ann"), func(s *session.Session) { s.Org = t.Other("-2") })
	t.Create(1, s, code, enrol, other, foreign)
	t.Lives(s, code, enrol, other, foreign)
	next := t.Ticket("ann")
	t.Create(1, next)
	t.Ends(session.ErrEvicted, code)
	t.Lives(s, next, enrol, other, foreign)
}

func sessionLimitClockBack(t *suite.Sessions) {
	behind, s := t.One("ann"), t.One("ann")
	t.Create(1, s, behind)
	t.Ends(session.ErrEvicted, s)
	t.Lives(behind)
}

func sessionEvicted(t *suite.Sessions) {
	old, s := t.One("ann"), t.One("ann")
	old.Expires = t.Time().UTC().Truncate(time.Millisecond).Add(suite.Brief)
	t.Create(1, old, s)
	t.Ends(session.ErrEvicted, old)
	t.AnswersNothing(old)
	t.Ends(session.ErrEvicted, old)
	t.Deletes(old)
	t.DeletesAll(0, t.Org, "ann", s.ID)
	t.Ends(session.ErrEvicted, old)
	t.Lists(t.Org, "ann", s)
	t.Wait(suite.Brief + 200*time.Millisecond)
	t.Nothing(old)
	t.Lives(s)
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
