package storetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/internal/suite"
)

// Sessions checks the contract of session.Store. Each subtest opens a store, and
// uses orgs that no other subtest uses, so that all may share one store. Waiting
// for records to expire takes a few seconds of its clock.
func Sessions(t *testing.T, open func(t *testing.T) session.Store, f Features) {
	suite.Run(t, suite.Tests[func(*suite.Sessions)]{
		{"a record comes back as it was created", sessionRoundTrip},
		{"what is unknown", sessionUnknown},
		{"the end by the clock", sessionExpiry},
		{"the limit ends those unused for longest", sessionLimit},
		{"the limit is for one kind of one account", sessionLimitApart},
		{"a clock that was set back does not end the new", sessionLimitClockBack},
		{"what an evicted record still answers", sessionEvicted},
		{"a hash that is not new", sessionHashTaken},
		{"a touch only moves ahead", sessionTouch},
		{"a new hash, and nothing else", sessionReplace},
		{"delete by the hash before", sessionDeletePrevious},
		{"delete by id", sessionDeleteID},
		{"delete all of an account", sessionDeleteAccount},
		{"another org", sessionForeign},
		{"delete all of an org", sessionDeleteOrg},
		{"a list has the oldest first", sessionList},
		{"orgs and accounts are apart", sessionApart},
		{"a context that has ended", sessionCancelled},
		{"64 creates at a limit of 3", sessionRaceCreate},
		{"64 replaces of one hash", sessionRaceReplace},
		{"F23 64 deletes of one id", sessionRaceDeleteID},
		{"F03 nothing comes back", sessionRaceEnd},
	}, func(t *testing.T, test func(*suite.Sessions)) {
		test(&suite.Sessions{T: t, Cast: suite.NewCast(suite.Features(f)), Store: open(t)})
	})
}

func sessionRoundTrip(t *suite.Sessions) {
	for i, account := range t.Odd() {
		s := t.One(account)
		s.Ticket = []string{"", "code", "enrol"}[i%3]
		s.Created = s.Created.Add(-time.Duration(i) * 111 * time.Millisecond)
		s.Authenticated = s.Created.Add(123 * time.Millisecond)
		s.Seen = s.Created.Add(1999 * time.Millisecond)
		s.Expires = s.Created.Add(time.Hour + time.Millisecond)
		s.Address = "2001:db8::1%eth0"
		s.Agent = strings.Repeat("👩", 60) + " '\"\\%"
		s.Remember = i%2 == 0
		t.Create(0, s)
		t.Lives(s)
		t.Lists(t.Org, account, s)
		got, err := t.Store.Get(t.Context(), s.Org, s.Hash)
		suite.Check(t.T, err != nil || got.Created.Location() == time.UTC, "a time in %v", got.Created.Location())
	}
	empty := suite.With(t.One("empty"), func(s *session.Session) { s.Address, s.Agent = "", "" })
	t.Create(0, empty)
	t.Lives(empty)
}

func sessionUnknown(t *suite.Sessions) {
	t.Nothing(t.One("ann"), session.Session{Org: t.Org})
	t.Lists(t.Org, "ann")
	t.DeletesAll(0, t.Org, "ann", "")
	t.DeletesOrg(0, t.Org)
}

func sessionTouch(t *suite.Sessions) {
	s, other := t.One("ann"), t.One("ann")
	t.Create(0, s, other)
	start := s.Seen
	for _, ahead := range []time.Duration{1, 0, 61_001, 61_001, 61_000, -5000} {
		seen := start.Add(ahead * time.Millisecond)
		suite.Expect(t.T, "Touch", t.Store.Touch(t.Context(), s.Org, s.Hash, seen), nil)
		if seen.After(s.Seen) {
			s.Seen = seen
		}
		t.Lives(s, other)
	}
}

func sessionReplace(t *suite.Sessions) {
	s := suite.With(t.Ticket("ann"), func(s *session.Session) { s.Remember = true })
	t.Create(0, s)
	old, forged := s, t.One("eve")
	forged.Authenticated, forged.Seen = s.Seen.Add(1001*time.Millisecond), s.Seen.Add(2002*time.Millisecond)
	forged.Org, forged.Address, forged.Agent = t.Other("-2"), "203.0.113.1", "other"
	suite.Expect(t.T, "Replace", t.Store.Replace(t.Context(), old.Org, old.Hash, forged), nil)
	s.Hash, s.Authenticated, s.Seen = forged.Hash, forged.Authenticated, forged.Seen
	t.Lives(s)
	t.Lists(t.Org, "ann", s)
	t.Lists(forged.Org, "eve")

	next := suite.Rehashed(s)
	t.Ends(auth.ErrNotFound, old)
	suite.Expect(t.T, "Touch by the hash before", t.Store.Touch(t.Context(), old.Org, old.Hash, t.Time()), auth.ErrNotFound)
	suite.Expect(t.T, "Replace of the hash before", t.Store.Replace(t.Context(), old.Org, old.Hash, next), auth.ErrNotFound)
	t.Lives(s)

	// The record stays the account's: DeleteID and the limit still find it.
	suite.Expect(t.T, "DeleteID", t.Store.DeleteID(t.Context(), t.Org, t.ID("ann"), s.ID), nil)
	t.Nothing(s, old)
}

