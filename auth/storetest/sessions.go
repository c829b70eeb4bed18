package storetest

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
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
	suite.Run(t, suite.Tests[func(*sessionTest)]{
		{"a record comes back as it was created", (*sessionTest).roundTrip},
		{"what is unknown", (*sessionTest).unknown},
		{"the end by the clock", (*sessionTest).expiry},
		{"an ended record counts against no limit", (*sessionTest).expiryAndLimit},
		{"the limit ends those unused for longest", (*sessionTest).limit},
		{"the limit is for one kind of one account", (*sessionTest).limitApart},
		{"the limit was lowered", (*sessionTest).limitLowered},
		{"a clock that was set back does not end the new", (*sessionTest).limitClockBack},
		{"what an evicted record still answers", (*sessionTest).evicted},
		{"a touch only moves ahead", (*sessionTest).touch},
		{"a new hash, and nothing else", (*sessionTest).replace},
		{"delete by the hash before", (*sessionTest).deletePrevious},
		{"a hash that is not new", (*sessionTest).hashTaken},
		{"delete by id", (*sessionTest).deleteID},
		{"delete all of an account", (*sessionTest).deleteAccount},
		{"delete all of an account, one without an id too", (*sessionTest).deleteWithoutID},
		{"empty names", (*sessionTest).nameless},
		{"another org", (*sessionTest).foreign},
		{"delete all of an org", (*sessionTest).deleteOrg},
		{"a list has the oldest first", (*sessionTest).list},
		{"orgs and accounts are apart", (*sessionTest).apart},
		{"a context that has ended", (*sessionTest).cancelled},
		{"64 creates at a limit of 3", (*sessionTest).raceCreate},
		{"64 replaces of one hash", (*sessionTest).raceReplace},
		{"F23 64 deletes of one id", (*sessionTest).raceDeleteID},
		{"F03 nothing comes back", (*sessionTest).raceEnd},
		{"200 renewals beside a touch and a create", (*sessionTest).raceRenewal},
	}, func(t *testing.T, test func(*sessionTest)) {
		test(&sessionTest{T: t, store: open(t), cast: newCast(f)})
	})
}

type sessionTest struct {
	*testing.T
	cast
	store session.Store
	made  int
}

// newHash and newID return a hash and an ID in the form that the Manager makes.
func newHash() (hash [32]byte) {
	rand.Read(hash[:])
	return hash
}

func newID() string {
	hash := newHash()
	return hex.EncodeToString(hash[:16])
}

// one returns a session of an account that expires in an hour. It is newer than
// those made before it.
func (t *sessionTest) one(account string) session.Session {
	t.made++
	created := t.Time().UTC().Truncate(time.Millisecond).Add(time.Duration(t.made-100) * 7 * time.Millisecond)
	return session.Session{
		Hash: newHash(), ID: newID(), Org: t.org, Account: t.id(account),
		Created: created, Authenticated: created, Seen: created, Expires: created.Add(time.Hour),
		Address: "192.0.2.7", Agent: "browser/1", Proof: `{"m":["pwd"],"t":"é"}`, Origin: `{"o":"other"}`,
	}
}

func (t *sessionTest) ticket(account string) session.Session {
	s := t.one(account)
	s.Ticket = "code"
	return s
}

func (t *sessionTest) create(limit int, all ...session.Session) {
	t.Helper()
	for _, s := range all {
		if err := t.store.Create(t.Context(), s, limit); err != nil {
			t.Fatalf("Create: %v", err)
		}
	}
}

// lives fails unless Get returns each record as it is here.
func (t *sessionTest) lives(all ...session.Session) {
	t.Helper()
	for _, want := range all {
		got, err := t.store.Get(t.Context(), want.Org, want.Hash)
		if err != nil {
			t.Errorf("Get: %v", err)
		} else if !sameSession(got, want) {
			t.Errorf("Get = %+v\nwant  %+v", got, want)
		}
	}
}

