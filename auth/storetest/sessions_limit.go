package storetest

import (
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/internal/suite"
)

func (t *sessionTest) limit() {
	a, b, c, d, e := t.one("ann"), t.one("ann"), t.one("ann"), t.one("ann"), t.one("ann")
	// The earliest Seen goes first, then the earliest Created, then the lowest ID. The order of
	// the calls does not matter, and a Touch is a use.
	a.Created, a.Seen, a.ID = b.Created, b.Seen, strings.Repeat("0", 32)
	d.Seen = b.Seen.Add(-time.Minute)
	t.create(4, c, d, a, b)
	t.lives(a, b, c, d)
	used := t.Time().UTC().Truncate(time.Millisecond)
	t.is(nil, "Touch", func() error { return t.store.Touch(t.Context(), d.Org, d.Hash, used) })
	d.Seen = used
	t.create(4, e)
	t.ends(session.ErrEvicted, a)
	t.lives(b, c, d, e)
	last, latest := t.one("ann"), t.one("ann")
	t.create(3, last)
	t.ends(session.ErrEvicted, b, c)
	t.lists(t.org, "ann", d, e, last)
	t.create(1, latest)
	t.ends(session.ErrEvicted, d, e, last)
	t.lists(t.org, "ann", latest)
}

func (t *sessionTest) limitApart() {
	s, code, enrol, other := t.one("ann"), t.ticket("ann"), t.one("ann"), t.one("bob")
	enrol.Ticket = "enrol"
	foreign := t.one("ann")
	foreign.Org = t.other("-2")
	t.create(1, s, code, enrol, other, foreign)
	t.lives(s, code, enrol, other, foreign)
	next := t.ticket("ann")
	t.create(1, next)
	t.ends(session.ErrEvicted, code)
	t.lives(s, next, enrol, other, foreign)
}

func (t *sessionTest) limitLowered() {
	all := []session.Session{t.one("ann"), t.one("ann"), t.one("ann"), t.one("ann"), t.one("ann")}
	t.create(0, all...)
	t.lives(all...)
	last := t.one("ann")
	t.create(2, last)
	t.ends(session.ErrEvicted, all[:4]...)
	t.lists(t.org, "ann", all[4], last)
}

func (t *sessionTest) limitClockBack() {
	behind, s := t.one("ann"), t.one("ann")
	t.create(1, s, behind)
	t.ends(session.ErrEvicted, s)
	t.lives(behind)
}

func (t *sessionTest) evicted() {
	old, s := t.one("ann"), t.one("ann")
	old.Expires = t.Time().UTC().Truncate(time.Millisecond).Add(suite.Brief)
	t.create(1, old, s)
	t.ends(session.ErrEvicted, old)
	t.answersNothing(old)
	t.ends(session.ErrEvicted, old)
	t.is(nil, "Delete", func() error { return t.store.Delete(t.Context(), old.Org, old.Hash) })
	t.deletesAll(0, t.org, "ann", s.ID)
	t.ends(session.ErrEvicted, old)
	t.lists(t.org, "ann", s)
	t.Wait(suite.Brief + 200*time.Millisecond)
	t.nothing(old)
	t.lives(s)
}
