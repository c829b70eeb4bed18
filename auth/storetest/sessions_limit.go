package storetest

import (
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth/session"
)

func (t *sessionTest) limit() {
	a, b, c, d := t.one("ann"), t.one("ann"), t.one("ann"), t.one("ann")
	// The oldest has the earliest Created, then the lowest ID. The order of the calls
	// and the latest use do not matter.
	b.Created, b.ID = a.Created, strings.Repeat("0", 32)
	a.ID = strings.Repeat("f", 32)
	b.Seen = b.Seen.Add(time.Minute)
	t.create(3, c, a, b)
	t.lives(a, b, c)
	t.create(3, d)
	t.ends(session.ErrEvicted, b)
	t.lists(t.org, "ann", a, c, d)
	last := t.one("ann")
	t.create(1, last)
	t.ends(session.ErrEvicted, a, b, c, d)
	t.lists(t.org, "ann", last)
}

func (t *sessionTest) limitApart() {
	s, code, enrol, other := t.one("ann"), t.ticket("ann"), t.one("ann"), t.one("bob")
	enrol.Ticket = session.TicketEnrol
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
	old.Expires = t.now().UTC().Truncate(time.Millisecond).Add(brief)
	t.create(1, old, s)
	t.ends(session.ErrEvicted, old)
	t.answersNothing(old)
	t.ends(session.ErrEvicted, old)
	t.is(nil, "Delete", func() error { return t.store.Delete(t.Context(), old.Hash) })
	t.deletesAll(0, t.org, "ann", s.ID)
	t.ends(session.ErrEvicted, old)
	t.lists(t.org, "ann", s)
	t.pass(brief + 200*time.Millisecond)
	t.nothing(old)
	t.lives(s)
}
