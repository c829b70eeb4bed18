package suites

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/storetest"
	"github.com/tenantkit/tenantkit/internal/suite"
)

// Sessions checks what storetest.Sessions leaves out: limits in detail, and names that no Manager passes. Each subtest opens a store.
func Sessions(t *testing.T, open func(t *testing.T) session.Store, f storetest.Features) {
	suite.Run(t, suite.Tests[func(*suite.Sessions)]{
		{"an ended record counts against no limit", sessionExpiryAndLimit},
		{"the limit was lowered", sessionLimitLowered},
		{"a new hash of a record that is then evicted", sessionReplacedAndEvicted},
		{"delete all of an account, one without an id too", sessionDeleteWithoutID},
		{"empty names", sessionNameless},
		{"200 renewals beside a touch and a create", sessionRaceRenewal},
	}, func(t *testing.T, test func(*suite.Sessions)) {
		test(&suite.Sessions{T: t, Cast: suite.NewCast(suite.Features(f)), Store: open(t)})
	})
}

func sessionExpiryAndLimit(t *suite.Sessions) {
	short, ended, kept, latest := t.One("ann"), t.One("ann"), t.One("ann"), t.One("ann")
	end := t.Time().UTC().Truncate(time.Millisecond).Add(suite.Brief)
	short.Seen, ended.Expires = latest.Seen.Add(time.Millisecond), end
	short.Expires = end
	t.Create(3, kept, ended, short)
	t.Create(2, latest) // evicts kept, unused for longest, then ended
	t.Ends(session.ErrEvicted, kept, ended)
	t.Lives(short)
	t.Wait(suite.Brief + 200*time.Millisecond)
	t.Ends(session.ErrEvicted, kept)
	t.Ends(auth.ErrNotFound, ended, short) // ended is forgotten at its Expires
	next := t.One("ann")
	t.Create(2, next) // short has expired, so nothing is evicted
	t.Lives(latest, next)
}

// sessionDeleteWithoutID creates a record that no Manager makes. A store may refuse it.
func sessionDeleteWithoutID(t *suite.Sessions) {
	s, other := t.One("ann"), t.One("ann")
	s.ID = ""
	if err := t.Store.Create(t.Context(), s, 0); err != nil {
		return
	}
	t.Create(0, other)
	t.DeletesAll(1, t.Org, "ann", other.ID)
	t.Nothing(s)
	t.Create(0, s)
	t.DeletesAll(2, t.Org, "ann", "")
	t.Nothing(s)
	t.Nothing(other)
}

// sessionNameless calls each verb with empty names, which no Manager passes. A store may return what
// it likes, but it must neither panic nor treat them as all accounts or all orgs.
func sessionNameless(t *suite.Sessions) {
	a, b := t.One("ann"), t.One("bob")
	t.Create(0, a, b)
	ctx := t.Context()
	t.Store.DeleteAll(ctx, t.Org, "", "")
	t.Store.DeleteAll(ctx, t.Org, "", a.ID)
	t.Store.DeleteAll(ctx, "", "", "")
	t.Store.DeleteOrg(ctx, "")
	t.Store.List(ctx, "", "")
	t.Store.Get(ctx, "", [32]byte{})
	for _, name := range [][3]string{{string(t.Org), "", a.ID}, {"", t.ID("ann"), a.ID}, {string(t.Org), t.ID("ann"), ""}} {
		t.Store.DeleteID(ctx, auth.OrgKey(name[0]), name[1], name[2])
	}
	t.Lives(a, b)
}

func sessionLimitLowered(t *suite.Sessions) {
	all := []session.Session{t.One("ann"), t.One("ann"), t.One("ann"), t.One("ann"), t.One("ann")}
	t.Create(0, all...)
	t.Lives(all...)
	last := t.One("ann")
	t.Create(2, last)
	t.Ends(session.ErrEvicted, all[:4]...)
	t.Lists(t.Org, "ann", all[4], last)
}

// sessionRaceRenewal touches a record by the hash that a concurrent Replace gives it, and creates another
// One with the hash that it takes away.
func sessionRaceRenewal(t *suite.Sessions) {
	for round := range 200 {
		s := t.One(fmt.Sprint("ann-", round))
		t.Create(0, s)
		next, late := s, s.Seen.Add(time.Minute)
		next.Hash = suite.NewHash()
		second := t.One(fmt.Sprint("ann-", round))
		second.Hash = s.Hash
		errs := suite.AtOnce(3, func(i int) error {
			switch i {
			case 0:
				return t.Store.Replace(t.Context(), s.Org, s.Hash, next)
			case 1:
				return t.Store.Touch(t.Context(), next.Org, next.Hash, late)
			}
			return t.Store.Create(t.Context(), second, 3*(round%2))
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
		t.Lists(t.Org, fmt.Sprint("ann-", round), next)
	}
}

func sessionReplacedAndEvicted(t *suite.Sessions) {
	evicted, latest := t.One("bob"), t.One("bob")
	t.Create(0, evicted)
	before := evicted
	evicted = t.Renew(before)
	t.Create(1, latest)
	t.Ends(session.ErrEvicted, evicted)
	t.Ends(auth.ErrNotFound, before)
}
