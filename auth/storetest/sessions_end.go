package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/internal/suite"
)

func (t *sessionTest) expiry() {
	first, second, later := t.one("ann"), t.ticket("ann"), t.one("ann")
	bob := t.one("bob") // no verb touches bob and cay before DeleteAll counts them
	short, long := t.one("cay"), t.one("cay")
	end := t.Time().UTC().Truncate(time.Millisecond).Add(suite.Brief)
	first.Expires, second.Expires, bob.Expires, short.Expires = end, end, end, end
	t.create(0, first, second, later, bob, short, long)
	t.lives(first, second, later)
	t.Wait(suite.Brief + 200*time.Millisecond)
	t.lists(t.org, "ann", later)
	t.nothing(first)
	t.nothing(second)
	t.deletesAll(1, t.org, "ann", "")
	t.deletesAll(0, t.org, "bob", "")
	t.deletesAll(1, t.org, "cay", "")
}

func (t *sessionTest) expiryAndLimit() {
	short, ended, kept, latest := t.one("ann"), t.one("ann"), t.one("ann"), t.one("ann")
	end := t.Time().UTC().Truncate(time.Millisecond).Add(suite.Brief)
	short.Seen, ended.Expires = latest.Seen.Add(time.Millisecond), end
	short.Expires = end
	t.create(3, kept, ended, short)
	t.create(2, latest) // evicts kept, unused for longest, then ended
	t.ends(session.ErrEvicted, kept, ended)
	t.lives(short)
	t.Wait(suite.Brief + 200*time.Millisecond)
	t.ends(session.ErrEvicted, kept)
	t.ends(auth.ErrNotFound, ended, short) // ended is forgotten at its Expires
	next := t.one("ann")
	t.create(2, next) // short has expired, so nothing is evicted
	t.lives(latest, next)
}

func (t *sessionTest) deletePrevious() {
	first, other := t.one("ann"), t.one("ann")
	t.create(0, first, other)
	second, third := first, first
	second.Hash, third.Hash = newHash(), newHash()
	t.is(nil, "Replace", func() error { return t.store.Replace(t.Context(), first.Org, first.Hash, second) })
	t.is(nil, "Replace", func() error { return t.store.Replace(t.Context(), second.Org, second.Hash, third) })
	t.is(nil, "Delete by the hash before the last two", func() error { return t.store.Delete(t.Context(), first.Org, first.Hash) })
	t.lives(third, other)
	t.is(nil, "Delete by the hash before", func() error { return t.store.Delete(t.Context(), second.Org, second.Hash) })
	t.nothing(first)
	t.nothing(second)
	t.nothing(third)
	t.lists(t.org, "ann", other)
	t.is(nil, "Delete", func() error { return t.store.Delete(t.Context(), other.Org, other.Hash) })
	t.nothing(other)
	t.lists(t.org, "ann")
}

func (t *sessionTest) deleteID() {
	s, other, bob := t.one("ann"), t.one("ann"), t.one("bob")
	t.create(0, s, other, bob)
	for _, c := range [][3]string{
		{string(t.org), "bob", s.ID}, {string(t.other("-2")), "ann", s.ID}, {string(t.org), "", s.ID}, {"", "ann", s.ID},
		{string(t.org), "ann", ""}, {string(t.org), "ann", s.ID[:31]}, {string(t.org), "ann", "%"}, {string(t.org), "ann", newID()},
	} {
		t.is(auth.ErrNotFound, fmt.Sprintf("DeleteID%q", c), func() error { return t.store.DeleteID(t.Context(), auth.OrgKey(c[0]), t.id(c[1]), c[2]) })
	}
	t.lives(s, other, bob)
	t.is(nil, "DeleteID", func() error { return t.store.DeleteID(t.Context(), t.org, t.id("ann"), s.ID) })
	t.nothing(s)
	t.lives(other, bob)
}

func (t *sessionTest) deleteAccount() {
	a, b, code, bob := t.one("ann"), t.one("ann"), t.ticket("ann"), t.one("bob")
	foreign := t.one("ann")
	foreign.Org = t.other("-2")
	t.create(0, a, b, code, bob, foreign)
	t.deletesAll(1, t.org, "ann", a.ID)
	t.nothing(b)
	t.nothing(code)
	t.lives(a, bob, foreign)
	t.deletesAll(1, t.org, "ann", bob.ID)
	t.nothing(a)
	t.deletesAll(0, t.org, "ann", "")
	t.lives(bob, foreign)
}

// deleteWithoutID creates a record that no Manager makes. A store may refuse it.
func (t *sessionTest) deleteWithoutID() {
	s, other := t.one("ann"), t.one("ann")
	s.ID = ""
	if err := t.store.Create(t.Context(), s, 0); err != nil {
		return
	}
	t.create(0, other)
	t.deletesAll(1, t.org, "ann", other.ID)
	t.nothing(s)
	t.create(0, s)
	t.deletesAll(2, t.org, "ann", "")
	t.nothing(s)
	t.nothing(other)
}

func (t *sessionTest) deleteOrg() {
	a, b, code, bob := t.one("ann"), t.one("ann"), t.ticket("cay"), t.one("bob")
	t.create(0, a, b, code, bob)
	var foreign []session.Session
	others := []auth.OrgKey{t.other("-2"), t.other("%"), t.other(" ")}
	if t.Org == nil {
		others = append(others, ":"+t.org, auth.OrgKey(strings.ToLower(string(t.org))), t.org[:len(t.org)-1])
	}
	for _, org := range others {
		s := t.one("ann")
		s.Org = org
		t.create(0, s)
		foreign = append(foreign, s)
	}
	before, after := t.one("dan"), t.one("dan")
	t.create(1, before, after)
	t.deletesOrg(4, t.org)
	t.ends(session.ErrEvicted, before) // DeleteOrg does not change what is evicted already
	for _, s := range []session.Session{a, b, code, bob, after} {
		t.nothing(s)
		t.lists(t.org, s.Account)
	}
	t.lives(foreign...)
	t.deletesOrg(0, t.org)
	t.create(0, a) // its hash and ID are free again
	t.lives(a)
	t.deletesOrg(1, t.org)
	for _, s := range foreign {
		t.deletesOrg(1, s.Org)
		t.nothing(s)
	}
}

// nameless calls each verb with empty names, which no Manager passes. A store may return what
// it likes, but it must neither panic nor treat them as all accounts or all orgs.
func (t *sessionTest) nameless() {
	a, b := t.one("ann"), t.one("bob")
	t.create(0, a, b)
	ctx := t.Context()
	t.store.DeleteAll(ctx, t.org, "", "")
	t.store.DeleteAll(ctx, t.org, "", a.ID)
	t.store.DeleteAll(ctx, "", "", "")
	t.store.DeleteOrg(ctx, "")
	t.store.List(ctx, "", "")
	t.store.Get(ctx, "", [32]byte{})
	for _, name := range [][3]string{{string(t.org), "", a.ID}, {"", t.id("ann"), a.ID}, {string(t.org), t.id("ann"), ""}} {
		t.store.DeleteID(ctx, auth.OrgKey(name[0]), name[1], name[2])
	}
	t.lives(a, b)
}