// ends fails unless Get returns the error want for each hash.
func (t *sessionTest) ends(want error, all ...session.Session) {
	t.Helper()
	for _, s := range all {
		t.is(want, "Get", func() error { _, err := t.store.Get(t.Context(), s.Org, s.Hash); return err })
	}
}

func (t *sessionTest) is(want error, verb string, run func() error) {
	t.Helper()
	if err := run(); !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", verb, err, want)
	}
}

func (t *sessionTest) lists(org auth.OrgKey, account string, want ...session.Session) {
	t.Helper()
	got, err := t.store.List(t.Context(), org, t.id(account))
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	if !slices.EqualFunc(got, want, sameSession) {
		t.Errorf("List(%q, %q) = %+v\nwant %+v", org, account, got, want)
	}
}

func (t *sessionTest) deletesAll(want int, org auth.OrgKey, account, except string) {
	t.Helper()
	if n, err := t.store.DeleteAll(t.Context(), org, t.id(account), except); n != want || err != nil {
		t.Errorf("DeleteAll = %d, %v; want %d", n, err, want)
	}
}

func (t *sessionTest) deletesOrg(want int, org auth.OrgKey) {
	t.Helper()
	if n, err := t.store.DeleteOrg(t.Context(), org); n != want || err != nil {
		t.Errorf("DeleteOrg = %d, %v; want %d", n, err, want)
	}
}

// sameSession compares times as instants.
func sameSession(a, b session.Session) bool {
	same := a.Created.Equal(b.Created) && a.Authenticated.Equal(b.Authenticated) &&
		a.Seen.Equal(b.Seen) && a.Expires.Equal(b.Expires)
	for _, s := range []*session.Session{&a, &b} {
		s.Created, s.Authenticated, s.Seen, s.Expires = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	}
	return same && a == b
}

// odd are names that a store might split or treat as equal.
var odd = []string{
	"ann", "Ann", "ann ", " ann", "ann%", "a_n", "*", "[a]nn", "ann'; --", `"ann"`, `a\nn`, "a:n", "a/n", "{ann}",
	"ünï", "u\u0308nï", "名前", "👩‍💻", "\u202eann",
}

func (t *sessionTest) roundTrip() {
	for i, account := range t.odd() {
		s := t.one(account)
		s.Ticket = []string{"", "code", "enrol"}[i%3]
		s.Created = s.Created.Add(-time.Duration(i) * 111 * time.Millisecond)
		s.Authenticated = s.Created.Add(123 * time.Millisecond)
		s.Seen = s.Created.Add(1999 * time.Millisecond)
		s.Expires = s.Created.Add(time.Hour + time.Millisecond)
		s.Address = "2001:db8::1%eth0"
		s.Agent = strings.Repeat("👩", 60) + " '\"\\%"
		s.Remember = i%2 == 0
		t.create(0, s)
		t.lives(s)
		t.lists(t.org, account, s)
		got, err := t.store.Get(t.Context(), s.Org, s.Hash)
		if err == nil && got.Created.Location() != time.UTC {
			t.Errorf("a time in %v", got.Created.Location())
		}
	}
	empty := t.one("empty")
	empty.Address, empty.Agent = "", ""
	t.create(0, empty)
	t.lives(empty)
}

// nothing fails unless all verbs treat the hash and the ID as unknown.
func (t *sessionTest) nothing(s session.Session) {
	t.Helper()
	ctx := t.Context()
	t.ends(auth.ErrNotFound, s)
	t.answersNothing(s)
	t.is(nil, "Delete", func() error { return t.store.Delete(ctx, s.Org, s.Hash) })
	t.ends(auth.ErrNotFound, s)
}

// answersNothing fails if a verb that changes a record finds this one.
func (t *sessionTest) answersNothing(s session.Session) {
	t.Helper()
	ctx, next := t.Context(), s
	next.Hash = newHash()
	t.is(auth.ErrNotFound, "Touch", func() error { return t.store.Touch(ctx, s.Org, s.Hash, t.Time().Add(time.Minute)) })
	t.is(auth.ErrNotFound, "Replace", func() error { return t.store.Replace(ctx, s.Org, s.Hash, next) })
	t.ends(auth.ErrNotFound, next)
	t.is(auth.ErrNotFound, "DeleteID", func() error { return t.store.DeleteID(ctx, s.Org, s.Account, s.ID) })
}