// sessionForeign calls each verb for another org, to which the record must be unknown. An org that
// comes later may get the id that a session has.
func sessionForeign(t *suite.Sessions) {
	s, gone, latest := t.One("ann"), t.One("bob"), t.One("bob")
	t.Create(1, s, gone, latest)
	renewed := t.Renew(s)
	for _, record := range []session.Session{s, renewed, gone} {
		record.Org = t.Other("-2")
		t.Nothing(record)
	}
	t.Lives(renewed, latest)
	t.Ends(session.ErrEvicted, gone)
}

func sessionList(t *suite.Sessions) {
	a, b, code, c := t.One("ann"), t.One("ann"), t.Ticket("ann"), t.One("ann")
	b.Created = a.Created
	a.ID, b.ID = "0"+a.ID[1:], "f"+b.ID[1:]
	t.Create(0, c, b, code, t.One("bob"), a)
	want := []session.Session{a, b, code, c}
	t.Lists(t.Org, "ann", want...)
	got, err := t.Store.List(t.Context(), t.Org, t.ID("ann"))
	suite.Must(t.T, "List", err)
	clear(got)
	t.Lists(t.Org, "ann", want...)
}

func sessionApart(t *suite.Sessions) {
	var all []session.Session
	for _, account := range t.Odd() {
		all = append(all, suite.With(t.One(account), func(s *session.Session) { s.Agent = account }))
	}
	// Pairs of org and account that are the same text when joined.
	for _, c := range [][2]string{{":x", "y"}, {"", "x:y"}, {"/x", "y"}, {"", "x/y"}, {"x", "y"}, {"", "xy"}, {" x", "y"}, {"", "x y"}} {
		all = append(all, suite.With(t.One(c[1]), func(s *session.Session) { s.Org = t.Other(c[0]) }))
	}
	t.Create(1, all...)
	t.Lives(all...)
	for i, s := range all {
		t.Lists(s.Org, s.Account, s)
		t.DeletesAll(1, s.Org, s.Account, "")
		t.Ends(auth.ErrNotFound, s)
		t.Lives(all[i+1:]...)
	}
}

func sessionCancelled(t *suite.Sessions) {
	s, fresh := t.One("ann"), t.One("ann")
	t.Create(0, s)
	ctx, next := suite.Ended(t.T), suite.Rehashed(s)
	for verb, run := range t.Verbs(ctx, s, next, fresh) {
		// These errors say something about the record, which nobody has looked up.
		suite.Fails(t.T, verb, run(), auth.ErrNotFound, session.ErrEvicted)
	}
	// ctx was cancelled before the calls, so nothing has changed.
	t.Lives(s)
	t.Ends(auth.ErrNotFound, fresh, next)
}

func sessionHashTaken(t *suite.Sessions) {
	old, other, before := t.One("ann"), t.One("bob"), t.One("cay")
	after := t.One("cay")
	t.Create(1, old, other, before, after)
	s := t.Renew(old)

	refused := func(what string, err error) {
		t.Helper()
		suite.Fails(t.T, what, err, auth.ErrNotFound, session.ErrEvicted)
		t.Lives(s, other, after)
		t.Ends(auth.ErrNotFound, old)
		t.Ends(session.ErrEvicted, before)
	}
	for what, hash := range map[string][32]byte{
		"that opens a session": s.Hash, "that opened one before a Replace": old.Hash, "of a session that was evicted": before.Hash,
	} {
		for _, limit := range []int{0, 1} {
			twin := suite.With(t.One("ann"), func(s *session.Session) { s.Hash = hash })
			refused("Create with a hash "+what, t.Store.Create(t.Context(), twin, limit))
		}
	}
	next := suite.With(other, func(other *session.Session) { other.Hash = s.Hash })
	refused("Replace with a hash that opens a session", t.Store.Replace(t.Context(), other.Org, other.Hash, next))
	t.Lists(t.Org, "ann", s)
	t.Lists(t.Org, "bob", other)
}

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
	t.Ends(auth.ErrNotFound, slices.Concat(next[:won], next[won+1:], []session.Session{s})...)
	t.Lives(next[won])
	t.Lists(t.Org, "ann", next[won])
}
