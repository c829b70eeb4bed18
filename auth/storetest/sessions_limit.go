package storetest

import (
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/internal/suite"
)

func sessionLimit(t *suite.Sessions) {
	a, b, c, d, e := t.One("ann"), t.One("ann"), t.One("ann"), t.One("ann"), t.One("ann")
	// The earliest Seen goes first, then the earliest Created, then the lowest ID. The order of
	// the calls does not matter, and a Touch is a use.
	a.Created, a.Seen, a.ID = b.Created, b.Seen, strings.Repeat("0", 32)
	d.Seen = b.Seen.Add(-time.Minute)
	t.Create(4, c, d, a, b)
	t.Lives(a, b, c, d)
	used := t.Time().UTC().Truncate(time.Millisecond)
	t.Is(nil, "Touch", func() error { return t.Store.Touch(t.Context(), d.Org, d.Hash, used) })
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
	s, code, enrol, other := t.One("ann"), t.Ticket("ann"), t.One("ann"), t.One("bob")
	enrol.Ticket = "enrol"
	foreign := t.One("ann")
	foreign.Org = t.Other("-2")
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
	t.Is(nil, "Delete", func() error { return t.Store.Delete(t.Context(), old.Org, old.Hash) })
	t.DeletesAll(0, t.Org, "ann", s.ID)
	t.Ends(session.ErrEvicted, old)
	t.Lists(t.Org, "ann", s)
	t.Wait(suite.Brief + 200*time.Millisecond)
	t.Nothing(old)
	t.Lives(s)
}