func (t *sessionTest) unknown() {
	t.nothing(t.one("ann"))
	t.nothing(session.Session{Org: t.org})
	t.lists(t.org, "ann")
	t.deletesAll(0, t.org, "ann", "")
	t.deletesOrg(0, t.org)
}

func (t *sessionTest) touch() {
	s, other := t.one("ann"), t.one("ann")
	t.create(0, s, other)
	start := s.Seen
	for _, ahead := range []time.Duration{1, 0, 61_001, 61_001, 61_000, -5000} {
		seen := start.Add(ahead * time.Millisecond)
		t.is(nil, "Touch", func() error { return t.store.Touch(t.Context(), s.Org, s.Hash, seen) })
		if seen.After(s.Seen) {
			s.Seen = seen
		}
		t.lives(s, other)
	}
}

func (t *sessionTest) replace() {
	s := t.ticket("ann")
	s.Remember = true
	t.create(0, s)
	old, forged := s, t.one("eve")
	forged.Authenticated, forged.Seen = s.Seen.Add(1001*time.Millisecond), s.Seen.Add(2002*time.Millisecond)
	forged.Org, forged.Address, forged.Agent = t.other("-2"), "203.0.113.1", "other"
	t.is(nil, "Replace", func() error { return t.store.Replace(t.Context(), old.Org, old.Hash, forged) })
	s.Hash, s.Authenticated, s.Seen = forged.Hash, forged.Authenticated, forged.Seen
	t.lives(s)
	t.lists(t.org, "ann", s)
	t.lists(forged.Org, "eve")

	next := s
	next.Hash = newHash()
	t.ends(auth.ErrNotFound, old)
	t.is(auth.ErrNotFound, "Touch by the hash before", func() error { return t.store.Touch(t.Context(), old.Org, old.Hash, t.Time()) })
	t.is(auth.ErrNotFound, "Replace of the hash before", func() error { return t.store.Replace(t.Context(), old.Org, old.Hash, next) })
	t.lives(s)

	// The record stays the account's: DeleteID and the limit still find it.
	t.is(nil, "DeleteID", func() error { return t.store.DeleteID(t.Context(), t.org, t.id("ann"), s.ID) })
	t.nothing(s)
	t.nothing(old)

	evicted, latest := t.one("bob"), t.one("bob")
	t.create(0, evicted)
	before := evicted
	evicted.Hash = newHash()
	t.is(nil, "Replace", func() error { return t.store.Replace(t.Context(), before.Org, before.Hash, evicted) })
	t.create(1, latest)
	t.ends(session.ErrEvicted, evicted)
	t.ends(auth.ErrNotFound, before)
}

func (t *sessionTest) hashTaken() {
	old, other, before := t.one("ann"), t.one("bob"), t.one("cay")
	after := t.one("cay")
	t.create(1, old, other, before, after)
	s := old
	s.Hash = newHash()
	t.is(nil, "Replace", func() error { return t.store.Replace(t.Context(), old.Org, old.Hash, s) })

	refused := func(what string, err error) {
		t.Helper()
		if err == nil || errors.Is(err, auth.ErrNotFound) || errors.Is(err, session.ErrEvicted) {
			t.Errorf("%s: %v, want another error", what, err)
		}
		t.lives(s, other, after)
		t.ends(auth.ErrNotFound, old)
		t.ends(session.ErrEvicted, before)
	}
	for what, hash := range map[string][32]byte{
		"that opens a session": s.Hash, "that opened one before a Replace": old.Hash, "of a session that was evicted": before.Hash,
	} {
		for _, limit := range []int{0, 1} {
			twin := t.one("ann")
			twin.Hash = hash
			refused("Create with a hash "+what, t.store.Create(t.Context(), twin, limit))
		}
	}
	next := other
	next.Hash = s.Hash
	refused("Replace with a hash that opens a session", t.store.Replace(t.Context(), other.Org, other.Hash, next))
	t.lists(t.org, "ann", s)
	t.lists(t.org, "bob", other)
}

// foreign calls each verb for another org, to which the record must be unknown. An org that
// comes later may get the id that a session has.
func (t *sessionTest) foreign() {
	s, gone, latest := t.one("ann"), t.one("bob"), t.one("bob")
	t.create(1, s, gone, latest)
	renewed := s
	renewed.Hash = newHash()
	t.is(nil, "Replace", func() error { return t.store.Replace(t.Context(), s.Org, s.Hash, renewed) })
	for _, record := range []session.Session{s, renewed, gone} {
		record.Org = t.other("-2")
		t.nothing(record)
	}
	t.lives(renewed, latest)
	t.ends(session.ErrEvicted, gone)
}

func (t *sessionTest) list() {
	a, b, code, c := t.one("ann"), t.one("ann"), t.ticket("ann"), t.one("ann")
	b.Created = a.Created
	a.ID, b.ID = "0"+a.ID[1:], "f"+b.ID[1:]
	t.create(0, c, b, code, t.one("bob"), a)
	want := []session.Session{a, b, code, c}
	t.lists(t.org, "ann", want...)
	got, err := t.store.List(t.Context(), t.org, t.id("ann"))
	if err != nil {
		t.Fatal(err)
	}
	clear(got)
	t.lists(t.org, "ann", want...)
}

func (t *sessionTest) apart() {
	var all []session.Session
	for _, account := range t.odd() {
		s := t.one(account)
		s.Agent = account
		all = append(all, s)
	}
	// Pairs of org and account that are the same text when joined.
	for _, c := range [][2]string{{":x", "y"}, {"", "x:y"}, {"/x", "y"}, {"", "x/y"}, {"x", "y"}, {"", "xy"}, {" x", "y"}, {"", "x y"}} {
		s := t.one(c[1])
		if c[0] != "" {
			s.Org = t.other(c[0])
		}
		all = append(all, s)
	}
	t.create(1, all...)
	t.lives(all...)
	for i, s := range all {
		t.lists(s.Org, s.Account, s)
		t.deletesAll(1, s.Org, s.Account, "")
		t.ends(auth.ErrNotFound, s)
		t.lives(all[i+1:]...)
	}
}

func (t *sessionTest) cancelled() {
	s, fresh := t.one("ann"), t.one("ann")
	t.create(0, s)
	ctx := suite.Ended(t.T)
	next := s
	next.Hash = newHash()
	for verb, run := range map[string]func() error{
		"Get":       func() error { _, err := t.store.Get(ctx, s.Org, s.Hash); return err },
		"Touch":     func() error { return t.store.Touch(ctx, s.Org, s.Hash, s.Seen.Add(time.Second)) },
		"Replace":   func() error { return t.store.Replace(ctx, s.Org, s.Hash, next) },
		"Delete":    func() error { return t.store.Delete(ctx, s.Org, s.Hash) },
		"DeleteID":  func() error { return t.store.DeleteID(ctx, t.org, t.id("ann"), s.ID) },
		"DeleteAll": func() error { _, err := t.store.DeleteAll(ctx, t.org, t.id("ann"), ""); return err },
		"DeleteOrg": func() error { _, err := t.store.DeleteOrg(ctx, t.org); return err },
		"List":      func() error { _, err := t.store.List(ctx, t.org, t.id("ann")); return err },
		"Create":    func() error { return t.store.Create(ctx, fresh, 1) },
	} {
		// These errors say something about the record, which nobody has looked up.
		if err := run(); err == nil || errors.Is(err, auth.ErrNotFound) || errors.Is(err, session.ErrEvicted) {
			t.Errorf("%s: %v", verb, err)
		}
	}
	// ctx was cancelled before the calls, so nothing has changed.
	t.lives(s)
	t.ends(auth.ErrNotFound, fresh, next)
}
